r"""Kin: the recommended clusterer. Nothing to set, no labels, classes of any size.

0. Near copies are one row (`kinfolk.neighbors.copies`), what the user knows is read
   (`kinfolk.cluster._internal.constraints`).
1. What each camera adds is taken away, where cameras are known (`kinfolk.enhance.cameras`). One search for neighbours;
   features are enhanced without labels (`kinfolk.cluster._internal.spaces`), unless they are already
   (`FeatureSet.enhanced`).
2. Candidates are made (`kinfolk.cluster._internal.candidates`): cuts of the average-linkage trees of the given
   features, of the enhanced ones and of both; then the groups of the kinship graph, whose k follows the size of the
   clusters of the best cut.
3. Two halves of the features grow trees of their own (`kinfolk.cluster._internal.halves`): clusters that both find
   alike are no accident. From that, from the tests of edges, from the sizes of clusters and from how well the trees
   agree, a judge that was trained on generated sets predicts how good each candidate is; what G-cut and HDBSCAN find
   alike gains (`kinfolk.cluster._internal.witnesses`). The one that agrees best with
   the likely ones is taken (`kinfolk.cluster._internal.judge`), and changed where a user knows better
   (`kinfolk.cluster._internal.corrections`). There is no threshold to guess.
4. One tree goes through the chosen clusters (`kinfolk.cluster._internal.tree`); each row gets the probability that it
   is where it belongs, and a second choice (`kinfolk.cluster._internal.membership`).
"""

from __future__ import annotations

import logging
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kinfolk._core.errors import InputError
from kinfolk._core.feature_names import check_columns
from kinfolk._core.progress import stage
from kinfolk._core.rows import of_length_one
from kinfolk.cluster._internal import candidates as made
from kinfolk.cluster._internal.agglomerate import agglomerate, tree_through
from kinfolk.cluster._internal.base import Clusterer, by_size, rows_of
from kinfolk.cluster._internal.candidates import Candidate, clusters_after
from kinfolk.cluster._internal.constraints import read_constraints
from kinfolk.cluster._internal.corrections import kept_apart
from kinfolk.cluster._internal.hierarchy import Merges
from kinfolk.cluster._internal.joining import join
from kinfolk.cluster._internal.judge import Judge
from kinfolk.cluster._internal.kinship_groups import EVEN_ODDS, kinship_groups
from kinfolk.cluster._internal.medoids import medoids
from kinfolk.cluster._internal.membership import membership, whole
from kinfolk.cluster._internal.spaces import (
    Spaces,
    centred,
    in_space,
    side_by_side,
)
from kinfolk.cluster._internal.survey import Survey, survey_of
from kinfolk.cluster._internal.tree import Tree, height_of_cut, tree_of
from kinfolk.cluster._internal.views import strangers_of
from kinfolk.enhance import GraphEnhancer
from kinfolk.enhance.cameras import Cameras, cameras_of
from kinfolk.features import FeatureSet, Matrix, UnitRows, unit_rows
from kinfolk.neighbors import NeighborGraph, knn_graph
from kinfolk.neighbors.copies import ROUNDING

log = logging.getLogger(__name__)
SOURCES = ("tree of the given features", "tree of both features", "tree of the enhanced features", "kinship graph")


class Distinct(NamedTuple):
    """What new rows are compared with.

    Shapes: rows (m,) where the distinct rows stand; unit (m, d) their features; spaces: of all; source: in which of
    these the tree was grown; least: the mean similarity at which the tree was cut.
    """

    rows: NDArray[np.int64]
    unit: NDArray[np.float32]
    spaces: Spaces | None
    source: int
    least: float


class Kin(Clusterer):
    """Clusters without a threshold to guess: see the module's text.

    Parameters
    ----------
    enhancer : "auto": enhance without labels; None: take the features as they are; or a fitted GraphEnhancer, whose
        metric and k are used, or of an encoder its features. A FeatureSet that is marked as enhanced is never enhanced
        again.
    must_link, cannot_link : pairs of rows (m, 2) that are in one cluster, and that are not, at every cut. What follows
        from them holds too; a contradiction is refused.
    max_size : no cluster gets larger.
    random_state : the same number gives the same clusters.
    verbose : say on standard error what is done, and how long.

    Attributes
    ----------
    labels_ : (n,) clusters by falling size; a row without kin is a cluster of its own.
    probabilities_ : (n,) how probably a row is of the class that most rows of its cluster are of.
    expected_purity_ : their mean, the share of rows to expect in the main class of their cluster.
    second_ : (n,) the next best cluster of each row; -1 where its neighbours are in no other.
    medoids_ : (n_clusters_,) the row of each cluster that is nearest to its mean direction.
    features_ : the features given.

    Works on features only. Memory: the graph of up to 240 neighbours, 16 bytes for each of its edges that is likely,
    and about ten copies of the features.

    Examples
    --------
    >>> import kinfolk as kf
    >>> fs = kf.datasets.celeb_like(n_identities=20, seed=0)
    >>> kin = Kin().fit(fs)
    >>> kf.metrics.bcubed(fs.labels, kin.labels_).f > 0.8
    True
    >>> kin.cut(0.9).max() >= kin.labels_.max() >= kin.cut(0.1).max()
    np.True_
    """

    def __init__(  # noqa: D107
        self,
        enhancer: GraphEnhancer | Literal["auto"] | None = "auto",
        *,
        must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None,
        max_size: int | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.enhancer = enhancer
        self.must_link = must_link
        self.cannot_link = cannot_link
        self.max_size = max_size
        self.random_state = random_state
        self.verbose = verbose

    _tree: Tree
    _distinct: Distinct
    _cameras: Cameras | None
    _by_metric: bool

    def cut(self, probability: float = EVEN_ODDS) -> NDArray[np.int64]:
        """Return finer or coarser clusters: those whose parts were merged with at least this probability.

        Parameters
        ----------
        probability : from 0, everything that may be together, to 1, only copies and what must be together.

        Returns
        -------
        labels : (n,) int64 by falling size. Cuts are nested; that at 0.5 is `labels_`; constraints hold in all.
        """
        check_is_fitted(self, "labels_")
        if not (isinstance(probability, int | float | np.number) and 0 <= probability <= 1):
            raise InputError(f"probability must be a number from 0 to 1, not {probability!r}")
        return by_size(self._tree.cut(float(probability)))

    def predict(self, X: Matrix) -> NDArray[np.int64]:
        """Return the clusters of new rows, -1 for a row that belongs to none.

        A row joins the cluster whose rows are most similar to it on average, if they are at least as similar as the
        clusters were cut at: as if it had come last in the tree. A near copy of a fitted row is where that is.

        Parameters
        ----------
        X : features (m, d).
        """
        check_is_fitted(self, "labels_")
        new = self._mapped(unit_rows(self._new_rows(X)), X)
        known = self._distinct
        nearest = knn_graph(UnitRows(known.unit), 1, queries=UnitRows(new), show_progress=False)
        copies = 2 - 2 * nearest.similarities[:, 0] <= self._copy_distance**2
        joined = self.labels_[known.rows]
        result = np.where(copies, joined[nearest.indices[:, 0]], -1)
        if not copies.all():
            space = known.unit if known.spaces is None else known.spaces.features[known.source]
            result[~copies] = join(self._in_space(new[~copies]), space, joined, known.least)
        return result

    def _in_space(self, new: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return new rows as the features in which the tree was grown."""
        _, unit, spaces, source, _ = self._distinct
        if spaces is None:
            return new
        e = self.enhancer
        if source == made.RAW or spaces.k or not isinstance(e, GraphEnhancer):
            return in_space(new, spaces, source)
        Z = e.transform(UnitRows(new), reference=UnitRows(unit), nearest_scale=False)
        return Z if source == made.ENHANCED else side_by_side(centred(new, spaces.mean), Z)

    def _check_settings(self) -> None:
        super()._check_settings()
        fitted = isinstance(self.enhancer, GraphEnhancer)
        if not (fitted or self.enhancer is None or (isinstance(self.enhancer, str) and self.enhancer == "auto")):
            raise InputError(f'enhancer must be "auto", None or a fitted GraphEnhancer, not {self.enhancer!r}')

    def _remember(self, X: Matrix, matrix: NDArray[Any]) -> None:
        super()._remember(X, matrix)
        if isinstance(self.enhancer, GraphEnhancer):
            check_columns(self.enhancer, X, matrix)

    def _fit(self, X: Matrix | NeighborGraph) -> None:
        self._known = read_constraints(rows_of(X), self.must_link, self.cannot_link)
        if self.max_size is not None and (np.bincount(self._known.together) > self.max_size).any():
            raise InputError(f"must_link joins more than max_size={self.max_size} rows: one of them must give way")
        self._cameras, self._by_metric = None, False
        super()._fit(X)
        if len(self.labels_) == 1:
            self._copy_distance = ROUNDING
            self._all_copies(self._unit(X))
        self.expected_purity_ = float(self.probabilities_.mean())
        middle = np.flatnonzero(medoids(self.labels_, self.features_))  # type: ignore[arg-type] # it was features
        self.medoids_ = middle[np.argsort(self.labels_[middle])]

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        unit = self._unit(X)
        enhancer = None if isinstance(X, FeatureSet) and X.enhanced else self.enhancer
        as_given = enhancer is None or getattr(enhancer, "recipe", "fast") == "paper"  # whose features know no cameras
        cameras = X.cameras if isinstance(X, FeatureSet) and not as_given else None
        self._cameras = cameras_of(unit, cameras)
        self._by_metric = _has_metric(enhancer)
        k = None
        if isinstance(enhancer, GraphEnhancer) and self._by_metric:
            k, enhancer = None if enhancer.k == "auto" else int(enhancer.k), "auto"
        unit = self._mapped(unit, X)
        seen = survey_of(unit, self._known, enhancer, self.random_state, k)
        if seen is None:
            self._copy_distance = ROUNDING
            self._all_copies(unit)
            return self._tree.cut(EVEN_ODDS)
        self._copy_distance = seen.distance
        chosen, below_best = seen.choose(Judge.shipped().clusterings, self.random_state)
        log.info("%d clusters by the %s", chosen.labels.max() + 1, SOURCES[chosen.source])
        with stage("building the tree"):
            clusters = self._grow_tree(seen, chosen)
        with stage("probabilities"):
            Z, g = seen.spaces.best, seen.spaces.graph
            raw, enhanced = whole(seen.unit, g.indices, seen.near), seen.spaces.neighbors.get(made.ENHANCED, g.indices)
            sure = membership(raw, whole(Z, enhanced, seen.spaces.similarities), seen.halves, clusters, below_best)
        labels = by_size(self._tree.cut(EVEN_ODDS))
        alone = np.bincount(labels)[labels] == 1  # also by max_size
        self.probabilities_ = np.where(alone, np.float32(1), sure.probability[seen.copy_of])
        number = labels[seen.rows][np.unique(clusters, return_index=True)[1]]
        self.second_ = np.append(number, -1)[sure.second][seen.copy_of]
        return labels

    def _mapped(self, unit: NDArray[np.float32], X: Matrix | NeighborGraph) -> NDArray[np.float32]:
        """Return rows (n, d) of length one as they are compared: without what cameras add, by a metric if there is one.

        What cameras add was found in the fit.
        """
        if self._cameras is not None and isinstance(X, FeatureSet) and X.cameras is not None:
            unit = of_length_one(self._cameras.without(unit, X.cameras), unit)
        if self._by_metric and isinstance(self.enhancer, GraphEnhancer):
            unit = self.enhancer.mapped(UnitRows(unit))
        return unit

    def _all_copies(self, unit: NDArray[np.float32]) -> None:
        """Keep that all rows (n, d) show one thing."""
        n = len(unit)
        self.probabilities_ = np.ones(n, dtype=np.float32)
        self.second_ = np.full(n, -1)
        one = Tree(np.zeros(n - 1, np.int32), np.arange(1, n, dtype=np.int32), np.ones(n - 1), n)
        self._tree = one if self.max_size is None else one.limited(self.max_size)
        self._distinct = Distinct(np.zeros(1, dtype=np.int64), unit[:1], None, made.RAW, 1.0)

    def _grow_tree(self, seen: Survey, chosen: Candidate) -> NDArray[np.int64]:
        """Keep the tree through the chosen clusters as what is known changes them, and return these (m,)."""
        source = chosen.source
        if source == made.KINSHIP:
            source = made.ENHANCED if made.ENHANCED in seen.merges else made.RAW
        labels, inside, between = self._with_known(seen, chosen, source)
        first = np.unique(self._known.together, return_index=True)[1]
        everyone = np.arange(len(seen.copy_of))
        one = np.concatenate([everyone, everyone])
        other = np.concatenate([first[self._known.together], seen.rows[seen.copy_of]])
        known = (one[one != other], other[one != other])
        per_unit = Judge.shipped().steepness / strangers_of(seen.spaces.features[source]).spread
        tree = tree_of(inside, between, seen.rows, known, per_unit, len(everyone))
        self._tree = tree if self.max_size is None else tree.limited(self.max_size)
        self._distinct = Distinct(seen.rows, seen.unit, seen.spaces, source, height_of_cut(inside, between))
        return labels

    def _with_known(self, seen: Survey, chosen: Candidate, source: int) -> tuple[NDArray[np.int64], Merges, Merges]:
        """Return the chosen clusters (m,) as constraints change them, the merges inside of them, and those between."""
        together, apart = seen.known
        X, neighbors = seen.spaces.features[source], seen.spaces.neighbors[source]
        labels, m = chosen.labels, len(seen.rows)
        linked = len(np.unique(together)) < m
        if chosen.source == made.KINSHIP:
            if linked:
                k = chosen.merges
                labels = kinship_groups(seen.spaces.nearest(2 * k), k, self.random_state, together)
            parts = tree_through(X, neighbors, labels, together=together)
        else:
            parts = seen.merges[source].split(chosen.merges)
            if linked:
                grown = agglomerate(X, neighbors, together=together)
                parts = grown.split(int((grown.similarity >= height_of_cut(*parts)).sum()))
                labels = clusters_after(parts[0], together)
        if len(apart):
            labels = kept_apart(X, labels, seen.known, height_of_cut(*parts))
            parts = tree_through(X, neighbors, labels, together=together, apart=apart)
        return labels, *parts


def _has_metric(enhancer: GraphEnhancer | Literal["auto"] | None) -> bool:
    """Tell whether an enhancer is fitted and moves rows by a metric before the kinship network sees them."""
    if not isinstance(enhancer, GraphEnhancer):
        return False
    check_is_fitted(enhancer)
    return enhancer.encoder_ is None and enhancer.pretrained
