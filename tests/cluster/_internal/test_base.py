"""The base of the clusterers: validation, numbering, new rows, the summary."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk import cluster, features
from kinfolk.cluster._internal import base
from kinfolk.cluster._internal.base import by_size, rows_of, summary


def test_new_rows_join_the_nearest_fitted_rows_unless_these_are_too_far():
    X = np.array([[1, 0.0], [1, 0.05], [0, 1.0], [0.05, 1], [0.1, 1]])
    clusterer = cluster.GCut(k=2, threshold=0.9).fit(X)
    np.testing.assert_array_equal(clusterer.labels_, [1, 1, 0, 0, 0])
    np.testing.assert_array_equal(clusterer.predict([[2.0, 0.1], [0.0, 3], [-1, -1]]), [1, 0, -1])
    assert cluster.DBSCAN(eps=0.1, min_samples=2, k=2).fit(X).predict([[-1.0, -1]])[0] == -1


def test_the_summary_counts_and_measures():
    X = np.array([[1, 0.0], [1, 0.2], [0, 1], [1, 1], [1, 1]])
    found = summary(np.array([5, 5, 2, -1, 7]), X)
    assert (found.rows, found.clusters, found.singletons, found.noise) == (5, 3, 2, 1)
    np.testing.assert_array_equal(found.sizes, [2, 1, 1])
    assert found.largest_share == pytest.approx(0.4)
    unit = X[:2] / np.linalg.norm(X[:2], axis=1, keepdims=True)
    mean = unit.mean(axis=0) / np.linalg.norm(unit.mean(axis=0))
    assert found.tightness == pytest.approx((unit @ mean).mean(), abs=1e-6)
    assert "tightness" in str(found)
    assert summary(np.array([-1, -1])).clusters == 0
    assert summary(np.arange(5), X).tightness is None


def test_numbers_by_size_keep_the_order_of_first_rows():
    np.testing.assert_array_equal(by_size(np.array([9, 4, 4, 9, 1, -7])), [0, 1, 1, 0, 2, -1])


def test_one_row_is_validated_too():
    assert cluster.GCut().fit([[1.0, 0.0]]).labels_.tolist() == [0]
    with pytest.raises(kf.InputError, match="row 0 is a zero vector"):
        cluster.GCut().fit([[0.0, 0.0]])


@pytest.mark.parametrize("clusterer", [cluster.HAC(), cluster.GCut(k=3), cluster.Finch(), cluster.HDBSCAN(3)], ids=str)
def test_rows_are_validated_once_a_fit(clusterer, monkeypatch):
    X, checked = np.random.default_rng(0).standard_normal((12, 4)), []
    real = features.check_rows

    def counting(block, first_row=0):
        checked.append(block is X or np.shares_memory(block, X))
        real(block, first_row)

    for module in (features, base):
        monkeypatch.setattr(module, "check_rows", counting)
    clusterer.fit(X)
    assert sum(checked) == 1


@pytest.mark.parametrize("limit", [0, 2.5, True])
def test_the_size_limit_is_a_whole_number(limit):
    with pytest.raises(kf.InputError, match="max_size must be a whole number from 1 on, or None"):
        cluster.GCut(max_size=limit).fit(np.eye(3))


def test_rows_are_counted_in_arrays_and_graphs():
    assert rows_of(np.eye(5)) == rows_of(kf.knn_graph(np.eye(5), 2)) == 5


def test_verbose_says_what_is_done_on_standard_error(capsys):
    X = np.eye(6).repeat(5, axis=0) + 0.05
    kf.cluster.GCut(k=4).fit(X)
    assert capsys.readouterr().err == ""
    kf.cluster.GCut(k=4, verbose=True).fit(X)
    said = capsys.readouterr().err
    assert "clustering" in said and "neighbours (exact)" in said and "6 clusters of 30 rows" in said
