"""Sparse linkage against its definition."""

import numpy as np
import pytest
from scipy import sparse

import kinfolk as kf
from kinfolk.cluster._internal.hierarchy import cut
from kinfolk.cluster._internal.linkage import sparse_linkage


@pytest.mark.parametrize("linkage", ["single", "average", "complete"])
@pytest.mark.parametrize("seed", range(2))
def test_sparse_linkage_is_the_definition_with_missing_pairs_at_zero(reference, linkage, seed):
    g = kf.knn_graph(reference.rows(36, 6, seed), 7)
    graph = g.symmetric("union")
    merges = sparse_linkage(graph, linkage)
    heights, partitions = reference.agglomerate(np.maximum(graph.toarray(), 0), linkage)
    np.testing.assert_allclose(merges.similarity, heights, atol=1e-6)
    for count, expected in enumerate(partitions, start=1):
        assert reference.same_partition(cut(merges, 36, count), expected)


def test_the_hash_map_of_average_linkage_is_rehashed_and_stays_right(reference):
    # a ring of hubs: links move between clusters many times
    rng = np.random.default_rng(0)
    S = sparse.random(60, 60, 0.4, random_state=rng).toarray().astype(np.float32)
    S = np.triu(S, 1) + np.triu(S, 1).T
    merges = sparse_linkage(sparse.csr_array(S), "average")
    heights, partitions = reference.agglomerate(S, "average")
    np.testing.assert_allclose(merges.similarity, heights, atol=1e-6)
    assert reference.same_partition(cut(merges, 60, 30), partitions[29])
