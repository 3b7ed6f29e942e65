"""The linear map: it helps identities nobody has seen, whatever learns beside it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import kinfolk as kf
from kinfolk.enhance.with_labels import apply_metric
from kinfolk.features import unit_rows
from kinfolk.metrics import mean_average_precision
from kinfolk.training import metric
from kinfolk.training.metric import ConfusedClasses, MetricTask, learn_metrics, nearest_of, neighbors_among
from kinfolk.training.session import Session
from labelled_sets import with_shared_nuisance


@pytest.fixture
def few_steps(monkeypatch):
    monkeypatch.setattr(metric, "STEPS", 25)


def learn_metric(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    task = MetricTask("metric", X, ConfusedClasses(nearest_of(X), y), 0.1)
    return learn_metrics([task], Session(), lambda _: None)[0]


def test_a_metric_helps_identities_it_has_not_seen():
    X, y = with_shared_nuisance(60)
    W = learn_metric(X[y < 30], y[y < 30])
    unseen, labels = X[y >= 30], y[y >= 30]
    before = mean_average_precision(unseen, labels)
    after = mean_average_precision(apply_metric(unseen, W), labels)
    assert after > before + 0.15
    assert mean_average_precision(apply_metric(unseen, W, 0.5), labels) > before


def test_the_map_starts_as_the_identity(monkeypatch):
    X, y = with_shared_nuisance(6)
    monkeypatch.setattr(metric, "STEPS", 0)
    np.testing.assert_array_equal(learn_metric(X, y), np.eye(24))


def test_batches_are_of_classes_that_are_confused():
    X = unit_rows(np.eye(50).repeat(20, axis=0) + 0.1 * np.random.default_rng(0).random((1000, 50)))
    y = np.arange(50).repeat(20)
    batches = ConfusedClasses(nearest_of(X), 3 * y + 7)
    for seed in range(5):
        rows = batches.draw(np.random.default_rng(seed))
        assert len(np.unique(rows)) == len(rows)
        sizes = np.bincount(y[rows], minlength=50)
        assert set(sizes.tolist()) <= {0, metric.ITEMS}
        assert metric.SEEDS / 2 <= (sizes > 0).sum() <= metric.CLASSES
        np.testing.assert_array_equal(rows, batches.draw(np.random.default_rng(seed)))


@pytest.mark.usefixtures("few_steps")
def test_the_metric_has_the_same_bits_for_any_number_of_threads():
    X, y = with_shared_nuisance(40)
    learned = []
    for count in (1, 2):
        torch.set_num_threads(count)
        learned.append(learn_metric(X, y))
        assert torch.get_num_threads() == count
    np.testing.assert_array_equal(*learned)


@pytest.mark.usefixtures("few_steps")
def test_maps_that_are_learned_side_by_side_are_those_learned_alone():
    X, y = with_shared_nuisance(30)
    batches = ConfusedClasses(nearest_of(X), y)
    tasks = [MetricTask(f"metric t={t}", X, batches, t) for t in (0.1, 0.2, 0.3)]
    done: list[int] = []
    together = learn_metrics(tasks, Session(), done.append)
    assert done == [1, 1, 1]
    for task, found in zip(tasks, together, strict=True):
        np.testing.assert_array_equal(found, learn_metrics([task], Session(), lambda _: None)[0])


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_neighbours_among_some_rows_are_those_of_a_search_among_them(share):
    rng = np.random.default_rng(0)
    X = unit_rows(rng.standard_normal((300, 8)))
    rows = np.flatnonzero(rng.random(300) < share)
    for k in (40, 250):  # with 40 neighbours of all rows some have too few among the chosen: they are searched for
        found = neighbors_among(kf.knn_graph(X, k=k), X, rows)
        np.testing.assert_array_equal(found, nearest_of(X[rows]))
