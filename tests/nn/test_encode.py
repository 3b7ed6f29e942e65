"""Encoding of many sub-graphs, beside one at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import kinfolk as kf
import kinfolk._core.threads
from kinfolk._core.threads import thread_count
from kinfolk.features import unit_rows
from kinfolk.nn import encode
from kinfolk.nn.encode import encode_all, encode_on
from kinfolk.nn.encoder import Encoder, EncoderConfig


@pytest.fixture(autouse=True)
def threads():
    torch.set_num_threads(thread_count())  # as `fit` does: numba's first loop makes torch forget OMP_NUM_THREADS
    yield
    torch.set_num_threads(thread_count())


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray, kf.NeighborGraph]:
    fs = kf.datasets.celeb_like(12, dim=24)
    X = unit_rows(fs)[::2]
    return X, fs.labels[::2], kf.knn_graph(X, k=32)


def encoder(init: str = "identity", **settings) -> Encoder:
    torch.manual_seed(0)
    return Encoder(EncoderConfig(in_dim=24, k=8, width=32, hidden=64, init=init, **settings))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("base", ["gcn", "transformer"])
def test_all_rows_are_encoded_as_one_by_one(monkeypatch, data, base, layers):
    X, _, g = data
    model = encoder("random", base=base, layers=layers).eval()
    queries_rows = unit_rows(X[:5] + 0.1)
    queries = kf.knn_graph(X, k=8, queries=queries_rows)
    with torch.inference_mode():
        alone = [model(torch.from_numpy(X[[i, *g.indices[i, :8]]])[None])[0].numpy() for i in range(30)]
        of_queries = [
            model(torch.from_numpy(np.vstack([row, X[near]]))[None])[0].numpy()
            for row, near in zip(queries_rows, queries.indices, strict=True)
        ]
    for entries in (encode.BLOCK_ENTRIES, 1, 9 * 24 * 7):
        monkeypatch.setattr(encode, "BLOCK_ENTRIES", entries)
        np.testing.assert_allclose(encode_all(model, X, g.indices[:30, :8], None), alone, atol=2e-6)
        np.testing.assert_allclose(encode_all(model, X, queries.indices, queries_rows), of_queries, atol=2e-6)


@pytest.mark.parametrize("name", ["band", "quartet", "self", "none"])
@pytest.mark.parametrize("merged", [True, False])
def test_neither_blocks_nor_the_order_of_the_rows_change_the_result(monkeypatch, data, name, merged):
    X, _, g = data
    if not merged:
        monkeypatch.setattr(encode.SingleLayer, "of", classmethod(lambda *_: None))
    model = encoder("random", attention=name, out_dim=5)
    nodes = np.column_stack([np.arange(len(X)), g.indices[:, :8]])
    with torch.inference_mode():
        expected = model(torch.from_numpy(X[nodes])).numpy()
    order = np.random.default_rng(0).permutation(len(X))
    place = np.argsort(order)
    for probes in (1, 5, 64):
        monkeypatch.setattr(encode, "BLOCK_ENTRIES", 9 * 24 * probes)
        monkeypatch.setattr(encode, "RUN_ENTRIES", 9 * 24 * probes)
        monkeypatch.setattr(encode, "HEAD_ROWS", 1 + probes)
        np.testing.assert_allclose(encode_all(model, X, g.indices[:, :8], None), expected, atol=1e-5)
        found = encode_all(model, X[order], place[g.indices[order, :8]], None)
        np.testing.assert_allclose(found, expected[order], atol=1e-5)


KINDS = [
    dict(),
    dict(layers=3, concat=True, norm=True),
    dict(attention="quartet"),
    dict(attention="self", layers=2),
    dict(base="transformer", layers=2),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_bits_are_the_same_for_any_number_of_threads(monkeypatch, data, kind):
    X, _, g = data
    model = encoder("random", out_dim=40, **kind)
    queries_rows = unit_rows(X[:50] + 0.1)
    queries = kf.knn_graph(X, k=8, queries=queries_rows).indices
    for name, value in dict(
        BLOCK_ENTRIES=9 * 24 * 5, RUN_ENTRIES=9 * 24 * 5, DEEP_ENTRIES=9 * 24 * 5, HEAD_ROWS=10, PROJECT_ROWS=16
    ).items():
        monkeypatch.setattr(encode, name, value)
    found = []
    for workers in (1, 2, 3):
        monkeypatch.setattr(kinfolk._core.threads, "thread_count", lambda count=workers: count)
        torch.set_num_threads(workers)
        found.append((encode_all(model, X, g.indices[:, :8], None), encode_all(model, X, queries, queries_rows)))
        assert torch.get_num_threads() == workers
    for themselves, of_queries in found[1:]:
        np.testing.assert_array_equal(themselves, found[0][0])
        np.testing.assert_array_equal(of_queries, found[0][1])


@pytest.mark.parametrize("kind", [dict(), dict(base="transformer"), dict(attention="self", out_dim=5)], ids=str)
def test_the_way_for_a_gpu_gives_the_same(monkeypatch, data, kind):
    monkeypatch.setattr(encode, "DEVICE_ENTRIES", 7 * 9 * 24)
    X, _, g = data
    model, rows = encoder("random", **kind).eval(), torch.from_numpy(X)
    found = encode_on(torch.device("cpu"), model, rows, rows, g.indices[:, :8])
    np.testing.assert_allclose(found, encode_all(model, X, g.indices[:, :8], None), atol=1e-5)
