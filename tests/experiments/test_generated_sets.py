"""The sets that replace the paper's: sizes, parts, and the k of each method."""

import pytest

from kinfolk.experiments.generated_sets import CELEBRITIES, GENERATED_SETS, PERSONS, generated_set, growing_set


def test_growing_sets_learn_from_other_identities():
    data = growing_set(CELEBRITIES, 0, "quick")
    assert set(data.train.labels) & set(data.test.labels) == set()
    assert len(set(data.train.labels)) == GENERATED_SETS[CELEBRITIES].identities["quick"] // 2
    assert len(set(data.grown(1).labels)) == len(set(data.test.labels)) // 9


@pytest.mark.parametrize("name", GENERATED_SETS)
def test_a_generated_set_has_half_its_identities_in_each_part(name):
    data = generated_set(name, 0, "quick")
    assert set(data.train.labels) & set(data.test.labels) == set()
    half = GENERATED_SETS[name].identities["quick"] // 2
    assert len(set(data.train.labels)) == len(set(data.test.labels)) == half
    assert generated_set(name, 0, "quick") is data


def test_k_is_that_of_band_unless_a_baseline_has_its_own():
    persons = GENERATED_SETS[PERSONS]
    assert persons.k_of("GCN", "full") == 10 and persons.k_of("band", "quick") == 20
