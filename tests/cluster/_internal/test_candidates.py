"""Candidates: cuts of the wanted numbers of clusters, constraints, and what is known of each."""

from itertools import pairwise

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster._internal import candidates as module
from kinfolk.cluster._internal.candidates import (
    BOTH,
    COUNT,
    KINSHIP,
    RAW,
    TREES,
    Candidate,
    agreement,
    clusters_after,
    cuts,
    numbers_of_clusters,
)
from kinfolk.cluster._internal.halves import COUNT as OF_HALVES
from kinfolk.cluster._internal.hierarchy import Merges
from kinfolk.cluster._internal.survey import survey_of


def test_numbers_of_clusters_fall_to_one():
    for n in (1, 2, 3, 10, 1000, 10**6):
        levels = numbers_of_clusters(n)
        assert levels == sorted(set(levels), reverse=True)
        assert levels[-1] == 1
        assert levels[0] <= n
        assert all(finer / coarser < 2.01 for finer, coarser in pairwise(levels))
        assert all(finer / coarser < 1.5 for finer, coarser in pairwise(levels) if coarser > 10)


def test_cuts_have_the_wanted_numbers_of_clusters():
    chain = Merges(np.arange(29), np.arange(1, 30), np.linspace(1, 0, 29))
    found = cuts(chain, 30, RAW)
    assert [len(np.unique(c.labels)) for c in found] == numbers_of_clusters(30)
    assert all(c.merges == 30 - len(np.unique(c.labels)) for c in found)


def test_rows_that_are_together_before_the_first_merge():
    found = clusters_after(Merges(np.array([2]), np.array([3]), np.array([0.5])), np.array([0, 1, 2, 3, 2, 0]))
    assert found.tolist() == [0, 1, 2, 2, 2, 0]


def test_height_and_slope_of_a_chain():
    chain = Merges(np.arange(29), np.arange(1, 30), np.linspace(1, 0, 29))
    for c in cuts(chain, 30, RAW, (0.5, 2.0)):
        clusters = 30 - c.merges
        assert c.height == pytest.approx((chain.similarity[min(c.merges, 28)] - 0.5) / 2)
        assert c.slope >= 0
        if 5 < clusters < 20:
            assert c.slope == pytest.approx((clusters * module.STEP - clusters / module.STEP) / 28 / 2, abs=0.02)


@pytest.fixture(scope="module")
def survey():
    fs = kf.datasets.celeb_like(10, seed=0)
    return survey_of(np.asarray(fs.features, dtype=np.float32))


def test_what_is_known_of_each_cut(survey):
    seen = survey.seen
    assert seen.shape == (len(survey.cuts), COUNT)
    assert np.isfinite(seen).all()
    best, own = seen[:, 2 * OF_HALVES : 2 * OF_HALVES + 3], seen[:, 2 * OF_HALVES + 3 : 2 * OF_HALVES + 7]
    assert (own.sum(axis=1) == 1).all()
    for kind in TREES:
        np.testing.assert_array_equal(best[own[:, kind] == 1, kind], 1)  # of its own tree
    for place, half in enumerate(survey.halves):
        found = half.describe(survey.cuts)
        np.testing.assert_array_equal(seen[:, place * OF_HALVES : (place + 1) * OF_HALVES], found)


def test_sizes_against_counts(survey):
    for candidate in survey.cuts[::9]:
        sizes = np.array([(candidate.labels == label).sum() for label in candidate.labels])
        found = module._sizes(candidate.labels)
        assert found[:2] == pytest.approx([np.log(len(sizes)), np.log((1 / sizes).sum() / len(sizes))])
        assert found[2:11] == pytest.approx([(sizes <= size).mean() for size in (1, 2, 4, 8, 16, 32, 64, 128, 256)])
        assert found[11:] == pytest.approx([np.log(sizes).mean(), np.log(sizes).std(), sizes.max() / len(sizes)])


def test_kinship_groups_are_described_like_cuts(survey):
    groups = [survey.groups(survey.cuts[8].labels, 0)]
    seen, agree = module.describe(groups, survey.cuts, survey.halves, survey.edges, survey.common)
    assert agree.shape == (1, len(survey.cuts))
    assert seen.shape == (1, COUNT)
    assert seen[0, 2 * OF_HALVES + 3 + KINSHIP] == 1
    assert (seen[:, 2 * OF_HALVES : 2 * OF_HALVES + 3] < 1).all()


def test_agreement_against_the_metrics():
    rng = np.random.default_rng(0)
    clusterings = [np.arange(200), np.zeros(200, int), rng.integers(0, 9, 200), rng.integers(0, 40, 200)]
    candidates = [Candidate(labels, RAW) for labels in clusterings]
    found = agreement(candidates, candidates[1:])
    for i, one in enumerate(clusterings):
        for j, other in enumerate(clusterings[1:]):
            f = (kf.metrics.pairwise(one, other).f + kf.metrics.bcubed(one, other).f) / 2
            assert found[i, j] == pytest.approx(f, abs=1e-5)
    assert agreement(candidates[:1], candidates[:1]) == 1
    np.testing.assert_allclose(agreement(candidates, candidates)[:, 1:], found, atol=1e-6)


def test_the_best_cut_of_other_trees():
    agree = np.array([[0.3, 0.5, 0.7], [0.2, 0.9, 0.1]], dtype=np.float32)
    found = module._best_of_other_trees(agree, np.array([RAW, BOTH]), np.array([RAW, BOTH, BOTH]))
    np.testing.assert_allclose(found, [[1, 0.7, 1], [0.2, 1, 1]])
