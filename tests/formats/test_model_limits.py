"""The ranges: what kinfolk itself writes lies inside, and none is open."""

from typing import get_args

import pytest

from kinfolk.enhance.propagation import Propagation
from kinfolk.formats import model_limits

RANGES = [name for name, kind in vars(model_limits).items() if int in get_args(kind) or float in get_args(kind)]


@pytest.mark.parametrize("name", RANGES)
def test_every_range_has_two_ends(name):
    ends = {end for constraint in get_args(getattr(model_limits, name))[1:] for end in repr(constraint).split()}
    text = " ".join(sorted(ends))
    assert "ge=" in text or "Ge(" in text
    assert "le=" in text or "Le(" in text


def test_the_usual_number_of_hops_is_far_inside():
    assert RANGES
    assert Propagation().hops * 10 < model_limits.MOST_HOPS
