"""Several files, one set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.features import FeatureSet
from kinfolk.formats._shards import in_order, joined


def test_the_order_is_that_of_the_numbers():
    names = [f"data-{number:05}-of-00012.arrow" for number in range(12)] + ["a_2.npy", "a_10.npy"]
    shuffled = [Path(name) for name in np.random.default_rng(0).permutation(names)]
    ordered = [file.name for file in in_order(shuffled)]
    assert [name for name in ordered if name.startswith("data")] == names[:12]
    assert ordered.index("a_2.npy") < ordered.index("a_10.npy")


def test_columns_that_all_have_are_joined():
    one = FeatureSet(np.eye(2), labels=[0, 1], names=["a", "b"])
    both = joined(Path("x"), [one, FeatureSet(-np.eye(2), labels=[2, 3])])
    assert both.names is None and both.labels is not None
    assert both.labels.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(both.features, np.concatenate([np.eye(2), -np.eye(2)]))
    assert joined(Path("x"), [one]) is one


def test_sets_that_do_not_fit_together():
    with pytest.raises(InputError, match="the feature files differ in dimension: 2, 3"):
        joined(Path("x"), [FeatureSet(np.eye(2)), FeatureSet(np.eye(3))])
    with pytest.raises(InputError, match="differ in the names"):
        joined(Path("x"), [FeatureSet(np.eye(2), labels=[0, 0], label_names=(n,)) for n in "ab"])


def test_numbers_of_labels_and_what_columns_were_taken_for_stay():
    one = FeatureSet(np.eye(2), labels=[0, 1], label_names=("zoe", "ann"), taken_from="2 features (f0, f1)")
    both = joined(Path("x"), [one, one[::-1]])
    assert both.labels is not None
    assert (both.labels.tolist(), both.label_names) == ([0, 1, 1, 0], ("zoe", "ann"))
    assert both.taken_from == one.taken_from
