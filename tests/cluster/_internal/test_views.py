"""How near rows are to clusters, against slow loops; and that large classes hardly move what strangers are."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster._internal.views import MOST_CLUSTERS, View, random_rows, similarity_to_clusters, strangers_of


@pytest.fixture(scope="module")
def people():
    fs = kf.datasets.celeb_like(12, seed=0)
    g = kf.knn_graph(fs.features, 64, show_progress=False)
    X = np.asarray(fs.features)
    view = View(X, np.arange(len(X)), g.indices, g.similarities, strangers_of(X))
    return X, np.unique(fs.labels, return_inverse=True)[1], view


def test_similarity_to_clusters_against_loops(people):
    X, labels, view = people
    labels = np.where(np.arange(len(labels)) % 50 == 0, labels.max() + 1 + np.arange(len(labels)), labels)
    labels = np.unique(labels, return_inverse=True)[1]  # some rows are alone
    a, b, which = similarity_to_clusters(view, labels, np.bincount(labels))
    for row in range(0, len(X), 17):
        own = [X[row] @ X[other] for other in np.flatnonzero(labels == labels[row]) if other != row]
        assert a[row] == pytest.approx(np.mean(own) if own else view.similarities[row].max(), abs=1e-4)
        seen = dict.fromkeys(labels[view.indices[row]].tolist())
        seen.pop(labels[row], None)
        means = [(X[labels == c] @ X[row]).mean() for c in list(seen)[:MOST_CLUSTERS]]
        assert b[row] == pytest.approx(max(means, default=view.strangers.middle), abs=1e-4)
        assert which[row] == (list(seen)[int(np.argmax(means))] if means else -1)


def test_units_and_gaps(people):
    view = people[2]
    middle, spread = view.strangers
    assert view.units(np.array([middle, middle + 2 * spread])) == pytest.approx([0, 2], abs=1e-5)
    assert view.gap(np.array([1.0]), np.array([middle])) == pytest.approx([1.0])


@pytest.mark.parametrize("large", [0.1, 0.3, 0.5])
def test_a_large_class_hardly_moves_strangers(large):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 64)).astype(np.float32)
    X[: int(large * 2000)] += 8 * rng.standard_normal(64).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    middle, spread = strangers_of(X)
    assert abs(middle) < 0.1
    assert 0.08 < spread < 0.2  # of strangers alone: 1 / 8
    one, other = random_rows(2000)
    if large > 0.1:
        assert np.einsum("ij,ij->i", X[one], X[other]).std() > 0.25


def test_strangers_among_equal_rows():
    assert strangers_of(np.ones((5, 1), dtype=np.float32)) == pytest.approx((1.0, 1e-4))
