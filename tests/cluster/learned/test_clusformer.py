"""Clusformer: sentences and mutual votes."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.cluster.learned.clusformer import Sentences, mutual_votes
from kinfolk.neighbors import NeighborGraph


@settings(max_examples=25, deadline=None)
@given(n=st.integers(2, 20), k=st.integers(1, 6), seed=st.integers(0, 99))
def test_a_vote_is_the_mean_of_what_both_ends_say(n, k, seed):
    k, rng = min(k, n - 1), np.random.default_rng(seed)
    indices = np.stack([rng.permutation([j for j in range(n) if j != i])[:k] for i in range(n)]).astype(np.int32)
    p = rng.random((n, k)).astype(np.float32)
    said = {(i, int(j)): float(p[i, a]) for i in range(n) for a, j in enumerate(indices[i])}
    votes = mutual_votes(NeighborGraph(indices, p, n))
    assert np.all(np.diff(votes.similarities, axis=1) <= 0)
    for i in range(n):
        for j, vote in zip(votes.indices[i].tolist(), votes.similarities[i].tolist(), strict=True):
            assert abs(vote - (said[i, j] + said.get((j, i), 0.0)) / 2) < 1e-6


def test_a_sentence_may_be_shorter_and_a_row_does_not_depend_on_its_batch():
    torch.manual_seed(0)
    net = Sentences(dim=6, k=9).eval()
    x = torch.nn.functional.normalize(torch.randn(4, 8, 6), dim=-1)
    with torch.inference_mode():
        together = net(x)
        assert together.shape == (4, 7)
        torch.testing.assert_close(net(x[1:2]), together[1:2])


def test_neighbours_are_judged_by_each_other_and_by_their_features():
    torch.manual_seed(0)
    net, x = Sentences(dim=6, k=5).eval(), torch.nn.functional.normalize(torch.randn(1, 6, 6), dim=-1)
    moved = x.clone()
    moved[0, 5] = -moved[0, 5]
    turned = x @ torch.linalg.qr(torch.randn(6, 6))[0]  # the same cosines in other directions
    with torch.inference_mode():
        assert not torch.allclose(net(x)[0, :4], net(moved)[0, :4])
        assert not torch.allclose(net(x), net(turned))
