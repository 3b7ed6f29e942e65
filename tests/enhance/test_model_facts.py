"""The schema names what the constructor and the dataclasses have: a new setting is not forgotten."""

from dataclasses import fields

import pytest

from kinfolk.enhance import GraphEnhancer
from kinfolk.enhance._model_facts import EncoderFacts, ParameterFacts, PropagationFacts
from kinfolk.enhance.propagation import Propagation


def test_parameters_are_those_of_the_constructor():
    assert set(ParameterFacts.model_fields) == {*GraphEnhancer().get_params(), "rounds"} - {"verbose"}


def test_numbers_of_the_propagation():
    assert set(PropagationFacts.model_fields) == {field.name for field in fields(Propagation)}


def test_settings_of_the_encoder():
    encoder = pytest.importorskip("kinfolk.nn.encoder")
    assert set(EncoderFacts.model_fields) == {field.name for field in fields(encoder.EncoderConfig)}
