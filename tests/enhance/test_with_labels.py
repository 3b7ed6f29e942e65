"""The `fast` recipe: nothing is kept that does not help identities nobody has seen."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import kinfolk as kf
from kinfolk._core.threads import thread_count
from kinfolk.enhance import with_labels as fast
from kinfolk.enhance.propagation import Propagation, propagate
from kinfolk.enhance.with_labels import Chosen, LabelledGraph, apply_metric, fit_with_labels
from kinfolk.features import unit_rows
from kinfolk.kinship import KinshipNetwork
from kinfolk.metrics import mean_average_precision
from kinfolk.training import metric
from kinfolk.training.session import Session
from labelled_sets import with_shared_nuisance


@pytest.fixture(autouse=True)
def threads():
    torch.set_num_threads(thread_count())  # as `fit` does: numba's first loop makes torch forget OMP_NUM_THREADS
    yield
    torch.set_num_threads(thread_count())


@pytest.fixture
def few_steps(monkeypatch):
    monkeypatch.setattr(metric, "STEPS", 25)


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("seed", range(3))
def test_labels_that_mean_nothing_do_no_harm(seed):
    fs = kf.datasets.celeb_like(6, dim=24)
    X = unit_rows(fs)[::2]
    nonsense = np.random.default_rng(seed).integers(20, size=len(X))
    given = LabelledGraph.of(X, nonsense)
    chosen = fit_with_labels(given, Propagation(), Session(seed))
    kept = chosen.scores["trained"] > chosen.scores["label-free"]
    unchanged = chosen.metric is None and chosen.k == given.k
    assert kept != unchanged
    # what is kept by chance may not spoil the true classes
    right = LabelledGraph.of(apply_metric(X, chosen.metric), fs.labels[::2], chosen.k)
    plain = LabelledGraph.of(X, fs.labels[::2], given.k)
    assert right.precision(chosen.k, Propagation()) > plain.precision(given.k, Propagation()) - 0.1


@pytest.mark.usefixtures("few_steps")
def test_what_does_not_help_is_not_kept(monkeypatch):
    X, y = with_shared_nuisance(12)
    monkeypatch.setattr(fast, "_compare", lambda *_: {"label-free": 0.5, "trained": 0.5})
    chosen = fit_with_labels(LabelledGraph.of(X, y, 7), Propagation("quartet"), Session(), k=7)
    assert chosen == Chosen(None, 7, 7, {"label-free": 0.5, "trained": 0.5})


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("attention", ["none", "self", "quartet", "band"])
def test_two_fits_have_the_same_bits(attention):
    X, y = with_shared_nuisance(12)
    start = Propagation(attention, theta_s=15.0 if attention == "self" else 0.0)
    one, other = (fit_with_labels(LabelledGraph.of(X, y), start, Session(seed=4)) for _ in range(2))
    assert one.scores == other.scores
    assert (one.k_free, one.k) == (other.k_free, other.k)
    np.testing.assert_array_equal(one.metric, other.metric)


def test_training_helps_where_the_nuisance_is_shared():
    X, y = with_shared_nuisance(36)
    chosen = fit_with_labels(LabelledGraph.of(X, y), Propagation(), Session())
    assert chosen.scores["trained"] > chosen.scores["label-free"] + 0.02
    assert chosen.metric is not None
    unseen, labels = with_shared_nuisance(36, seed=1)
    assert mean_average_precision(apply_metric(unseen, chosen.metric), labels) > mean_average_precision(unseen, labels)


@pytest.mark.usefixtures("few_steps")
def test_a_given_k_stays():
    X, y = with_shared_nuisance(12)
    chosen = fit_with_labels(LabelledGraph.of(X, y), Propagation(), Session(), k=5)
    assert chosen.k == 5


def test_a_strength_between_none_and_all_is_a_mean_of_the_maps():
    rng = np.random.default_rng(0)
    X, W = unit_rows(rng.standard_normal((7, 4))), rng.standard_normal((4, 4)).astype(np.float32)
    assert apply_metric(X, None) is X
    assert apply_metric(X, W, 0.0) is X
    for strength in (0.25, 1.0):
        moved = X.astype(float) @ ((1 - strength) * np.eye(4) + strength * W)
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        np.testing.assert_allclose(apply_metric(X, W, strength), moved, atol=1e-6)
        np.testing.assert_allclose(apply_metric(X, fast._blend(W, strength)), moved, atol=1e-6)


def test_folds_part_the_identities():
    classes = np.random.default_rng(0).integers(20, size=200)
    folds = fast._folds(classes, seed=3)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(200))
    identities = [set(classes[fold].tolist()) for fold in folds]
    assert sum(map(len, identities)) == len(set.union(*identities))
    assert {len(found) for found in identities} <= {6, 7}


def test_scores_after_each_hop_are_those_of_the_enhanced_rows():
    fs = kf.datasets.celeb_like(6, dim=24)
    X, y = unit_rows(fs), fs.labels
    evaluation = LabelledGraph.of(X, y, 20)
    weights = fast.attention_weights(Propagation(), KinshipNetwork.shipped(), evaluation.graph, 20)
    Z = X
    for hops in (1, 2, 3):
        Z = propagate(weights, evaluation.graph.indices, Z, Z)
        score = evaluation.precision(20, Propagation(hops=hops))
        assert score == pytest.approx(mean_average_precision(Z, y, n_queries=min(1500, len(y))), abs=1e-6)
    assert evaluation.precision(28, Propagation(hops=1)) != evaluation.precision(20, Propagation(hops=1))
