r"""Many tests at many scales: how much two neighbourhoods share, from an eighth of k to twice k.

Sim-M tests at one k. Around the right k what matters is how the share grows: kin share more and more neighbours
until the class is full, look-alikes share few early and many late. For an edge (i, j) and a scale l:

    share_l(i, j) = |N_l(i) and N_l(j)| / (l + 1),     N_l(i): i itself and its l nearest neighbours

All scales of all k come from one pass: a common neighbour of rank a for i and b for j counts at every l >= max(a, b).
Everything is measured in units of k, so that what is learned on one data set means the same on another, whatever its
classes, its dimension or its number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.kernels import kernel, over_spans, read_only
from kinfolk.neighbors import NeighborGraph

TEST_SCALES = (1 / 8, 1 / 4, 1 / 2, 2**-0.5, 1.0, 2**0.5, 2.0)
NOT_A_NEIGHBOR = np.float32(1 << 24)  # a rank beyond every window
WINDOW = 2  # edges are looked at up to this many times k
NAMES = (
    *(f"share at {scale:.3g} k" for scale in TEST_SCALES),
    "log rank of j for i",
    "log rank of i for j",
    "reciprocal within k",
    "reciprocal within 2 k",
    "similarity in units of i",
    "similarity in units of j",
)


class EdgeTests(NamedTuple):
    """The tests of each edge: values (rows, w, 13) in the order of NAMES; reciprocal (rows, w): i is within k of j."""

    values: NDArray[np.float32]
    reciprocal: NDArray[np.bool_]


def edge_tests(
    g: NeighborGraph, k: int, *, rows: NDArray[np.integer] | slice | None = None, queries: NeighborGraph | None = None
) -> EdgeTests:
    """Return the tests at all scales of the first w = min(2 k, g.k) neighbours of the `rows`.

    Parameters
    ----------
    g : neighbours of all rows.
    k : the middle one of the scales.
    rows : which rows to test; None: all.
    queries : rows that are not in the graph themselves, with their neighbours in it; a new row is within the l nearest
        of j when it is more similar to j than j's l-th neighbour.

    Notes
    -----
    Memory: 52 bytes an edge; give `rows` in blocks where that is too much.

    Examples
    --------
    >>> import kinfolk as kf
    >>> clouds = np.eye(3).repeat(5, axis=0) + 0.1 * np.random.default_rng(0).random((15, 3))   # three classes of five
    >>> tests = edge_tests(kf.knn_graph(clouds, k=8), k=4)
    >>> tests.values[0, [0, 7], 4].round(1)      # share at k: with a neighbour of its class, and of another
    array([1., 0.], dtype=float32)
    """
    return edge_tests_at(g, [k], rows=rows, queries=queries)[0]


def edge_tests_at(
    g: NeighborGraph,
    ks: Sequence[int],
    *,
    rows: NDArray[np.integer] | slice | None = None,
    queries: NeighborGraph | None = None,
) -> list[EdgeTests]:
    """Return `edge_tests` for each k, in one pass over the neighbourhoods.

    >>> import kinfolk as kf
    >>> g = kf.knn_graph(np.eye(9) + 0.1 * np.arange(9), k=8)
    >>> [tests.values.shape for tests in edge_tests_at(g, [1, 2])]
    [(9, 2, 13), (9, 4, 13)]
    """
    if not g.square:
        raise InputError("the tests need the neighbours of the neighbours: build the graph over all rows, not queries")
    for k in ks:
        if not 1 <= k <= g.k:
            raise InputError(f"k must lie between 1 and {g.k}, the neighbours this graph has, not {k}")
    probes = g if queries is None else queries
    chosen = np.arange(len(probes))[slice(None) if rows is None else rows]
    windows = np.array([min(WINDOW * k, g.k, probes.k) for k in ks])
    widest = int(windows.max())
    wanted = np.array([[min(max(1, round(k * s)), w) for s in TEST_SCALES] for k, w in zip(ks, windows, strict=True)])
    levels, places = np.unique(wanted, return_inverse=True)
    similarities = np.asarray(g.similarities)
    high, low = _units(similarities, ks, windows)
    own_high, own_low = (high, low) if queries is None else _units(np.asarray(queries.similarities), ks, windows)
    values = np.empty((len(chosen), windows.sum(), len(NAMES)), dtype=np.float32)
    reciprocal = np.empty(values.shape[:2], dtype=np.bool_)
    graph = read_only(g.indices), np.ascontiguousarray(similarities), high, low
    own = (
        np.ascontiguousarray(probes.indices[chosen, :widest], dtype=np.int32),
        np.ascontiguousarray(probes.similarities[chosen, :widest]),
        np.ascontiguousarray(own_high[:, chosen]),
        np.ascontiguousarray(own_low[:, chosen]),
    )
    scales = levels, places.reshape(wanted.shape), np.array(ks), windows
    over_spans(lambda a, b: _edge_tests(a, b, *graph, *own, *scales, values, reciprocal), len(chosen))
    ends = windows.cumsum()
    return [EdgeTests(values[:, e - w : e], reciprocal[:, e - w : e]) for e, w in zip(ends, windows, strict=True)]


def _units(
    similarities: NDArray[np.float32], ks: Sequence[int], windows: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return a high and a low similarity of each row at each k, (ks, n): the mean of its k / 4 best, and its last."""
    high = [similarities[:, : max(1, k // 4)].mean(axis=1, dtype=np.float32) for k in ks]
    return np.stack(high), np.stack([similarities[:, w - 1] for w in windows])


@kernel()
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


@kernel(fastmath={"reassoc"})
def _edge_tests(
    first: int,
    last: int,
    indices: NDArray[np.int32],
    similarities: NDArray[np.float32],
    high: NDArray[np.float32],
    low: NDArray[np.float32],
    row_indices: NDArray[np.int32],
    row_similarities: NDArray[np.float32],
    row_high: NDArray[np.float32],
    row_low: NDArray[np.float32],
    levels: NDArray[np.int64],
    places: NDArray[np.int64],
    ks: NDArray[np.int64],
    windows: NDArray[np.int64],
    values: NDArray[np.float32],
    reciprocal: NDArray[np.bool_],
) -> None:
    """Write the tests of the rows first .. last - 1."""
    count, scales, widest = len(levels), places.shape[1], row_indices.shape[1]
    # ranks and counts are floats, exact up to 2^24: comparing and adding them fills whole vector registers
    rank = np.full(len(indices), NOT_A_NEIGHBOR, dtype=np.float32)  # of each row among the neighbours of i
    later = np.empty(widest, dtype=np.float32)  # the later one of a common neighbour's two ranks
    found = np.zeros(count, dtype=np.float32)
    one, zero = np.float32(1), np.float32(0)
    for i in range(first, last):
        for a in range(widest):
            rank[row_indices[i, a]] = a + 1
        for a in range(widest):
            j = row_indices[i, a]
            s = row_similarities[i, a]
            back = _rank_if_inserted(s, similarities[j], widest)
            theirs = indices[j]
            for b in range(widest):
                later[b] = max(rank[theirs[b]], np.float32(b + 1))
            # counting anew at each level is vectorised: three times faster than a histogram of the ranks
            for level in range(count):
                width = levels[level]
                common = np.float32(a < width) + np.float32(back <= width)  # j and i themselves
                for b in range(width):
                    common += one if later[b] <= np.float32(width) else zero
                found[level] = common
            start = 0
            for c in range(len(ks)):
                k, window = ks[c], windows[c]
                if a < window:
                    at = values[i, start + a]
                    for scale in range(scales):
                        place = places[c, scale]
                        at[scale] = found[place] / (levels[place] + 1)
                    within = min(back, window + 1)
                    at[scales] = np.log((a + 1) / k)
                    at[scales + 1] = np.log(within / k)
                    at[scales + 2] = within <= k
                    at[scales + 3] = within <= window
                    at[scales + 4] = (s - row_low[c, i]) / (row_high[c, i] - row_low[c, i] + 1e-3)
                    at[scales + 5] = (s - low[c, j]) / (high[c, j] - low[c, j] + 1e-3)
                    reciprocal[i, start + a] = within <= k
                start += window
        for a in range(widest):
            rank[row_indices[i, a]] = NOT_A_NEIGHBOR
