"""Labels as they come: numbered, unknown, too few."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.enhance import GraphEnhancer, KeptTrainingFreeWarning
from kinfolk.enhance._learning import enough_to_learn, numbered_classes


@given(st.lists(st.integers(-2, 5), min_size=1, max_size=30))
def test_classes_are_numbered_and_what_is_below_zero_is_unknown(labels):
    found = numbered_classes(labels, len(labels))
    for i, label in enumerate(labels):
        assert (found[i] == -1) == (label < 0)
        for j, other in enumerate(labels):
            if label >= 0 and other >= 0:
                assert (found[i] == found[j]) == (label == other)


def test_words_truth_values_and_numbers_with_gaps_are_labels():
    assert numbered_classes(None, 3) is None
    assert numbered_classes(["dog", "cat", "dog"], 3).tolist() == [1, 0, 1]
    assert numbered_classes(np.array(["dog", "cat", "dog"], dtype=object), 3).tolist() == [
        1,
        0,
        1,
    ]  # as pandas has them
    assert numbered_classes([True, False], 2).tolist() == [1, 0]
    assert numbered_classes([0.0, np.nan, 7.0], 3).tolist()[1] == -1


@pytest.mark.parametrize("labels", [[1, 2], [[1], [2], [3]], [None, 1, 2], ["a", None, "b"], [1j, 2, 3]])
def test_what_is_no_label_a_row_is_refused(labels):
    with pytest.raises(kf.InputError, match="y must hold"):
        numbered_classes(labels, 3)


def test_six_identities_with_a_pair_are_enough_for_the_fast_recipe_and_one_for_the_papers():
    pairs = np.repeat(np.arange(6), 2)
    assert enough_to_learn(GraphEnhancer(), pairs)
    with pytest.warns(KeptTrainingFreeWarning, match="5 identities with two items or more are too few"):
        assert not enough_to_learn(GraphEnhancer(), np.append(pairs[:10], [5, 6, -1, -1]))
    assert enough_to_learn(GraphEnhancer(recipe="paper"), np.array([0, 0, 1]))
    with pytest.warns(KeptTrainingFreeWarning, match=r"0 identities .* \(1 are needed\)"):
        assert not enough_to_learn(GraphEnhancer(recipe="paper"), np.array([-1, -1]))
