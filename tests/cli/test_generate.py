import json

import numpy as np
import pytest

import kinfolk as kf


@pytest.mark.parametrize("suffix", [".npz", ".kf"])
def test_a_generated_set_is_that_of_the_library(kinfolk, tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    code, out, _ = kinfolk("generate", "person_like", path, "--identities", 7, "--seed", 3, "--json")
    assert code == 0
    found, expected = kf.load(path), kf.datasets.person_like(7, seed=3)
    for field in ("features", "labels", "cameras", "query", "part_index"):
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))
    assert json.loads(out)["set"] == repr(found)


def test_digits(kinfolk, tmp_path):
    assert kinfolk("generate", "digits", tmp_path / "d.npz")[0] == 0
    assert len(kf.load(tmp_path / "d.npz")) == 1797


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["cats"], "unknown data set 'cats'; there are celeb_like, person_like, vehicle_like, digits"),
        (["celeb_like", "--identities", "0"], "--identities must be a whole number from 1 on, not 0"),
    ],
)
def test_mistakes_write_nothing(kinfolk, tmp_path, arguments, sentence):
    code, _, err = kinfolk("generate", arguments[0], tmp_path / "x.npz", *arguments[1:])
    assert code == 2 and sentence in " ".join(err.split())
    assert list(tmp_path.iterdir()) == []
