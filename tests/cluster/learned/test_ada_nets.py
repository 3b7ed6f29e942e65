"""Ada-NETS: its structure space and its counts against slow references."""

from itertools import pairwise

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.cluster.learned.ada_nets import AndFilter, best_counts, structure_space
from kinfolk.features import unit_rows


def expanded(lists, i, k):
    """R* of k-reciprocal re-ranking with sets; a list begins with the row itself."""

    def reciprocal(p, size):
        return {q for q in lists[p][:size] if p in lists[q][:size]}

    own = reciprocal(i, k + 1)
    found = set(own)
    for q in own:
        theirs = reciprocal(q, max(1, (k + 1) // 2))
        if 3 * len(own & theirs) >= 2 * len(theirs):
            found |= theirs
    return found


@settings(max_examples=15, deadline=None)
@given(n=st.integers(6, 40), k=st.integers(1, 12), seed=st.integers(0, 99))
def test_neighbours_are_ranked_by_jaccard_and_cosine(n, k, seed):
    k = min(k, n - 1)
    X = unit_rows(np.random.default_rng(seed).standard_normal((n, 4)))
    g = kf.knn_graph(X, k)
    found = structure_space(X, g)
    lists = [[i, *g.indices[i].tolist()] for i in range(n)]
    sets = [expanded(lists, i, k) for i in range(n)]
    for i in range(n):
        score = {}
        for j, cosine in zip(g.indices[i].tolist(), g.similarities[i].tolist(), strict=True):
            jaccard = len(sets[i] & sets[j]) / len(sets[i] | sets[j])
            place = found.indices[i].tolist().index(j)
            np.testing.assert_allclose(found.tests[i, place], [jaccard, cosine], atol=1e-5)
            score[j] = (jaccard + cosine) / 2
        ranked = [score[j] for j in found.indices[i].tolist()]
        assert all(a >= b - 1e-5 for a, b in pairwise(ranked))


@settings(max_examples=30, deadline=None)
@given(k=st.integers(1, 15), seed=st.integers(0, 99))
def test_the_best_count_has_the_best_f_score(k, seed):
    kin = np.random.default_rng(seed).random((5, k)) < 0.6
    for row, count in zip(kin, best_counts(kin), strict=True):
        wanted, q = row.sum(), []
        for j in range(1, k + 1):
            hits = row[:j].sum()
            precision, recall = hits / j, hits / max(wanted, 1)
            q.append(1.25 * precision * recall / (0.25 * precision + recall) if hits else 0.0)
        assert q[count - 1] >= max(q) - 1e-9


def test_the_filter_takes_fewer_neighbours_than_it_learned_with():
    torch.manual_seed(0)
    net, tests = AndFilter(6), torch.rand(3, 4, 2)
    padded = torch.cat([tests, torch.zeros(3, 2, 2)], dim=1)
    assert torch.equal(net(tests), net(padded))
    assert ((net(tests) > 0) & (net(tests) < 1)).all()
