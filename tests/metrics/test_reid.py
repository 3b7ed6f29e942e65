"""The re-ID protocol, beside a dense matrix of who may be seen and who is to be found."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk._core.errors import InputError
from kinfolk.metrics import ReidScorer, cosine_ranking, pool_queries, reid


def dense(order, query_labels, gallery_labels, query_cameras, gallery_cameras, top):
    """Score whole rankings (nq, ng) with nq x ng masks, of which only the first `top` places count as listed."""
    y, x = np.asarray(query_labels), np.asarray(gallery_labels)
    same = y[:, None] == x[None, :]
    hidden = np.broadcast_to(x < 0, same.shape).copy()
    if query_cameras is not None:
        hidden |= same & (np.asarray(query_cameras)[:, None] == np.asarray(gallery_cameras)[None, :])
    kin = same & ~hidden & (y >= 0)[:, None]
    ap, inp, first = [], [], []
    for q in range(len(y)):
        matches = kin[q].sum()
        if matches == 0:
            continue
        listed = order[q][:top]
        hits = kin[q][listed[~hidden[q][listed]]]
        ranks = np.flatnonzero(hits) + 1
        precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        ap.append(precision[hits].sum() / matches)
        inp.append(matches / ranks[-1] if len(ranks) == matches else 0.0)
        first.append(ranks[0] if len(ranks) else np.inf)
    cmc = [np.mean(np.asarray(first) <= r) for r in range(1, 51)]
    return len(y) - len(ap), np.mean(ap), np.mean(inp), cmc


def check(order, *protocol, top=None):
    left_out, ap, inp, cmc = dense(order, *protocol, top)
    found = reid(order[:, :top], *protocol)
    assert (found.left_out, found.queries) == (left_out, len(order) - left_out)
    assert found.map == pytest.approx(ap, abs=1e-12)
    assert found.minp == pytest.approx(inp, abs=1e-12)
    np.testing.assert_allclose(found.cmc, cmc, atol=1e-12)
    assert (found.rank1, found.rank5, found.rank10) == (found.cmc[0], found.cmc[4], found.cmc[9])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_it_equals_the_dense_protocol(data):
    queries, items = data.draw(st.integers(1, 8), label="queries"), data.draw(st.integers(2, 30), label="items")
    labels = st.integers(-1, data.draw(st.integers(0, 4), label="classes"))
    cameras = st.integers(0, data.draw(st.integers(0, 3), label="cameras"))
    draw = lambda values, n, name: data.draw(st.lists(values, min_size=n, max_size=n), label=name)  # noqa: E731
    query_labels, gallery_labels = draw(labels, queries, "query labels"), draw(labels, items, "gallery labels")
    query_cameras, gallery_cameras = draw(cameras, queries, "query cameras"), draw(cameras, items, "gallery cameras")
    query_labels[0] = gallery_labels[0] = 9  # one query has an item to find
    query_cameras[0], gallery_cameras[0] = 7, 8
    with_cameras = data.draw(st.booleans(), label="with cameras")
    rng = np.random.default_rng(data.draw(st.integers(0, 999), label="seed"))
    order = np.stack([rng.permutation(items) for _ in range(queries)])
    seen_by = (query_cameras, gallery_cameras) if with_cameras else (None, None)
    check(order, query_labels, gallery_labels, *seen_by, top=data.draw(st.integers(1, items), label="top"))


def test_one_camera_leaves_nothing_to_find():
    with pytest.raises(InputError, match="no query has an item of its identity and of another camera"):
        reid([[0, 1]], [3], [3, 3], [1], [1, 1])
    found = reid([[0, 1], [0, 1]], [3, 3], [3, 4], [1, 2], [1, 1])
    assert (found.queries, found.left_out, found.map) == (1, 1, 1.0)


def test_junk_is_left_out_and_distractors_are_wrong_items():
    junk = reid([[0, 1]], [5], [-1, 5])
    distractor = reid([[0, 1]], [5], [0, 5])
    assert (junk.map, distractor.map) == (1.0, 0.5)
    unknown = reid([[0, 1], [0, 1]], [5, -1], [-1, 5])
    assert unknown.left_out == 1, "a query of unknown identity has nothing to find, not even junk"


def test_what_is_not_listed_is_not_found():
    found = reid([[1, 0]], [5], [5, 0, 5, 5])
    assert found.map == pytest.approx(0.5 / 3)
    assert (found.rank1, found.rank5, found.minp) == (0.0, 1.0, 0.0)
    nothing = reid([[1]], [5], [5, 0])
    assert (nothing.map, nothing.rank10, nothing.minp) == (0.0, 0.0, 0.0)
    ended = reid([[1, 0, -1, -1], [2, 3, 0, 1]], [5, 5], [5, 0, 5, 5])
    assert ended.map == pytest.approx((0.5 / 3 + 1) / 2), "-1 ends a list"


def test_texts_and_numbers_are_labels():
    assert reid([[1, 0, 2]], ["ann"], ["ann", "", "bob"], ["left"], ["right", "left", "left"]).map == 1.0
    with pytest.raises(InputError, match="both be numbers or both be texts"):
        reid([[0]], [1], ["ann"])


def test_blocks_arrays_and_graphs_give_the_same_scores(persons):
    query, gallery, order = persons
    protocol = query.labels, gallery.labels, query.cameras, gallery.cameras
    check(order, *protocol)
    whole = reid(SimpleNamespace(indices=order.astype(np.int32)), *protocol)
    in_blocks = reid((order[start : start + 7] for start in range(0, len(order), 7)), *protocol)
    assert in_blocks.map == whole.map
    assert in_blocks.cmc.tolist() == whole.cmc.tolist()
    graph = kf.knn_graph(gallery, 20, queries=query, show_progress=False)
    check(order, *protocol, top=20)
    assert reid(graph, *protocol).map == pytest.approx(reid(order[:, :20], *protocol).map, abs=1e-6)


def test_a_scorer_takes_the_lists_as_they_come(persons):
    query, gallery, order = persons
    scorer = ReidScorer(query.labels, gallery.labels)
    scorer.add(order[:7])
    with pytest.raises(InputError, match=f"the ranking has 7 lists for {len(order)} queries"):
        scorer.report()
    scorer.add(order[7:])
    assert scorer.report()[:-1] == reid(order, query.labels, gallery.labels)[:-1]
    with pytest.raises(InputError, match="more lists than"):
        scorer.add(order[:1])


def test_threads_do_not_matter(persons, monkeypatch):
    query, gallery, order = persons
    whole = reid(order, query.labels, gallery.labels)
    monkeypatch.setattr(sys.modules[reid.__module__], "WALKED_AT_ONCE", 5 * order.shape[1])
    assert reid(order, query.labels, gallery.labels)[:-1] == whole[:-1]


@pytest.mark.parametrize(
    ("ranking", "sentence"),
    [
        ([[0, 2]], "query 0 names a row outside 0 to 1"),
        ([[0, -2]], "query 0 names a row outside 0 to 1"),
        ([[0, 0]], "query 0 names an item twice"),
        ([[0, 1], [0, 1]], "more lists than the 1 queries"),
        (iter(()), "has 0 lists for 1 queries"),
        ([0, 1], r"a ranking is \(queries, top\) row numbers of the gallery, not \(2,\)"),
        ([[0.0, 1.0]], "not .* of float64"),
    ],
)
def test_a_ranking_that_is_none_is_refused(ranking, sentence):
    with pytest.raises(InputError, match=sentence):
        reid(ranking, [5], [5, 6])


def test_cameras_are_for_both_or_for_neither():
    with pytest.raises(InputError, match="or for neither"):
        reid([[0]], [5], [5], query_cameras=[1])
    with pytest.raises(InputError, match="one camera a row"):
        reid([[0]], [5], [5], [1], [1, 2])
    with pytest.raises(InputError, match="one label a row"):
        reid([[0]], [[5]], [5])


@pytest.mark.slow
def test_market_without_any_method(shared_data):
    fs = kf.load(shared_data / "market1501.npz").part("test")
    query, gallery = fs.take(fs.query), fs.take(~fs.query)
    found = reid(cosine_ranking(query, gallery), query.labels, gallery.labels, query.cameras, gallery.cameras)
    assert (found.queries, found.left_out) == (1614, 21)
    assert (round(100 * found.map, 1), round(100 * found.rank1, 1)) == (64.4, 85.2)
    pooled = pool_queries(query, query.labels, query.cameras)
    order = cosine_ranking(pooled.features, gallery)
    several = reid(order, pooled.labels, gallery.labels, pooled.cameras, gallery.cameras)
    assert several.map >= found.map
