"""Training of encoders of sub-graphs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import kinfolk as kf
import kinfolk.threads
from kinfolk.features import unit_rows
from kinfolk.nn.encoder import Encoder, EncoderConfig
from kinfolk.nn.kinship import Kinship
from kinfolk.threads import thread_count
from kinfolk.training import subgraph
from kinfolk.training.kinship import edges, kinship_loss, standardise
from kinfolk.training.session import Session
from kinfolk.training.subgraph import encode_all, encode_on, train_fast, train_paper


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


def state(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: values.clone() for name, values in module.state_dict().items()}


def assert_same_state(module: torch.nn.Module, expected: dict[str, torch.Tensor]) -> None:
    assert all(torch.equal(values, expected[name]) for name, values in module.state_dict().items())


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("base", ["gcn", "transformer"])
def test_all_rows_are_encoded_as_one_by_one(monkeypatch, data, base, layers):
    X, _, g = data
    model = encoder("random", base=base, layers=layers).eval()
    asking = unit_rows(X[:5] + 0.1)
    queries = kf.knn_graph(X, k=8, queries=asking)
    with torch.inference_mode():
        alone = [model(torch.from_numpy(X[[i, *g.indices[i, :8]]])[None])[0].numpy() for i in range(30)]
        asked = [
            model(torch.from_numpy(np.vstack([row, X[near]]))[None])[0].numpy()
            for row, near in zip(asking, queries.indices, strict=True)
        ]
    for entries in (subgraph.BLOCK_ENTRIES, 1, 9 * 24 * 7):
        monkeypatch.setattr(subgraph, "BLOCK_ENTRIES", entries)
        np.testing.assert_allclose(encode_all(model, X, g.indices[:30, :8], None), alone, atol=2e-6)
        np.testing.assert_allclose(encode_all(model, X, queries.indices, asking), asked, atol=2e-6)


@pytest.mark.parametrize("name", ["band", "quartet", "self", "none"])
@pytest.mark.parametrize("formed", [True, False])
def test_neither_blocks_nor_the_order_of_the_rows_change_the_result(monkeypatch, data, name, formed):
    X, _, g = data
    if not formed:
        monkeypatch.setattr(subgraph.FormedEncoder, "of", classmethod(lambda *_: None))
    model = encoder("random", attention=name, out_dim=5)
    nodes = np.column_stack([np.arange(len(X)), g.indices[:, :8]])
    with torch.inference_mode():
        expected = model(torch.from_numpy(X[nodes])).numpy()
    shared: list[int] = []
    true_rows = subgraph.shared_rows
    monkeypatch.setattr(subgraph, "shared_rows", lambda e, b: shared.append(len(b.places)) or true_rows(e, b))
    order = np.random.default_rng(0).permutation(len(X))
    place = np.argsort(order)
    for probes in (1, 5, 64):
        monkeypatch.setattr(subgraph, "BLOCK_ENTRIES", 9 * 24 * probes)
        monkeypatch.setattr(subgraph, "HEAD_ROWS", 1 + probes)
        np.testing.assert_allclose(encode_all(model, X, g.indices[:, :8], None), expected, atol=1e-5)
        found = encode_all(model, X[order], place[g.indices[order, :8]], None)
        np.testing.assert_allclose(found, expected[order], atol=1e-5)
    if not formed:
        assert bool(shared) == (name in ("band", "quartet"))


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
    asking = unit_rows(X[:50] + 0.1)
    queries = kf.knn_graph(X, k=8, queries=asking).indices
    for name, value in dict(BLOCK_ENTRIES=9 * 24 * 5, DEEP_ENTRIES=9 * 24 * 5, HEAD_ROWS=10, PROJECT_ROWS=16).items():
        monkeypatch.setattr(subgraph, name, value)
    found = []
    for workers in (1, 2, 3):
        monkeypatch.setattr(kinfolk.threads, "thread_count", lambda count=workers: count)
        torch.set_num_threads(workers)
        found.append((encode_all(model, X, g.indices[:, :8], None), encode_all(model, X, queries, asking)))
        assert torch.get_num_threads() == workers
    for themselves, asked in found[1:]:
        np.testing.assert_array_equal(themselves, found[0][0])
        np.testing.assert_array_equal(asked, found[0][1])


@pytest.mark.parametrize("kind", [dict(), dict(base="transformer"), dict(attention="self", out_dim=5)], ids=str)
def test_the_way_for_a_gpu_gives_the_same(monkeypatch, data, kind):
    monkeypatch.setattr(subgraph, "DEVICE_ENTRIES", 7 * 9 * 24)
    X, _, g = data
    model, rows = encoder("random", **kind).eval(), torch.from_numpy(X)
    found = encode_on(torch.device("cpu"), model, rows, rows, g.indices[:, :8])
    np.testing.assert_allclose(found, encode_all(model, X, g.indices[:, :8], None), atol=1e-5)


def test_the_walk_visits_every_probe_once_and_goes_to_near_ones(data):
    X, _, g = data
    shuffled = np.random.default_rng(1).permutation(len(X))
    indices = np.argsort(shuffled)[g.indices[shuffled]].astype(np.int64)
    order = subgraph.near_order(indices)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(X)))
    steps = sum(after in indices[before] for before, after in itertools.pairwise(order))
    assert steps > 0.9 * len(X)
    # the neighbours of fewer rows than there are: those that are no probes are passed by
    np.testing.assert_array_equal(np.sort(subgraph.near_order(indices[:40])), np.arange(40))


def test_the_papers_recipe_lowers_the_loss(data):
    X, y, g = data
    model = encoder("random", concat=True, norm=True)
    result = train_paper(model, X, y, g, Session(), steps=30)
    losses = [row["loss"] for row in result.history]
    assert result.steps_done == 30
    assert np.mean(losses[-5:]) < np.mean(losses[:5])
    Z = encode_all(model, X, g.indices[:, :8], None)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1, atol=1e-5)


def test_the_fast_recipe_is_better_on_held_back_identities_or_changes_nothing(data):
    X, y, g = data
    model = encoder()
    result = train_fast(model, X, y, g, Session(), steps=60)
    untrained = train_fast(encoder(), X, y, g, Session(), steps=0)
    assert result.best_score >= untrained.best_score
    assert untrained.best_step == 0


def test_the_untrained_state_is_kept_where_training_never_helps(monkeypatch, data):
    X, y, g = data
    scores = iter([0.9, *(0.9 - 0.1 * t for t in range(1, 50))])
    monkeypatch.setattr(subgraph, "mean_average_precision", lambda *_, **__: next(scores))
    monkeypatch.setattr(subgraph, "VALIDATE_EVERY", 2)
    model = encoder()
    before = state(model)
    result = train_fast(model, X, y, g, Session(), steps=20)
    assert (result.best_step, result.best_score) == (0, 0.9)
    assert result.steps_done == 6  # patience: three validations
    assert_same_state(model, before)


def test_the_best_state_is_kept_where_training_helps_for_a_while(monkeypatch, data):
    X, y, g = data
    scores = iter([0.5, 0.6, 0.4, 0.3, 0.2])
    monkeypatch.setattr(subgraph, "mean_average_precision", lambda *_, **__: next(scores))
    monkeypatch.setattr(subgraph, "VALIDATE_EVERY", 2)
    model = encoder()
    before = state(model)
    result = train_fast(model, X, y, g, Session(), steps=20)
    assert (result.best_step, result.best_score) == (2, 0.6)
    assert any(not torch.equal(values, before[name]) for name, values in model.state_dict().items())


def test_held_back_identities_are_never_in_a_batch(monkeypatch, data):
    X, y, g = data
    seen: set[int] = set()
    true_loss = subgraph.supervised_contrastive

    def watched(z, labels, temperature):
        seen.update(labels.tolist())
        return true_loss(z, labels, temperature)

    asked: list[np.ndarray] = []
    true_map = subgraph.mean_average_precision

    def watched_map(Z, labels, *, queries, n_queries):
        asked.append(labels[queries])
        return true_map(Z, labels, queries=queries, n_queries=n_queries)

    monkeypatch.setattr(subgraph, "supervised_contrastive", watched)
    monkeypatch.setattr(subgraph, "mean_average_precision", watched_map)
    train_fast(encoder(), X, y, g, Session(), steps=25)
    held_back = set(np.concatenate(asked).tolist())
    assert len(held_back) == 3  # a quarter of twelve
    assert seen
    assert not seen & held_back


@pytest.mark.parametrize("train", [train_paper, train_fast])
def test_two_runs_have_the_same_bits(data, train):
    X, y, g = data
    one, other = encoder("random"), encoder("random")
    train(one, X, y, g, Session(seed=2), steps=8)
    train(other, X, y, g, Session(seed=2), steps=8)
    assert_same_state(one, state(other))


def test_edges_know_their_truth_and_the_network_learns_it():
    fs = kf.datasets.celeb_like(12, dim=24)
    g = kf.knn_graph(fs, k=40)
    rows = np.array([5, 90, 3])
    some = edges(g, fs.labels, 20, rows)
    truth = [[fs.labels[j] == fs.labels[i] for j in g.indices[i]] for i in rows]
    np.testing.assert_array_equal(some.same, truth)
    sets = [edges(g, fs.labels, 20)]
    torch.manual_seed(0)
    net = Kinship()
    standardise(net, sets)
    with torch.inference_mode():
        tests = torch.from_numpy(sets[0].tests.astype(np.float32).reshape(-1, 13))
        scaled = (tests - net.mean) / net.spread
    np.testing.assert_allclose(scaled.mean(dim=0), 0, atol=0.1)
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
    losses = Session().run(
        "kinship", 80, net, optimizer, lambda t: kinship_loss(net, sets, Session().rng("kinship", t))
    )
    assert losses.history[-1]["loss"] < 0.8 * losses.history[0]["loss"]
