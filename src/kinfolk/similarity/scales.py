r"""Many tests at many scales: how much two neighbourhoods share, from an eighth of k to twice k.

Sim-M asks at one k. Around the right k the answer depends on how the share grows: kin share more and more neighbours
until the class is full, look-alikes share few early and many late. For an edge (i, j) and a scale l:

    share_l(i, j) = |N_l(i) and N_l(j)| / (l + 1),     N_l(i): i itself and its l nearest neighbours

All scales come from one pass: a common neighbour of rank a for i and b for j counts at every l >= max(a, b).
Everything is measured in units of k, so that what is learned on one data set means the same on another, whatever its
classes, its dimension or its number of rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from kinfolk.errors import InputError
from kinfolk.neighbors import NeighborGraph
from kinfolk.threads import thread_count

SCALES = (1 / 8, 1 / 4, 1 / 2, 2**-0.5, 1.0, 2**0.5, 2.0)
WINDOW = 2  # edges are looked at up to this many times k
NAMES = (
    *(f"share at {scale:.3g} k" for scale in SCALES),
    "log rank of j for i",
    "log rank of i for j",
    "reciprocal within k",
    "reciprocal within 2 k",
    "similarity in units of i",
    "similarity in units of j",
)


class ScaleTests(NamedTuple):
    """What the tests say of each edge: values (rows, w, 13), see NAMES; reciprocal (rows, w): i is within k of j."""

    values: NDArray[np.float32]
    reciprocal: NDArray[np.bool_]


def scale_tests(
    g: NeighborGraph, k: int, *, rows: NDArray[np.integer] | slice | None = None, queries: NeighborGraph | None = None
) -> ScaleTests:
    """Return the tests at all scales of the first w = min(2 k, g.k) neighbours of the `rows`.

    `queries`: rows that are not in the graph themselves, with their neighbours in it; a new row is within the l nearest
    of j when it is more similar to j than j's l-th neighbour.

    Memory: 52 bytes an edge; give `rows` in blocks where that is too much.

    >>> import kinfolk as kf
    >>> clouds = np.eye(3).repeat(5, axis=0) + 0.1 * np.random.default_rng(0).random((15, 3))   # three classes of five
    >>> tests = scale_tests(kf.knn_graph(clouds, k=8), k=4)
    >>> tests.values[0, [0, 7], 4].round(1)      # share at k: with a neighbour of its class, and of another
    array([1., 0.], dtype=float32)
    """
    if not g.square:
        raise InputError("the tests need the neighbours of the neighbours: build the graph over all rows, not queries")
    if not 1 <= k <= g.k:
        raise InputError(f"k must lie between 1 and {g.k}, the neighbours this graph has, not {k}")
    window = min(WINDOW * k, g.k, g.k if queries is None else queries.k)
    everywhere = np.arange(len(g if queries is None else queries))
    asked = everywhere if rows is None else everywhere[rows]
    asking = g if queries is None else queries
    levels = np.array([min(max(1, round(k * scale)), window) for scale in SCALES])
    similarities = np.asarray(g.similarities)
    high, low = _units(similarities, k, window)
    own_high, own_low = (high, low) if queries is None else _units(np.asarray(queries.similarities), k, window)
    values, reciprocal = _scale_tests(
        np.asarray(g.indices),
        similarities,
        high,
        low,
        np.asarray(asking.indices[asked, :window]),
        np.asarray(asking.similarities[asked, :window]),
        own_high[asked],
        own_low[asked],
        levels,
        k,
        min(thread_count(), nb.get_num_threads()),
    )
    return ScaleTests(values, reciprocal)


def _units(similarities: NDArray[np.float32], k: int, window: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return what a high and a low similarity are for each row: the mean of its k / 4 best, and its last one."""
    near = similarities[:, : max(1, k // 4)]
    return near.mean(axis=1, dtype=np.float32), np.ascontiguousarray(similarities[:, window - 1])


@nb.njit(cache=True)
def _rank_if_inserted(similarity: np.float32, falling: NDArray[np.float32], window: int) -> int:
    """Return the rank, from 1, that a row of this similarity has in a falling list; window + 1 beyond it."""
    low, high = 0, window
    while low < high:
        middle = (low + high) // 2
        if falling[middle] > similarity:
            low = middle + 1
        else:
            high = middle
    return low + 1


@nb.njit(parallel=True, cache=True)
def _scale_tests(
    indices: NDArray[np.int32],
    similarities: NDArray[np.float32],
    high: NDArray[np.float32],
    low: NDArray[np.float32],
    row_indices: NDArray[np.int32],
    row_similarities: NDArray[np.float32],
    row_high: NDArray[np.float32],
    row_low: NDArray[np.float32],
    levels: NDArray[np.int64],
    k: int,
    workers: int,
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    n, count = len(indices), len(levels)
    rows, window = row_indices.shape
    values = np.empty((rows, window, count + 6), dtype=np.float32)
    reciprocal = np.empty((rows, window), dtype=np.bool_)
    # the first scale that a pair of ranks belongs to
    first = np.full(window + 2, count, dtype=np.int64)
    for level in range(count - 1, -1, -1):
        first[: levels[level] + 1] = level
    for worker in nb.prange(workers):
        rank = np.zeros(n, dtype=np.int32)  # of each row among the neighbours of i, 0 where it is none
        found = np.zeros(count + 1, dtype=np.int64)
        for i in range(rows * worker // workers, rows * (worker + 1) // workers):
            for a in range(window):
                rank[row_indices[i, a]] = a + 1
            for a in range(window):
                j = row_indices[i, a]
                s = row_similarities[i, a]
                back = _rank_if_inserted(s, similarities[j], window)
                found[:] = 0
                found[first[a + 1]] += 1  # j is its own nearest, and of rank a + 1 for i
                found[first[back]] += 1  # i likewise
                theirs = indices[j]
                for b in range(window):
                    m = theirs[b]
                    if rank[m] > 0:
                        found[first[max(rank[m], b + 1)]] += 1
                total = 0
                for level in range(count):
                    total += found[level]
                    values[i, a, level] = total / (levels[level] + 1)
                values[i, a, count] = np.log((a + 1) / k)
                values[i, a, count + 1] = np.log(back / k)
                values[i, a, count + 2] = back <= k
                values[i, a, count + 3] = back <= window
                values[i, a, count + 4] = (s - row_low[i]) / (row_high[i] - row_low[i] + 1e-3)
                values[i, a, count + 5] = (s - low[j]) / (high[j] - low[j] + 1e-3)
                reciprocal[i, a] = back <= k
            for a in range(window):
                rank[row_indices[i, a]] = 0
    return values, reciprocal
