r"""Kinship: the quartet attention that needs no dimension and no k of its own.

The tests of an edge (i, j) at all scales (`kinfolk.similarity.scales`) go through a small network that says how likely
the two are kin:

    p_ij = sigmoid(MLP((t_ij - mean) / spread)),     t_ij: the 13 tests of the edge, in units of k

It sees ranks, shares and relative similarities only, never the features: the same 1,537 weights serve any data set.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn

from kinfolk.neighbors import NeighborGraph, knn_graph
from kinfolk.similarity.scales import NAMES, WINDOW, scale_tests

SHIPPED = Path(__file__).with_name("kinship.safetensors")
HIDDEN = 32
OUTLIER = 4.0  # a test further than this many spreads from its mean says no more than one at the limit
BLOCK_EDGES = 1 << 18

SMALLEST = 2  # of the k that are asked of features as given: classes of three
GRID = (3, 4, 6, 8, 12, 17, 24, 34, 48, 68, 96, 136, 192)
SAMPLE_ROWS = 1500
FALL, RISE = 0.02, 0.15  # of the kin in the window, around the valley between a class and its family
ROSE, DEEP = 0.1, 0.2  # to the peak before it, or far down: small windows see fewer kin before a class shows at all
FULL = 0.98  # kin among the 2 k nearest, in units of k, up to which k is not larger than a class
NEARLY = 0.93  # of the largest count, where the network sees too few kin at any k (raw pixels, hand-made features)
NOISY_BELOW = 6  # at smaller k a scale is one or two neighbours


class Kinship(nn.Module):
    """How likely two neighbours are kin, from their tests: (..., 13) -> (...) log odds.

    >>> Kinship()(torch.zeros(5, 13)).shape
    torch.Size([5])
    """

    mean: Tensor
    spread: Tensor

    def __init__(self) -> None:  # noqa: D107
        super().__init__()
        self.register_buffer("mean", torch.zeros(len(NAMES)))
        self.register_buffer("spread", torch.ones(len(NAMES)))
        self.layers = nn.Sequential(
            nn.Linear(len(NAMES), HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1)
        )

    def forward(self, tests: Tensor) -> Tensor:  # noqa: D102
        scaled = ((tests - self.mean) / self.spread).clamp(-OUTLIER, OUTLIER)
        return self.layers(scaled).squeeze(-1)

    @classmethod
    def shipped(cls) -> Kinship:
        """Return the network that comes with the package, trained on generated sets only.

        >>> sum(p.numel() for p in Kinship.shipped().parameters())
        1537
        """
        net = cls()
        net.load_state_dict(load_file(SHIPPED))
        return net.eval()


def kin_blocks(
    net: Kinship,
    g: NeighborGraph,
    k: int,
    rows: NDArray[np.integer] | None = None,
    queries: NeighborGraph | None = None,
) -> Iterator[tuple[NDArray[np.integer], NDArray[np.float32], NDArray[np.bool_]]]:
    """Yield, block after block, the rows (b,), log p of their first 2 k edges (b, w), and which are reciprocal (b, w).

    >>> import kinfolk as kf
    >>> g = kf.knn_graph(kf.datasets.digits(), k=40)
    >>> rows, log_p, reciprocal = next(kin_blocks(Kinship.shipped(), g, k=20))
    >>> log_p.shape
    (1797, 40)
    """
    asked = np.arange(len(g if queries is None else queries)) if rows is None else rows
    step = max(1, BLOCK_EDGES // min(WINDOW * k, g.k))
    for start in range(0, len(asked), step):
        block = asked[start : start + step]
        tests = scale_tests(g, k, rows=block, queries=queries)
        with torch.inference_mode():
            log_p = nn.functional.logsigmoid(net(torch.from_numpy(tests.values))).numpy()
        yield block, log_p, tests.reciprocal


def kin_counts(net: Kinship, g: NeighborGraph, ks: list[int], seed: int = 0) -> NDArray[np.float64]:
    """Return for each k how many kin the 2 k nearest neighbours hold on average, in units of k.

    >>> import kinfolk as kf
    >>> g = kf.knn_graph(kf.datasets.digits(), k=40)
    >>> kin_counts(Kinship.shipped(), g, [10, 20]).shape
    (2,)
    """
    rows = np.sort(np.random.default_rng(seed).permutation(len(g))[:SAMPLE_ROWS])
    counts = []
    for k in ks:
        kin = sum(float(np.exp(log_p).sum(dtype=np.float64)) for _, log_p, _ in kin_blocks(net, g, k, rows))
        counts.append(kin / (len(rows) * k))
    return np.array(counts)


def grid_of(n: int) -> list[int]:
    """Return the k that can be asked of n rows: twice k must stay below half of them.

    >>> grid_of(50)
    [3, 4, 6, 8, 12]
    """
    return [k for k in GRID if 2 * WINDOW * k <= n] or [max(1, min(GRID[0], (n - 1) // WINDOW))]


def label_free_graph(X: NDArray[np.float32]) -> NeighborGraph:
    """Return the graph with as many neighbours as any k of the grid looks at.

    >>> label_free_graph(np.eye(10, dtype=np.float32) + 0.1).k
    6
    """
    return knn_graph(X, k=max(1, min(WINDOW * grid_of(len(X))[-1], len(X) - 1)), show_progress=False)


def kin_scale(net: Kinship, g: NeighborGraph, seed: int = 0) -> int:
    """Return the k that fits the classes, without labels: the largest whose 2 k nearest hold 0.98 k kin.

    While k is smaller than a class, most of the 2 k nearest are kin; beyond it ever fewer are. Where the count falls
    and rises again, a class is full and its family of look-alikes begins: k stays below that. Where the network sees
    fewer kin than that at every k, it is 0.93 of the most it sees.

    >>> import kinfolk as kf
    >>> rows = np.eye(6).repeat(11, axis=0) + 0.1 * np.random.default_rng(0).random((66, 6))   # six classes of eleven
    >>> 8 <= kin_scale(Kinship.shipped(), kf.knn_graph(rows, k=40)) <= 12
    True
    """
    ks = [k for k in (SMALLEST, *grid_of(len(g))) if WINDOW * k <= g.k] or [min(GRID[0], g.k)]
    return _crossing(ks, kin_counts(net, g, ks, seed))


def _crossing(ks: list[int], counts: NDArray[np.float64]) -> int:
    last = _valley(ks, counts)
    most = counts[: last + 1].max()
    level = FULL if most >= FULL else NEARLY * most
    a = max(a for a in range(last + 1) if counts[a] >= level)
    if a == last:
        return ks[a]
    share = (counts[a] - level) / (counts[a] - counts[a + 1])
    return round(ks[a] * (ks[a + 1] / ks[a]) ** share)


def rose_to(counts: NDArray[np.float64], peak: int) -> bool:
    """Tell whether the counts rose to a peak, and did not just start there.

    >>> rose_to(np.array([1.0, 1.4]), 1), rose_to(np.array([1.4, 1.0]), 0)
    (True, False)
    """
    return bool(counts[peak] - counts[: peak + 1].min() > ROSE)


def rise_behind(counts: NDArray[np.float64], bottom: int) -> float:
    """Return how far the counts rise behind a bottom before they fall below it.

    >>> rise_behind(np.array([1.5, 1.25, 1.5, 1.75, 1.0, 2.0]), 1)
    0.5
    """
    behind = counts[bottom:]
    below = np.flatnonzero(behind < counts[bottom])
    return float(behind[: below[0] if len(below) else None].max() - counts[bottom])


def _valley(ks: list[int], counts: NDArray[np.float64]) -> int:
    """Return the position of the first valley of the counts behind a peak, or the last position.

    Behind a peak they rose to, the counts need to fall only a little; behind any other, far.
    """
    peak = 0
    for a in range(1, len(ks)):
        fall = counts[peak] - counts[a]
        dips = ks[a] >= NOISY_BELOW and fall > (FALL if rose_to(counts, peak) else DEEP)
        if dips and rise_behind(counts, a) > RISE:
            return a
        peak = a if counts[a] > counts[peak] else peak
    return len(ks) - 1
