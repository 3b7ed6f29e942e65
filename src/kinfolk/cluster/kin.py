r"""Kin: the recommended clusterer. Nothing to set, no labels, classes of any size.

0. Near copies are one row (`kinfolk.cluster._internal.near_copies`), what the user knows is read
   (`kinfolk.cluster._internal.constraints`).
1. Features are enhanced without labels (`kinfolk.GraphEnhancer`), unless they are already (`FeatureSet.enhanced`).
2. Candidates are made: cuts of the average-linkage trees of the raw and of the enhanced features, and the groups of the
   kinship graph at the k that fits the classes best (`kinfolk.cluster._internal.candidates`).
3. A judge that was trained on generated sets picks one by what can be seen without labels: how near rows are to their
   own cluster and to the next, how many of their neighbours are inside, how well the candidates agree
   (`kinfolk.cluster._internal.judge`). There is no threshold to guess.
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
from kinfolk.cluster._internal import candidates as made
from kinfolk.cluster._internal.agglomerate import agglomerate, tree_through
from kinfolk.cluster._internal.base import Clusterer, by_size, rows_of
from kinfolk.cluster._internal.candidates import Candidate
from kinfolk.cluster._internal.constraints import Constraints, read_constraints
from kinfolk.cluster._internal.facts import Scene, scene
from kinfolk.cluster._internal.hierarchy import Merges
from kinfolk.cluster._internal.joining import join
from kinfolk.cluster._internal.judge import Judge
from kinfolk.cluster._internal.membership import membership, whole
from kinfolk.cluster._internal.near_copies import NEIGHBORS, ROUNDING, among_distinct, near_copies
from kinfolk.cluster._internal.potts import group_by_potts
from kinfolk.cluster._internal.tree import Tree, height_of_cut, tree_of
from kinfolk.enhance import GraphEnhancer
from kinfolk.features import FeatureSet, Matrix, UnitRows, unit_rows
from kinfolk.kinship import KinshipNetwork, kin_graph
from kinfolk.kinship.choose_k import k_for_clusters, neighbors_to_choose
from kinfolk.neighbors import NeighborGraph, knn_graph

log = logging.getLogger(__name__)
EVEN_ODDS = 0.5
SOURCES = ("tree of the raw features", "tree of the enhanced features", "kinship graph")


class Survey(NamedTuple):
    """Distinct rows seen from their raw and their enhanced features, and the candidates.

    Shapes: copy_of (n,) which of the m distinct rows each row is; rows (m,) where they stand; scenes, graphs, merges:
    raw, then enhanced; known: constraints on distinct rows; k: that of the kinship groups.
    """

    copy_of: NDArray[np.int64]
    rows: NDArray[np.int64]
    known: Constraints
    features: tuple[NDArray[np.float32], NDArray[np.float32]]
    graphs: tuple[NeighborGraph, NeighborGraph]
    scenes: tuple[Scene, Scene]
    merges: tuple[Merges, Merges]
    candidates: list[Candidate]
    k: int


class Distinct(NamedTuple):
    """What new rows are compared with.

    Shapes: rows (m,) where the distinct rows stand; raw (m, d) their features; space (m, d') those in which the tree
    was grown; enhancer: what made these of the raw ones; least: the mean similarity at which the tree was cut.
    """

    rows: NDArray[np.int64]
    raw: NDArray[np.float32]
    space: NDArray[np.float32]
    enhancer: GraphEnhancer | None
    least: float


class Kin(Clusterer):
    """Clusters without a threshold to guess: see the module's text.

    Parameters
    ----------
    enhancer : "auto": enhance without labels; None: take the features as they are; or a fitted GraphEnhancer, whose
        features are used, and the size of its classes where it saw labels. A FeatureSet that is marked as enhanced is
        never enhanced again.
    must_link, cannot_link : pairs of rows (m, 2) that are in one cluster, and that are not, at every cut. What follows
        from them holds too; a contradiction is refused.
    max_size : no cluster gets larger.
    random_state : the same number gives the same clusters.
    verbose : say on standard error what is done, and how long.

    Attributes
    ----------
    labels_ : (n,) clusters by falling size; a row without kin is a cluster of its own.
    probabilities_ : (n,) how probably a row is of the class that most rows of its cluster are of. The mean over the
        rows is the purity to expect.
    second_ : (n,) the next best cluster of each row; -1 where its neighbours are in no other.
    k_ : about the size of a class, as the kinship graph sees it.
    features_ : the features given.

    Works on features only. Memory: the graph of up to 384 neighbours, 16 bytes for each of its edges that is likely,
    and six copies of the features.

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
        new = unit_rows(self._new_rows(X))
        rows = self._distinct
        nearest = knn_graph(UnitRows(rows.raw), 1, queries=UnitRows(new), show_progress=False)
        copies = 2 - 2 * nearest.similarities[:, 0] <= self._copy_distance**2
        joined = self.labels_[rows.rows]
        result = np.where(copies, joined[nearest.indices[:, 0]], -1)
        if not copies.all():
            result[~copies] = join(self._in_space(new[~copies]), rows.space, joined, rows.least)
        return result

    def _in_space(self, new: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return new rows as the features in which the tree was grown."""
        known = self._distinct
        if known.space is known.raw or known.enhancer is None:
            return new
        return known.enhancer.transform(UnitRows(new), reference=UnitRows(known.raw), nearest_scale=False)

    def _check_settings(self) -> None:
        super()._check_settings()
        fitted = isinstance(self.enhancer, GraphEnhancer)
        if not (fitted or self.enhancer is None or self.enhancer == "auto"):
            raise InputError(f'enhancer must be "auto", None or a fitted GraphEnhancer, not {self.enhancer!r}')

    def _remember(self, X: Matrix, matrix: NDArray[Any]) -> None:
        super()._remember(X, matrix)
        if isinstance(self.enhancer, GraphEnhancer):
            check_columns(self.enhancer, X, matrix)

    def _fit(self, X: Matrix | NeighborGraph) -> None:
        self._known = read_constraints(rows_of(X), self.must_link, self.cannot_link)
        if self.max_size is not None and (np.bincount(self._known.together) > self.max_size).any():
            raise InputError(f"must_link joins more than max_size={self.max_size} rows: one of them must give way")
        super()._fit(X)
        if len(self.labels_) == 1:
            self._copy_distance = ROUNDING
            self._all_copies(self._unit(X))

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        unit = self._unit(X)
        seen = self.survey(unit, isinstance(X, FeatureSet) and X.enhanced)
        if seen is None:
            self._all_copies(unit)
            return self._tree.cut(EVEN_ODDS)
        self.k_ = seen.k
        with stage("judging"):
            score = Judge.shipped().clusterings(made.describe(seen.candidates, *seen.scenes, seen.k))
        best = int(score.argmax())
        chosen = seen.candidates[best]
        log.info("%d clusters by the %s", chosen.labels.max() + 1, SOURCES[chosen.source])
        with stage("building the tree"):
            self._grow_tree(seen, chosen)
        with stage("probabilities"):
            raw, enhanced = (
                whole(Z, g.indices, g.similarities) for Z, g in zip(seen.features, seen.graphs, strict=True)
            )
            sure = membership(raw, enhanced, chosen.labels, float(score[best]))
        labels = by_size(self._tree.cut(EVEN_ODDS))
        self.probabilities_ = sure.probability[seen.copy_of]
        number = labels[seen.rows][np.unique(chosen.labels, return_index=True)[1]]
        self.second_ = np.append(number, -1)[sure.second][seen.copy_of]
        return labels

    def _all_copies(self, unit: NDArray[np.float32]) -> None:
        """Keep that all rows (n, d) show one thing."""
        n = len(unit)
        self.k_ = 1
        self.probabilities_ = np.ones(n, dtype=np.float32)
        self.second_ = np.full(n, -1)
        one = Tree(np.zeros(n - 1, np.int32), np.arange(1, n, dtype=np.int32), np.ones(n - 1), n)
        self._tree = one if self.max_size is None else one.limited(self.max_size)
        self._distinct = Distinct(np.zeros(1, dtype=np.int64), unit[:1], unit[:1], None, 1.0)

    def survey(self, unit: NDArray[np.float32], enhanced: bool = False) -> Survey | None:
        """Return the distinct rows of (n, d) and their candidates; None where all rows are copies of one.

        enhanced: the rows are taken as they are.
        """
        known = getattr(self, "_known", read_constraints(len(unit)))
        copies = near_copies(unit, known)
        self._copy_distance = ROUNDING if copies is None else copies.distance
        if copies is None or len(copies.rows) == 1:
            return None
        copy_of, rows, g, _ = copies
        if len(rows) < len(unit):
            unit, known = unit[rows], among_distinct(known, copy_of)
        Z = self._enhanced(unit, enhanced)
        wide = max(neighbors_to_choose(len(Z)), min(NEIGHBORS, len(Z) - 1))
        h = knn_graph(UnitRows(Z), wide)
        scenes = (scene(unit, g.indices, g.similarities), scene(Z, h.indices, h.similarities))
        with stage("building trees"):
            together, apart = known
            merges = (
                agglomerate(unit, g.indices, together=together, apart=apart),
                agglomerate(Z, h.indices, together=together, apart=apart),
            )
        cuts = [cut for source in (made.RAW, made.ENHANCED) for cut in made.cuts(merges[source], known, source)]
        k, groups = self._kinship_groups(h.restrict(neighbors_to_choose(len(Z))), known)
        candidates = [*cuts, Candidate(groups, made.KINSHIP, 0)]
        return Survey(copy_of, rows, known, (unit, Z), (g, h), scenes, merges, candidates, k)

    def _kinship_groups(self, g: NeighborGraph, known: Constraints) -> tuple[int, NDArray[np.int64]]:
        net = KinshipNetwork.shipped()
        with stage("choosing k"):
            k = k_for_clusters(net, g, self.random_state, getattr(self.enhancer, "class_size_", None))
        log.info("k %d: about the size of a class", k)
        with stage("testing edges"):
            kin = kin_graph(net, g, k)
        with stage("grouping"):
            together, apart = known
            return k, group_by_potts(kin, EVEN_ODDS, self.random_state, together=together, apart=apart)

    def _grow_tree(self, seen: Survey, chosen: Candidate) -> None:
        """Keep the tree through the chosen clusters, and the features in which it was grown."""
        space = made.RAW if chosen.source == made.RAW else made.ENHANCED
        if chosen.source == made.KINSHIP:
            together, apart = seen.known
            inside, between = tree_through(
                seen.features[space], seen.graphs[space].indices, chosen.labels, together=together, apart=apart
            )
        else:
            inside, between = seen.merges[space].split(chosen.merges)
        first = np.unique(self._known.together, return_index=True)[1]
        everyone = np.arange(len(seen.copy_of))
        one = np.concatenate([everyone, everyone])
        other = np.concatenate([first[self._known.together], seen.rows[seen.copy_of]])
        known = (one[one != other], other[one != other])
        per_unit = Judge.shipped().steepness / seen.scenes[space].spread
        tree = tree_of(inside, between, seen.rows, known, per_unit, len(everyone))
        self._tree = tree if self.max_size is None else tree.limited(self.max_size)
        least = height_of_cut(inside, between)
        self._distinct = Distinct(seen.rows, seen.features[0], seen.features[space], self._enhancer, least)

    def _enhanced(self, unit: NDArray[np.float32], already: bool) -> NDArray[np.float32]:
        self._enhancer: GraphEnhancer | None = None
        if self.enhancer is None or already:
            return unit
        if isinstance(self.enhancer, GraphEnhancer):
            self._enhancer = self.enhancer
            return self.enhancer.transform(UnitRows(unit), nearest_scale=False)
        self._enhancer = GraphEnhancer(random_state=self.random_state)
        return self._enhancer.fit_transform(UnitRows(unit), nearest_scale=False)
