"""Clusformer: sequences and mutual scores."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.cluster.learned.clusformer import NeighborClassifier, mutual_scores
from kinfolk.neighbors import NeighborGraph


@settings(max_examples=25, deadline=None)
@given(n=st.integers(2, 20), k=st.integers(1, 6), seed=st.integers(0, 99))
def test_a_mutual_score_is_the_mean_of_both_directions(n, k, seed):
    k, rng = min(k, n - 1), np.random.default_rng(seed)
    indices = np.stack([rng.permutation([j for j in range(n) if j != i])[:k] for i in range(n)]).astype(np.int32)
    p = rng.random((n, k)).astype(np.float32)
    directed = {(i, int(j)): float(p[i, a]) for i in range(n) for a, j in enumerate(indices[i])}
    mutual = mutual_scores(NeighborGraph(indices, p, n))
    assert np.all(np.diff(mutual.similarities, axis=1) <= 0)
    for i in range(n):
        for j, score in zip(mutual.indices[i].tolist(), mutual.similarities[i].tolist(), strict=True):
            assert abs(score - (directed[i, j] + directed.get((j, i), 0.0)) / 2) < 1e-6


def test_a_sequence_may_be_shorter_and_a_row_does_not_depend_on_its_batch():
    torch.manual_seed(0)
    net = NeighborClassifier(dim=6, k=9).eval()
    x = torch.nn.functional.normalize(torch.randn(4, 8, 6), dim=-1)
    with torch.inference_mode():
        together = net(x)
        assert together.shape == (4, 7)
        torch.testing.assert_close(net(x[1:2]), together[1:2])


def test_scores_depend_on_the_other_neighbours_and_on_the_features():
    torch.manual_seed(0)
    net, x = NeighborClassifier(dim=6, k=5).eval(), torch.nn.functional.normalize(torch.randn(1, 6, 6), dim=-1)
    moved = x.clone()
    moved[0, 5] = -moved[0, 5]
    turned = x @ torch.linalg.qr(torch.randn(6, 6))[0]  # the same cosines in other directions
    with torch.inference_mode():
        assert not torch.allclose(net(x)[0, :4], net(moved)[0, :4])
        assert not torch.allclose(net(x), net(turned))
