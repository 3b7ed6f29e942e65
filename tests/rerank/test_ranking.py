"""Rankings from blocks of distances."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.rerank import METHODS, _ranking
from kinfolk.rerank._ranking import rank_blocks
from rerank import dense


@pytest.mark.parametrize("top", [None, 1, 5, 39, 40, 100])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_ranking_is_a_stable_sort_of_every_row_whatever_the_blocks(monkeypatch, top, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    monkeypatch.setattr(_ranking, "BLOCK_BYTES", 7 * 4 * 40)  # seven queries at a time
    D = np.random.default_rng(0).integers(0, 15, (30, 40)).astype(np.float32)  # many equal distances
    r = rank_blocks(lambda start, stop: D[start:stop].copy(), 30, 40, top, dict(k=3))
    order = np.argsort(D, axis=1, kind="stable")[:, :top]
    np.testing.assert_array_equal(r.indices, order)
    np.testing.assert_array_equal(r.distances, np.take_along_axis(D, order, axis=1))
    assert (r.indices.dtype, r.distances.dtype, r.n_gallery, r.settings) == (np.int32, np.float32, 40, dict(k=3))
    assert len(r) == 30
    assert repr(r) == f"Ranking(30 queries, top {order.shape[1]} of 40)"


@pytest.mark.parametrize("top", [0, -1, 2.0, True, "all"])
def test_a_top_that_is_no_number_of_rows_is_refused(top):
    with pytest.raises(kf.InputError, match="top must be a whole number from 1 on, or None"):
        kf.rerank.cosine(np.eye(2), np.eye(2), top=top)


@pytest.mark.parametrize("method", METHODS)
def test_the_top_is_the_beginning_of_the_whole(method):
    query, gallery = dense.generated(20, 700, n_classes=40)
    everything, few = (METHODS[method](query, gallery, top=top) for top in (None, 30))
    np.testing.assert_array_equal(everything.indices[:, :30], few.indices)
    np.testing.assert_array_equal(everything.distances[:, :30], few.distances)


@pytest.mark.parametrize("method", METHODS)
def test_what_watches_sees_the_whole_gallery_and_changes_nothing(monkeypatch, method):
    monkeypatch.setattr(_ranking, "BLOCK_BYTES", 7 * 4 * 300)  # seven queries at a time
    query, gallery = dense.generated(20, 300, n_classes=20)
    everything = METHODS[method](query, gallery, top=None)
    for top in (1, 30, 299, None):
        seen = []
        found = METHODS[method](query, gallery, top=top, watch=seen.append)
        assert [len(block) for block in seen] == [7, 7, 6]
        np.testing.assert_array_equal(np.concatenate(seen), everything.indices)
        np.testing.assert_array_equal(found.indices, everything.indices[:, :top])
        np.testing.assert_array_equal(found.distances, everything.distances[:, :top])


@pytest.mark.parametrize("preset", [None, "paper"])
@pytest.mark.parametrize("top", [None, 3])
@pytest.mark.parametrize(("n_queries", "n_gallery", "n_kinds"), [(1, 1, 1), (1, 2, 2), (3, 40, 5), (5, 13, 1)])
@pytest.mark.parametrize("method", [*METHODS, "ecn-cosine"])
def test_equal_rows_give_a_ranking_in_order(method, n_queries, n_gallery, n_kinds, top, preset):
    X = np.eye(n_kinds, 5)[np.arange(n_queries + n_gallery) % n_kinds] + 0.1
    options = {} if method == "cosine" else dict(preset=preset)
    if method == "ecn-cosine":
        options["variant"] = "cosine"
    r = METHODS[method.partition("-")[0]](X[:n_queries], X[n_queries:], top=top, **options)
    width = n_gallery if top is None else min(top, n_gallery)
    assert r.indices.shape == r.distances.shape == (n_queries, width)
    assert np.isfinite(r.distances).all()
    assert (np.diff(r.distances, axis=1) >= 0).all()
    assert ((r.indices >= 0) & (r.indices < n_gallery)).all()
    assert all(len(set(row.tolist())) == width for row in r.indices)
