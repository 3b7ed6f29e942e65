r"""Kin: the recommended clusterer. Nothing to set, no labels.

1. Features are enhanced without labels (`kinfolk.GraphEnhancer`), unless they are already.
2. The threshold theta is the cosine at which two neighbours are as likely kin as not. The kinship network, which has
   seen none of your data, says how likely each edge of the enhanced graph is kin; theta is where, from the top, the
   mean over edges of about the same cosine falls below a half.
3. Rows are grouped so that the sum of (cos - theta) over all pairs of a cluster is largest (`kinfolk.cluster.means`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from kinfolk.cluster.base import Clusterer
from kinfolk.cluster.means import group_by_means
from kinfolk.errors import InputError
from kinfolk.features import Matrix
from kinfolk.neighbors import NeighborGraph, knn_graph

if TYPE_CHECKING:
    from kinfolk.enhance import GraphEnhancer
    from kinfolk.nn.kinship import Kinship

JOINABLE = 30  # nearest neighbours whose clusters a row may join
# where theta is read: the scale in units of the graph's k, and the mean kinship that must be passed; the mean is taken
READINGS = ((0.4, 0.5), (0.7, 0.65))
SAMPLE_ROWS = 4000
BINS = 40
# of the enhanced features: rows are means of the same kin, so that a row and its second neighbour nearly coincide
ENHANCED_COSINE = 0.98


class Kin(Clusterer):
    """Clusters without a threshold to guess: see the module's text.

    enhancer   "auto": enhance without labels, unless the features look enhanced; None: take them as they are; or a
               fitted GraphEnhancer, whose features are used

    After fit: `labels_`, `threshold_` (theta), `features_`. Features only. Memory: the graph of up to 384 neighbours
    and four copies of the features.

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

        Z = self._enhanced(self._unit(X))
        g = label_free_graph(Z)
        self.threshold_ = kin_cosine(Kinship.shipped(), g, self.random_state)
        return group_by_means(Z, np.ascontiguousarray(g.indices[:, :JOINABLE]), self.threshold_, self.random_state)

    def _enhanced(self, unit: NDArray[np.float32]) -> NDArray[np.float32]:
        from kinfolk.enhance import GraphEnhancer

        if self.enhancer is None:
            return unit
        if isinstance(self.enhancer, GraphEnhancer):
            return self.enhancer.transform(unit)
        if self.enhancer != "auto":
            raise InputError(f'enhancer must be "auto", None or a fitted GraphEnhancer, not {self.enhancer!r}')
        if looks_enhanced(unit):
            return unit
        return GraphEnhancer(random_state=self.random_state, show_progress=False).fit(unit).transform(unit)


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


def kin_cosine(net: Kinship, g: NeighborGraph, seed: int = 0) -> float:
    """Return the cosine at which two neighbours of the graph are as likely kin as not, without labels.

    >>> import kinfolk as kf
    >>> from kinfolk.nn.kinship import Kinship
    >>> Z = kf.GraphEnhancer(k=20).fit_transform(kf.datasets.celeb_like(n_identities=10))
    >>> 0.3 < kin_cosine(Kinship.shipped(), kf.knn_graph(Z, k=100)) < 1
    True
    """
    from kinfolk.nn.kinship import kin_blocks, kin_scale

    k = kin_scale(net, g, seed)
    rows = np.sort(np.random.default_rng(seed).permutation(len(g))[:SAMPLE_ROWS])
    found = []
    for scale, level in READINGS:
        blocks = list(kin_blocks(net, g, max(1, min(round(scale * k), g.k)), rows))
        kinship = np.exp(np.concatenate([log_p for _, log_p, _ in blocks]))
        cosines = np.asarray(g.similarities[rows])[:, : kinship.shape[1]]
        found.append(_falls_below(level, cosines.ravel(), kinship.ravel()))
    return float(np.mean(found))


def _falls_below(level: float, cosines: NDArray[np.float32], kinship: NDArray[np.float32]) -> float:
    """Return where, from the highest cosine down, the mean kinship of a bin of edges is first below the level."""
    order = np.argsort(cosines, kind="stable")
    bins = np.array_split(order, min(BINS, len(order)))
    for edges in reversed(bins):
        if kinship[edges].mean() < level:
            return float(cosines[edges].mean())
    return float(cosines[bins[0]].mean())
