r"""A linear map learned from what propagation found, without labels: rows that became alike should be alike before.

    q_ij = softmax_j( cos(z_i, z_j) / 0.2 ),     p_ij = softmax_j( cos(x_i W, x_j W) / 0.15 ),     over i's batch
    W    = what gradient steps make of I on the mean over i of KL(q_i || p_i)
    x'_i = normalise( x_i (I + s (W - I)) ),     s = 1/2 n^2 / (n^2 + (10 d)^2)

x (n, d) are the rows, z what the hops made of them with k at most 16: with more, families of classes that look alike
become one in z, and W would shrink what tells them apart. Directions in which kin differ are averaged out in z: W
shrinks them for all rows at once, also for those whose neighbours were found badly. Neighbours and attention are then
computed again. Nothing is grouped, so no size of classes is believed beyond the k of the hops.

W has d^2 numbers and is held up by about n^2 pairs: the strength s vanishes for few rows, where W would repeat the
mistakes of the hops. Batches are neighbourhoods, where kin and strangers are confused. The steps are those of Adam,
written here because torch is not needed for anything else without labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel, over_spans
from kinfolk._core.rows import of_length_one
from kinfolk._core.threads import deal

SHARPNESS_FOUND, SHARPNESS_LEARNED = 0.2, 0.15  # temperatures of q and p; twice and half cost 0.1 to 0.4 points of mAP
LARGEST_K = 16  # of the hops it learns from; 24 is level on real sets, the k of a class costs re-ID sets up to 9 points
SEEDS, NEIGHBORS = 16, 32  # a batch: some rows and their nearest
MAP_STEPS, MAP_RATE = 60, 2e-3  # 300 steps of a sixth of the rate are level
MAPS = 2  # whose mean is taken, one a core
STRONGEST = 0.5  # half of the way, so that a set whose hops went wrong is not led further astray
ROWS_PER_DIMENSION = 10  # for half of that
FEWEST = 5  # rows a dimension: with fewer the strength would be below 0.1, and learning takes as long


class Distilled(NamedTuple):
    """The map (d, d), its strength included, and the rows (n, d) of length one that it makes."""

    map: NDArray[np.float32]
    rows: NDArray[np.float32]

    def of(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return other rows (m, d) by the same map.

        >>> half = Distilled(np.eye(2, dtype=np.float32) / 2, np.empty((0, 2), dtype=np.float32))
        >>> half.of(np.eye(2, dtype=np.float32)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        return _by(self.map, X)


def distil(
    X: NDArray[np.float32], Z: NDArray[np.float32], indices: NDArray[np.integer], seed: int = 0
) -> Distilled | None:
    """Return what rows X (n, d) of length one learn from Z (n, d') after the hops; None where they are too few.

    indices: (n, k) the nearest of each by X.

    >>> rng = np.random.default_rng(0)
    >>> X = of_length_one(np.eye(8, dtype=np.float32).repeat(50, axis=0) + rng.normal(0, 0.3, (400, 8)).astype("f4"))
    >>> near = np.argsort(-X @ X.T, axis=1)[:, 1:40]
    >>> Z = of_length_one(X[near].mean(axis=1))
    >>> distil(X, Z, near).rows.shape, distil(X[:9], Z[:9], near[:9] % 9) is None
    ((400, 8), True)
    """
    s = strength(*X.shape)
    if not s:
        return None
    order, place = _order(X, seed)
    given, found, near = X[order], Z[order], place[indices[order, :NEIGHBORS]]
    learned = deal(lambda number: _learn(given, found, near, (seed, number)), range(MAPS))
    identity = np.eye(X.shape[1], dtype=np.float32)
    moved = identity + np.float32(s) * (np.mean(learned, axis=0, dtype=np.float32) - identity)
    return Distilled(moved, _by(moved, X))


def _by(W: NDArray[np.float32], X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows X (n, d) of length one by the map.

    BLAS rounds a row otherwise among many than alone, and a row would no longer tie with itself among those that were
    mapped before: this product gives a row the same bits anywhere.
    """
    given, moved = np.ascontiguousarray(X), np.zeros_like(X)
    over_spans(lambda first, last: _product(given[first:last], W, moved[first:last]), len(X))
    return of_length_one(moved, X)


@kernel(fastmath={"contract"})
def _product(X: NDArray[np.float32], W: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    for i in range(X.shape[0]):
        for c in range(X.shape[1]):
            x = X[i, c]
            for e in range(W.shape[1]):
                out[i, e] += x * W[c, e]


def strength(n: int, d: int) -> float:
    """Return s for n rows of d dimensions.

    >>> strength(300, 64), strength(640, 64), round(strength(10**6, 64), 3)
    (0.0, 0.25, 0.5)
    """
    return 0.0 if n < FEWEST * d else STRONGEST * n**2 / (n**2 + (ROWS_PER_DIMENSION * d) ** 2)


def k_to_learn_from(k: int) -> int:
    """Return k of the hops whose outcome a set with this k learns from.

    >>> k_to_learn_from(9), k_to_learn_from(120)
    (9, 16)
    """
    return min(k, LARGEST_K)


def _order(X: NDArray[np.float32], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows X (n, d) by their length along some direction, (n,), and the place of each: the order they were given
    in, which means nothing, then changes nothing."""
    order = np.argsort(X @ np.random.default_rng(seed).standard_normal(X.shape[1], dtype=np.float32), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return order, place


def _learn(
    X: NDArray[np.float32], Z: NDArray[np.float32], near: NDArray[np.integer], seed: tuple[int, int]
) -> NDArray[np.float32]:
    """Return W (d, d)."""
    rng = np.random.default_rng(seed)
    W = np.eye(X.shape[1], dtype=np.float32)
    mean, square = np.zeros_like(W), np.zeros_like(W)
    for step in range(MAP_STEPS):
        seeds = rng.choice(len(X), min(SEEDS, len(X)), replace=False)
        batch = np.unique(np.append(seeds, near[seeds]))
        g = gradient(X[batch], _softmax(Z[batch], SHARPNESS_FOUND), W)
        mean = np.float32(0.9) * mean + np.float32(0.1) * g
        square = np.float32(0.999) * square + np.float32(0.001) * g**2
        rate = MAP_RATE * (1 + np.cos(np.pi * step / MAP_STEPS)) / 2 / (1 - 0.9 ** (step + 1))
        W -= np.float32(rate) * mean / (np.sqrt(square / np.float32(1 - 0.999 ** (step + 1))) + np.float32(1e-8))
    return W


def gradient(x: NDArray[np.floating], q: NDArray[np.floating], W: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the gradient (d, d) of the mean over rows of KL(q_i || p_i) at W (d, d); x (b, d), q (b, b).

    With U = x W, its rows of length one, and S = U U^T / t:  dL/dS = (p - q) / b,  dL/dU = (dL/dS + dL/dS^T) U / t
    """
    moved = x @ W
    length = np.linalg.norm(moved, axis=1, keepdims=True)
    length[length == 0] = 1
    U = moved / length
    slope = (_softmax(U, SHARPNESS_LEARNED) - q) / len(x)
    of_unit = (slope + slope.T) @ U / x.dtype.type(SHARPNESS_LEARNED)
    return x.T @ ((of_unit - (of_unit * U).sum(axis=1, keepdims=True) * U) / length)


def _softmax(unit: NDArray[np.floating], temperature: float) -> NDArray[np.floating]:
    """Return the softmax over all others of the cosines of rows (b, d) of length one: (b, b), 0 for the row itself."""
    scores = unit @ unit.T / unit.dtype.type(temperature)
    np.fill_diagonal(scores, -np.inf)
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores
