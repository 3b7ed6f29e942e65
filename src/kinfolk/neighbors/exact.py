"""Exact search: every query against every target, in faiss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.faiss import faiss

SLACK = 8  # candidates beyond k, so that rounding and a few equal vectors cannot change the answer


@dataclass(frozen=True)
class ExactSearch:
    """Brute force over unit vectors: 2 q n d operations, about the cost of the bare matrix product.

    Memory: nothing beyond the targets and the (q, m) result.
    """

    targets: NDArray[np.float32]
    method: ClassVar[str] = "exact"
    recall: ClassVar[float] = 1.0

    def order(self, queries: NDArray[np.float32] | None) -> NDArray[np.int64]:
        """Return the order of the queries: that of the rows."""
        return np.arange(len(self.targets if queries is None else queries))

    def candidates(self, queries: NDArray[np.float32], own_rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
        """Return at least k candidates for each query: (q, m)."""
        wanted = min(k + SLACK, len(self.targets))
        # wider blocks than faiss's own: a tenth faster where the BLAS is quick
        faiss.cvar.distance_compute_blas_query_bs, faiss.cvar.distance_compute_blas_database_bs = 1024, 4096
        return faiss.knn(queries, self.targets, wanted, metric=faiss.METRIC_INNER_PRODUCT)[1]
