r"""Kin: the recommended clusterer. Nothing to set, no labels.

0. Exact copies are one row: they would fill each other's neighbourhoods, and their number would pass for the size of a
   class.
1. Features are enhanced without labels (`kinfolk.GraphEnhancer`), unless they are already (`FeatureSet.enhanced`).
2. On the graph of the enhanced features, k becomes about the size of a class (`kinfolk.kinship.choose_k`); an enhancer
   that was fitted to labels also has the size of its classes.
3. At that k the kinship network gives each edge the probability p that its ends belong together, and rows are grouped
   so that the sum of (p - 1/2) over all pairs of a cluster is largest (`kinfolk.cluster._internal.potts`). There is no
   threshold to guess: even odds are even odds on any data.
"""

from __future__ import annotations

import logging
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.feature_names import check_columns
from kinfolk._core.progress import stage
from kinfolk.cluster._internal.base import Clusterer
from kinfolk.cluster._internal.potts import group_by_potts
from kinfolk.enhance import GraphEnhancer
from kinfolk.features import FeatureSet, Matrix, UnitRows
from kinfolk.kinship import KinshipNetwork, kin_graph
from kinfolk.kinship.choose_k import k_for_clusters, neighbors_to_choose
from kinfolk.neighbors import NeighborGraph, knn_graph

log = logging.getLogger(__name__)
EVEN_ODDS = 0.5


class Kin(Clusterer):
    """Clusters without a threshold to guess: see the module's text.

    Parameters
    ----------
    enhancer : "auto": enhance without labels; None: take the features as they are; or a fitted GraphEnhancer, whose
        features are used, and the size of its classes where it saw labels. A FeatureSet that is marked as enhanced is
        never enhanced again.
    max_size : no cluster gets larger.
    random_state : the same number gives the same clusters.
    verbose : say on standard error what is done, and how long.

    Attributes
    ----------
    labels_ : (n,) clusters by falling size.
    k_ : about the size of a class.
    features_ : the features given.

    Works on features only. Memory: the graph of up to 384 neighbours, 16 bytes for each of its edges that is likely,
    and four copies of the features.

    Examples
    --------
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
        verbose: bool = False,
    ) -> None:
        self.enhancer = enhancer
        self.max_size = max_size
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        super()._check_settings()
        fitted = isinstance(self.enhancer, GraphEnhancer)
        if not (fitted or self.enhancer is None or self.enhancer == "auto"):
            raise InputError(f'enhancer must be "auto", None or a fitted GraphEnhancer, not {self.enhancer!r}')

    def _remember(self, X: Matrix, matrix: NDArray[Any]) -> None:
        super()._remember(X, matrix)
        if isinstance(self.enhancer, GraphEnhancer):
            check_columns(self.enhancer, X, matrix)

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        unit = self._unit(X)
        first, copy_of = distinct_rows(unit)
        if len(first) == 1:
            self.k_ = 1
            return copy_of
        Z = self._enhanced(unit[first] if len(first) < len(unit) else unit, isinstance(X, FeatureSet) and X.enhanced)
        net, g = KinshipNetwork.shipped(), knn_graph(UnitRows(Z), neighbors_to_choose(len(Z)))
        with stage("choosing k"):
            self.k_ = k_for_clusters(net, g, self.random_state, getattr(self.enhancer, "class_size_", None))
        log.info("k %d: about the size of a class", self.k_)
        with stage("testing edges"):
            kin = kin_graph(net, g, self.k_)
        with stage("grouping"):
            return group_by_potts(kin, EVEN_ODDS, self.random_state)[copy_of]

    def _enhanced(self, unit: NDArray[np.float32], already: bool) -> NDArray[np.float32]:
        if self.enhancer is None or already:
            return unit
        if isinstance(self.enhancer, GraphEnhancer):
            return self.enhancer.transform(UnitRows(unit), nearest_scale=False)
        enhancer = GraphEnhancer(random_state=self.random_state)
        return enhancer.fit_transform(UnitRows(unit), nearest_scale=False)


def distinct_rows(rows: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each distinct row of (n, d) first stands, in that order, and for each row which of them it is (n,).

    >>> first, copy_of = distinct_rows(np.array([[0, 1], [1, 0], [0, 1]], dtype=np.float32))
    >>> first, copy_of
    (array([0, 1]), array([0, 1, 0]))
    """
    whole = np.ascontiguousarray(rows + np.float32(0))  # -0 is 0
    texts = whole.view(np.dtype((np.void, whole.shape[1] * whole.itemsize))).ravel()  # compared as bytes: no floats
    _, first, which = np.unique(texts, return_index=True, return_inverse=True)
    return np.sort(first), np.argsort(np.argsort(first))[which]
