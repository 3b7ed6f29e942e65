r"""Kin: the recommended clusterer. Nothing to set, no labels.

1. Features are enhanced without labels (`kinfolk.GraphEnhancer`), unless they are already.
2. The size of the classes is read off the graph of the enhanced features. The kinship network, which has seen none of
   your data, says how many of the 2 k nearest neighbours are kin, in units of k. That count has a peak while the window
   fits into a class; where it has fallen to 0.8 of its peak, k is about a class. Where the count dips and rises again,
   a class is full and its family of look-alikes begins: k stays at the bottom. An enhancer that was fitted to labels
   has seen how large classes are: then k follows that (`kinfolk.training.class_size`).
3. At that k the network gives each edge the probability p that its ends are kin, and rows are grouped so that the sum
   of (p - 1/2) over all pairs of a cluster is largest (`kinfolk.cluster.potts`). There is no threshold to guess: even
   odds are even odds on any data.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from sklearn.utils.validation import check_is_fitted

from kinfolk.cluster.base import Clusterer
from kinfolk.cluster.potts import group_by_potts
from kinfolk.errors import InputError
from kinfolk.features import Matrix
from kinfolk.neighbors import NeighborGraph, knn_graph

if TYPE_CHECKING:
    from kinfolk.enhance import GraphEnhancer
    from kinfolk.nn.kinship import Kinship

EVEN_ODDS = 0.5
FALLEN = 0.8  # of the peak: the window is larger than most classes
RISE = 0.05  # of the count behind the bottom between a class and its family
SHOULDER = 0.03  # above a peak: counts that grow less stand still
LARGEST = 2  # times the k of the peak: a bottom further out is not the end of a class
WHOLE = 1.15  # kin among the 2 k nearest, in units of k: fewer are no class yet
UNLIKELY = 0.02  # kinship that is not worth an edge
BLOCK_ROWS = 8192
SAMPLE_ROWS = 4000
# of the enhanced features: rows are means of the same kin, so that a row and its second neighbour nearly coincide
ENHANCED_COSINE = 0.98


class Kin(Clusterer):
    """Clusters without a threshold to guess: see the module's text.

    enhancer   "auto": enhance without labels, unless the features look enhanced; None: take them as they are; or a
               fitted GraphEnhancer, whose features are used, and the size of its classes where it saw labels

    After fit: `labels_`, `k_` (about the size of a class), `features_`. Features only. Memory: the graph of up to 384
    neighbours, 16 bytes for each of its edges that is likely, and four copies of the features.

    >>> import kinfolk as kf
    >>> fs = kf.datasets.celeb_like(n_identities=20, seed=0)
    >>> labels = Kin().fit_predict(fs)
    >>> kf.metrics.bcubed(fs.labels, labels).f > 0.8
    True
    """

    def __init__(  # noqa: D107
        self,
        enhancer: GraphEnhancer | Literal["auto"] | None = "auto",
        *,
        max_size: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.enhancer = enhancer
        self.max_size = max_size
        self.random_state = random_state

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        from kinfolk.nn.kinship import Kinship, label_free_graph
        from kinfolk.training.class_size import k_told

        net, g = Kinship.shipped(), label_free_graph(self._enhanced(self._unit(X)))
        self.k_ = min(widest_k(g), k_told(class_scale(net, g, self.random_state), self._told_size()))
        return group_by_potts(kin_graph(net, g, self.k_), EVEN_ODDS, self.random_state)

    def _told_size(self) -> float | None:
        """Return the size of the classes that the enhancer was fitted to; None without labels."""
        return getattr(self.enhancer, "class_size_", None)

    def _enhanced(self, unit: NDArray[np.float32]) -> NDArray[np.float32]:
        from kinfolk.enhance import GraphEnhancer

        if self.enhancer is None:
            return unit
        if isinstance(self.enhancer, GraphEnhancer):
            return _for_clusters(self.enhancer).transform(unit)
        if self.enhancer != "auto":
            raise InputError(f'enhancer must be "auto", None or a fitted GraphEnhancer, not {self.enhancer!r}')
        if looks_enhanced(unit):
            return unit
        enhancer = GraphEnhancer(random_state=self.random_state, show_progress=False)
        with enhancer.searching_once():
            return _for_clusters(enhancer.fit(unit)).transform(unit)


def _for_clusters(enhancer: GraphEnhancer) -> GraphEnhancer:
    """Return the enhancer without the scale of the nearest, which keeps groups inside a class a little apart.

    A ranking does not mind that; counts of kin in growing windows take such a group for the class.
    """
    check_is_fitted(enhancer)
    changed = copy(enhancer)
    changed.propagation_ = replace(enhancer.propagation_, nearest=False)
    return changed


def looks_enhanced(unit: NDArray[np.float32]) -> bool:
    """Tell whether rows have already been replaced by means of their kin: most nearly coincide with a neighbour.

    >>> rng = np.random.default_rng(0)
    >>> looks_enhanced(rng.standard_normal((50, 8)).astype(np.float32))
    False
    """
    rows = unit[np.random.default_rng(0).permutation(len(unit))[:SAMPLE_ROWS]]
    # the row itself is the first, an exact duplicate may be the second
    g = knn_graph(unit, min(3, len(unit)), queries=rows, show_progress=False)
    return bool(np.median(g.similarities[:, -1]) > ENHANCED_COSINE)


def class_scale(net: Kinship, g: NeighborGraph, seed: int = 0) -> int:
    """Return a k of about the size of a class, from the graph of enhanced features, without labels.

    >>> import kinfolk as kf
    >>> from kinfolk.nn.kinship import Kinship
    >>> noise = 0.25 * np.random.default_rng(0).standard_normal((1200, 40))
    >>> Z = kf.GraphEnhancer().fit_transform(np.eye(40).repeat(30, axis=0) + noise)  # 40 classes of 30
    >>> 15 < class_scale(Kinship.shipped(), kf.knn_graph(Z, k=120)) < 60
    True
    """
    from kinfolk.nn.kinship import grid_of, kin_counts
    from kinfolk.similarity.scales import WINDOW

    ks = [k for k in grid_of(len(g)) if WINDOW * k <= g.k] or [1]
    counts = kin_counts(net, g, ks, seed)
    start = _where_classes_show(counts)
    return min(widest_k(g), round(_where_fallen(ks[start:], counts[start:])))


def _where_classes_show(counts: NDArray[np.float64]) -> int:
    """Return the position of the bottom before the counts first reach a whole class; 0 where they start above or never.

    Windows far smaller than a class see fewer kin the larger they are: without this, that fall and the rise to the
    class would pass for a class of six and its family. Real classes of 3 to 8 items start at 1.2 or more.
    """
    first = int(np.argmax(counts >= WHOLE))
    return int(np.argmin(counts[: first + 1]))


def widest_k(g: NeighborGraph) -> int:
    """Return the largest k at which kinship can be asked of a graph.

    >>> import kinfolk as kf
    >>> widest_k(kf.knn_graph(kf.datasets.digits(), k=48))
    20
    """
    from kinfolk.nn.propagate import window_of

    return max([k for k in range(1, g.k + 1) if window_of(k) <= g.k], default=1)


def _where_fallen(ks: list[int], counts: NDArray[np.float64]) -> float:
    """Return where the counts have fallen to 0.8 of their peak, or where a family begins if that is earlier."""
    return min(_end_of_class(ks, counts), _start_of_family(ks, counts))


def _end_of_class(ks: list[int], counts: NDArray[np.float64]) -> float:
    """Return where the counts have fallen to 0.8 of their peak, between two k; the last k if they have not.

    Small windows see fewer kin the larger they are, before a class shows at all: what is passed later has not fallen.
    """
    for a in range(1, len(ks)):
        level = FALLEN * counts[:a].max()
        if counts[a] < level and counts[a:].max() <= counts[:a].max():
            share = (counts[a - 1] - level) / (counts[a - 1] - counts[a])
            return float(ks[a - 1] * (ks[a] / ks[a - 1]) ** share)
    return ks[-1]


def _start_of_family(ks: list[int], counts: NDArray[np.float64]) -> float:
    """Return the bottom of the first dip that the counts rise from again; the last k if there is none.

    Behind a peak they rose to, counts that stand still have dipped; behind any other they must fall far.
    """
    from kinfolk.nn.kinship import DEEP, rise_behind, rose_to

    peak = 0
    for a in range(1, len(ks)):
        level = counts[peak] + SHOULDER if rose_to(counts, peak) else counts[peak] - DEEP
        if counts[a] < level and rise_behind(counts, a) > RISE:
            return min(ks[a], LARGEST * ks[peak])
        peak = a if counts[a] > counts[peak] else peak
    return ks[-1]


def kin_graph(net: Kinship, g: NeighborGraph, k: int) -> csr_array:
    """Return the symmetric graph (n, n) of kinship p_ij, the mean of what i and j say, asked at 0.6 k and 1.2 k.

    >>> import kinfolk as kf
    >>> from kinfolk.nn.kinship import Kinship
    >>> p = kin_graph(Kinship.shipped(), kf.knn_graph(kf.datasets.digits(), k=48), k=20)
    >>> p.shape, bool(0 < p.data.min() < p.data.max() <= 1)
    ((1797, 1797), True)
    """
    rows = [np.arange(start, min(start + BLOCK_ROWS, len(g))) for start in range(0, len(g), BLOCK_ROWS)]
    one_way = vstack([_kin_rows(net, g, k, some) for some in rows], format="csr")
    return csr_array((one_way + one_way.T) * np.float32(0.5))


def _kin_rows(net: Kinship, g: NeighborGraph, k: int, rows: NDArray[np.integer]) -> csr_array:
    from kinfolk.nn.kinship import kin_blocks
    from kinfolk.nn.propagate import scales_of, window_of

    scales = scales_of(k)
    kinship = np.zeros((len(rows), min(window_of(k), g.k)), dtype=np.float32)
    for scale in scales:
        for some, log_p, _ in kin_blocks(net, g, min(scale, g.k), rows):
            kinship[some - rows[0], : log_p.shape[1]] += np.exp(log_p) / len(scales)
    likely = kinship > UNLIKELY
    starts = np.append(0, np.cumsum(likely.sum(axis=1)))
    targets = np.asarray(g.indices[rows, : kinship.shape[1]])[likely]
    return csr_array((kinship[likely], targets, starts), shape=(len(rows), len(g)))
