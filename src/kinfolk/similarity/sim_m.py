"""Sim-M: many statistical tests for an edge, one for each candidate both ends know (section 2.2 of the paper)."""

from __future__ import annotations

from typing import Literal

import numba as nb
import numpy as np
from numpy.typing import NDArray

from kinfolk.errors import InputError
from kinfolk.neighbors import NeighborGraph
from kinfolk.threads import thread_count


def sim_m(
    g: NeighborGraph,
    tests: Literal["soft", "binary"] = "soft",
    threshold: float | None = None,
    candidates: Literal["neighbors", "neighbors+self"] = "neighbors+self",
    normalize: Literal["k", "common"] = "k",
) -> NDArray[np.float32]:
    r"""Return for each row and each of its neighbours how many common candidates vouch for the pair.

    S_ij = 1/m  sum over c in V_i and V_j of  t(s_ic) t(s_cj)                        (equation 3 of the paper)

    V_i are the neighbours of i, and i itself with s_ii = 1 unless candidates="neighbors"; t(s) = max(s, 0) for soft
    tests and t(s) = 1 if s >= threshold else 0 for binary ones. The paper divides by the number m of common candidates
    (normalize="common"). With normalize="k" m is the number of candidates of a row: a candidate that is not common
    counts as a failed test. The defaults are what separates best over the real sets measured.

    Shapes: g.indices (n, k)  ->  (n, k) float32, aligned with g.indices.
    Cost: n k^2 look-ups, linear in n; memory n floats for each thread.

    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [1, 0.2], [0, 1.0]], k=2)
    >>> g.indices[0], kf.sim_m(g, tests="binary", threshold=0.9, candidates="neighbors")[0]
    (array([1, 2], dtype=int32), array([0.5, 0.5], dtype=float32))
    """
    if not g.square:
        raise InputError("Sim-M needs the neighbours of the neighbours: build the graph over all rows, without queries")
    weights = _test(np.asarray(g.similarities), tests, threshold)
    with_self = {"neighbors": False, "neighbors+self": True}.get(candidates)
    by_common = {"k": False, "common": True}.get(normalize)
    if with_self is None or by_common is None:
        raise InputError(
            "candidates must be 'neighbors' or 'neighbors+self' and normalize 'k' or 'common', "
            f"not {candidates!r} and {normalize!r}"
        )
    return _common_candidates(np.asarray(g.indices), weights, with_self, by_common, thread_count())


def _test(similarities: NDArray[np.float32], tests: str, threshold: float | None) -> NDArray[np.float32]:
    if tests == "soft":
        return np.maximum(similarities, 0)
    if tests != "binary":
        raise InputError(f"tests must be 'soft' or 'binary', not {tests!r}")
    if threshold is None:
        raise InputError("binary tests need a threshold: the similarity from which on a test passes")
    return (similarities >= threshold).astype(np.float32)


@nb.njit(parallel=True, cache=True)
def _common_candidates(
    indices: NDArray[np.int32], weights: NDArray[np.float32], with_self: bool, by_common: bool, workers: int
) -> NDArray[np.float32]:
    n, k = indices.shape
    result = np.empty((n, k), dtype=np.float32)
    for worker in nb.prange(workers):
        # the tests of row i, spread out over all rows: NaN marks who is not a candidate
        spread = np.full(n, np.nan, dtype=np.float32)
        for i in range(n * worker // workers, n * (worker + 1) // workers):
            for a in range(k):
                spread[indices[i, a]] = weights[i, a]
            if with_self:
                spread[i] = 1.0
            for a in range(k):
                j = indices[i, a]
                total, common = 0.0, 0
                for b in range(k):
                    seen = spread[indices[j, b]]
                    if not np.isnan(seen):
                        total += seen * weights[j, b]
                        common += 1
                if with_self:  # j as a candidate of itself: always known to i, its neighbour
                    total += weights[i, a]
                    common += 1
                tried = common if by_common else k + with_self
                result[i, a] = total / tried if tried else 0.0
            for a in range(k):
                spread[indices[i, a]] = np.nan
            spread[i] = np.nan
    return result
