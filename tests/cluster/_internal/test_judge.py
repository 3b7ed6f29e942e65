"""The shipped judge: what it reads, how large it is, and that it knows good from bad."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk._core.boosted_trees import LEAF
from kinfolk.cluster._internal import candidates, membership
from kinfolk.cluster._internal.judge import SHIPPED, Judge
from kinfolk.cluster._internal.survey import survey_of


def test_it_is_small_and_reads_the_columns_there_are():
    assert SHIPPED.stat().st_size < 1e6
    judge = Judge.shipped()
    for trees, count in ((judge.clusterings, candidates.COUNT), (judge.members, membership.COUNT)):
        columns = trees.tensors["column"]
        assert columns[columns != LEAF].max() < count
    assert judge.steepness > 0


@pytest.mark.parametrize("classes", [3, 40])
def test_it_picks_a_good_candidate_of_separated_classes(classes):
    rng = np.random.default_rng(classes)
    truth = np.repeat(np.arange(classes), 600 // classes)
    X = (rng.standard_normal((classes, 32))[truth] + 0.3 * rng.standard_normal((600, 32))).astype(np.float32)
    survey = survey_of(X / np.linalg.norm(X, axis=1, keepdims=True))
    chosen = survey.choose(Judge.shipped().clusterings, 0)[0].labels[survey.copy_of]
    assert kf.metrics.bcubed(truth, chosen).f > 0.97
