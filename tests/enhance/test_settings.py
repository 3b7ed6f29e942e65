"""Settings that mean nothing together are refused before any work."""

from __future__ import annotations

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.enhance import GraphEnhancer


def quiet(**settings) -> GraphEnhancer:
    return GraphEnhancer(**{"show_progress": False, **settings})


@pytest.mark.parametrize(
    "settings",
    [
        dict(k=0),
        dict(k=2.5),
        dict(k=True),
        dict(k="many"),
        dict(attention="cross"),
        dict(base="mlp"),
        dict(layers=4),
        dict(recipe="slow"),
        dict(model="tree"),
        dict(hops=0),
        dict(fusion="max"),
        dict(recipe="paper", model="propagate"),
        dict(attention="cosine", model="propagate"),
        dict(method="psychic"),
    ],
    ids=str,
)
def test_settings_that_do_not_exist_are_refused(data, settings):
    with pytest.raises(kf.InputError):
        quiet(**settings).fit(data[0])


@pytest.mark.parametrize(
    "settings",
    [
        dict(heads=0),
        dict(hops=2.5),
        dict(steps=0),
        dict(model="propagate", base="transformer"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings):
    with pytest.raises(kf.InputError):
        GraphEnhancer(**settings).fit(np.eye(5) + 0.1)
