"""What the tests of edges say of clusterings, beside sums in plain loops."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster._internal import kin_edges as module
from kinfolk.cluster._internal.candidates import RAW, Candidate
from kinfolk.cluster._internal.kin_edges import COUNT, KinEdges, kin_edges


def test_sums_of_plain_loops():
    rng = np.random.default_rng(0)
    rows, indices = np.array([1, 4, 5]), rng.integers(0, 9, (3, 4)).astype(np.int32)
    p = rng.random((2, 3, 4)).astype(np.float32)
    p[0, :, 2:] = 0
    edges = KinEdges(rows, indices, p, 2)
    candidates = [Candidate(rng.integers(0, classes, 9), RAW) for classes in (1, 3, 9)]
    seen = edges.describe(candidates)
    assert seen.shape == (3, COUNT)
    for c, candidate in enumerate(candidates):
        for s in range(2):
            kin = together = number = 0.0
            for a, row in enumerate(rows):
                for b in range(4):
                    same = candidate.labels[indices[a, b]] == candidate.labels[row]
                    kin += p[s, a, b]
                    together += p[s, a, b] * same
                    number += same and p[s, a, b] > 0
            assert seen[c, s] == pytest.approx(together / kin, abs=1e-5)
            assert seen[c, 2 + s] == pytest.approx(together / number if number else 1, abs=1e-5)
        sizes = [np.log((candidate.labels == own).sum()) for own in candidate.labels]
        assert seen[c, 4] == pytest.approx(np.mean(sizes) - np.log(2), abs=1e-5)
        assert seen[c, 5] == pytest.approx(p[0].sum() / (3 * 2), abs=1e-5)


def test_true_classes_keep_kin_together_and_are_pure():
    rows = np.eye(20).repeat(12, axis=0) + 0.1 * np.random.default_rng(0).standard_normal((240, 20))
    classes = np.arange(20).repeat(12)
    edges = kin_edges(kf.knn_graph(rows, k=60), 10)
    halves, right, all_one = (
        edges.describe([Candidate(labels, RAW)])[0] for labels in (np.arange(240) // 6, classes, 0 * classes)
    )
    assert right[0] > 0.95 > halves[0] + 0.2
    assert right[2] > all_one[2]
    assert all_one[0] == pytest.approx(1)


@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 2), (9, 4)])
def test_small_sets(n, k):
    X = np.random.default_rng(0).standard_normal((n, 3))
    edges = kin_edges(kf.knn_graph(X, k=n - 1), k)
    seen = edges.describe([Candidate(np.arange(n), RAW), Candidate(np.zeros(n, dtype=np.int64), RAW)])
    assert np.isfinite(seen).all()


def test_blocks_of_any_size_give_the_same(monkeypatch):
    from kinfolk.kinship import edge_probabilities

    g = kf.knn_graph(kf.datasets.digits().features[:300], k=40)
    whole = kin_edges(g, 10)
    monkeypatch.setattr(edge_probabilities, "BLOCK_EDGES", 1000)
    np.testing.assert_allclose(kin_edges(g, 10).p, whole.p, atol=1e-6)
    assert len(whole.rows) == min(300, module.SAMPLE_ROWS)
