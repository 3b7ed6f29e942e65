"""Labels numbered from 0."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.metrics._labels import half_of, numbered


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(-3, 9), max_size=30), st.sampled_from([1, 10**9]))
def test_known_labels_are_numbered_in_their_order(labels, factor):
    known = sorted({label for label in labels if label >= 0})
    expected = [known.index(label) if label >= 0 else -1 for label in labels]
    values = np.array(labels, dtype=np.int64) * factor  # large ones are sorted, small ones looked up
    assert numbered(values).tolist() == expected
    assert numbered(values.astype(np.float64)).tolist() == expected
    texts = [f"{label:02}" if label >= 0 else "" for label in labels]
    assert numbered(np.array(texts, dtype=np.str_)).tolist() == expected


def test_what_is_no_label_is_refused():
    for labels in ([0.5], [np.nan], [None, 1], [1j]):
        with pytest.raises(kf.InputError, match="whole numbers or texts"):
            numbered(labels)
    with pytest.raises(kf.InputError, match="3 rows need as many labels"):
        numbered([1, 2], rows=3)
    with pytest.raises(kf.InputError, match="one label a row"):
        numbered([[1]])


def test_half_of_the_identities_is_drawn_with_all_their_rows():
    labels = np.repeat(np.arange(10), 3)
    mask = half_of(labels, seed=0)
    assert len(np.unique(labels[mask])) == 5
    assert not set(labels[mask]) & set(labels[~mask])
    np.testing.assert_array_equal(mask, half_of(labels, seed=0))
    assert any((mask != half_of(labels, seed)).any() for seed in range(1, 4))
