"""Hierarchical navigable small worlds, by faiss: for those who ask for it by name.

On face vectors HNSW is known to lose recall with size, so it is never chosen by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.faiss import faiss
from kinfolk.neighbors._recall import sample_truth, tune_effort
from kinfolk.neighbors.exact import SLACK

LINKS = 32
BUILD_EFFORT = 120


@dataclass(frozen=True)
class HnswSearch:
    """A graph of links walked greedily. Memory: a second copy of the targets and 8 LINKS bytes for each."""

    index: Any
    recall: float
    method: ClassVar[str] = "hnsw"

    @classmethod
    def tuned(
        cls, targets: NDArray[np.float32], queries: NDArray[np.float32] | None, k: int, recall: float, seed: int
    ) -> HnswSearch | None:
        """Build the graph and raise the search effort until `recall` is reached on a sample; None when it never is."""
        index = faiss.IndexHNSWFlat(targets.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = BUILD_EFFORT
        index.add(targets)

        def search(sample: NDArray[np.float32], effort: int) -> NDArray[np.int64]:
            index.hnsw.efSearch = effort
            return index.search(sample, k)[1]

        efforts = [k * 2**step for step in range(7) if k * 2**step < len(targets)]
        tuned = tune_effort(search, efforts, *sample_truth(targets, queries, k, seed), recall)
        return cls(index, tuned[1]) if tuned else None

    def order(self, queries: NDArray[np.float32] | None) -> NDArray[np.int64]:
        """Return the order of the queries: any will do."""
        return np.arange(self.index.ntotal if queries is None else len(queries))

    def candidates(self, queries: NDArray[np.float32], own_rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
        """Return at least k candidates for each query: (q, m)."""
        return self.index.search(queries, k + SLACK)[1]
