"""Candidates: cuts of the wanted numbers of clusters, constraints, and what is known of each."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster._internal.candidates import COUNT, KINSHIP, RAW, cuts, numbers_of_clusters
from kinfolk.cluster._internal.candidates import describe as describe_all
from kinfolk.cluster._internal.constraints import read_constraints
from kinfolk.cluster._internal.hierarchy import Merges


def test_numbers_of_clusters_fall_to_one():
    for n in (1, 2, 3, 10, 1000, 10**6):
        levels = numbers_of_clusters(n)
        assert levels == sorted(set(levels), reverse=True)
        assert levels[-1] == 1
        assert levels[0] <= n


def test_cuts_have_the_wanted_numbers_of_clusters():
    chain = Merges(np.arange(29), np.arange(1, 30), np.linspace(1, 0, 29))
    found = cuts(chain, read_constraints(30), RAW)
    assert [len(np.unique(c.labels)) for c in found] == numbers_of_clusters(30)
    assert all(c.merges == 30 - len(np.unique(c.labels)) for c in found)


def test_rows_that_must_be_together_are_so_in_every_cut():
    chain = Merges(np.arange(2, 29), np.arange(3, 30), np.linspace(1, 0, 27))
    for c in cuts(chain, read_constraints(30, [(0, 29), (0, 1)]), RAW):
        assert c.labels[0] == c.labels[29] == c.labels[1]


@pytest.fixture(scope="module")
def survey():
    fs = kf.datasets.celeb_like(10, seed=0)
    return kf.cluster.Kin().survey(np.asarray(fs.features, dtype=np.float32))


def test_what_is_known_of_each_candidate(survey):
    known = describe_all(survey.candidates, *survey.scenes, survey.k)
    assert known.shape == (len(survey.candidates), COUNT)
    assert np.isfinite(known).all()
    assert survey.candidates[-1].source == KINSHIP
    assert known[-1, 134] == 1, "the kinship groups agree with themselves"
    assert (known[:, 136:139].sum(axis=1) == 1).all()
