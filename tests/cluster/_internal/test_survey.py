"""What Kin sees of a set: distinct rows, nested cuts, one group of the kinship graph, a choice among all."""

from itertools import pairwise

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster._internal import candidates as made
from kinfolk.cluster._internal.survey import survey_of


@pytest.fixture(scope="module")
def faces():
    fs = kf.datasets.celeb_like(10, seed=0)
    X = np.asarray(fs.features, dtype=np.float32)
    rows = np.r_[np.arange(len(X)), [3, 3, 7]]
    return X[rows], survey_of(X[rows])


def test_copies_are_one_row(faces):
    X, survey = faces
    n = len(X) - 3
    assert len(survey.rows) <= n
    assert survey.copy_of[n] == survey.copy_of[n + 1] == survey.copy_of[3]
    assert survey.copy_of[n + 2] == survey.copy_of[7]
    np.testing.assert_array_equal(survey.unit, X[survey.rows])
    assert survey_of(np.ones((5, 3), dtype=np.float32) / np.float32(np.sqrt(3))) is None


def test_cuts_come_from_three_trees_and_are_nested(faces):
    _, survey = faces
    sources = made.sources(survey.cuts)
    for kind in made.TREES:
        cuts = [cut.labels for cut, source in zip(survey.cuts, sources, strict=True) if source == kind]
        assert [cut.max() + 1 for cut in cuts] == made.numbers_of_clusters(len(survey.rows))
        for finer, coarser in pairwise(cuts):
            assert len(np.unique(finer * len(finer) + coarser)) == finer.max() + 1
    np.testing.assert_allclose(survey.agree, survey.agree.T)


def test_rows_that_are_taken_as_they_are_have_one_tree(faces):
    X, _ = faces
    survey = survey_of(X, enhancer=None)
    assert set(made.sources(survey.cuts)) == {made.RAW}
    assert survey.halves[0] is survey.halves[1]


def test_the_candidate_that_a_judge_likes_is_chosen(faces):
    _, survey = faces
    liked = 5

    def judge(seen: np.ndarray) -> np.ndarray:
        return np.where((seen[:, None] == survey.seen[liked]).all(axis=2).any(axis=1), 0.0, -5.0)

    chosen, score = survey.choose(judge, 0)
    assert (chosen.labels == survey.cuts[liked].labels).all()
    assert score <= 0
