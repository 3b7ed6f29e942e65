"""What Kin sees of a set before it decides: distinct rows, their features, trees, and candidate clusterings."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.boosted_trees import BoostedTrees
from kinfolk._core.progress import stage
from kinfolk._core.threads import deal
from kinfolk.cluster._internal import candidates as made
from kinfolk.cluster._internal.agglomerate import agglomerate
from kinfolk.cluster._internal.candidates import Candidate
from kinfolk.cluster._internal.constraints import Constraints, read_constraints
from kinfolk.cluster._internal.corrections import violated
from kinfolk.cluster._internal.distinct import among_distinct, exact_copies, free_rows
from kinfolk.cluster._internal.halves import Halves, halves_of
from kinfolk.cluster._internal.hierarchy import Merges
from kinfolk.cluster._internal.judge import most_agreed, over_neighboring_cuts
from kinfolk.cluster._internal.kin_edges import KinEdges, kin_edges
from kinfolk.cluster._internal.kinship_groups import k_around, kinship_groups
from kinfolk.cluster._internal.spaces import SCENE_NEIGHBORS, Spaces, centred, only_given, search, spaces_of
from kinfolk.cluster._internal.views import strangers_of
from kinfolk.cluster._internal.witnesses import support, witnesses_of
from kinfolk.enhance import GraphEnhancer
from kinfolk.kinship import KinshipNetwork
from kinfolk.kinship.choose_k import k_for_features
from kinfolk.neighbors import NeighborGraph
from kinfolk.neighbors.copies import graph_among, near_copies
from kinfolk.neighbors.ranked import cosines


class Survey(NamedTuple):
    """Distinct rows, seen from their given and from their enhanced features, with their trees.

    Shapes: copy_of (n,) which of the m distinct rows each row is; rows (m,) where they stand; near (m, 64) similarities
    of the features as they were given; halves: of the given and of the enhanced features; edges: the tests of some
    rows; common: the mean cosine of any two rows as given; merges, cuts, what is known of these, (c, 48), and how they
    agree, (c, c), of all trees; known: constraints on distinct rows; distance: up to which two rows are copies.
    """

    copy_of: NDArray[np.int64]
    rows: NDArray[np.int64]
    known: Constraints
    unit: NDArray[np.float32]
    near: NDArray[np.float32]
    spaces: Spaces
    halves: tuple[Halves, Halves]
    edges: KinEdges
    common: float
    witnesses: list[Candidate]
    merges: dict[int, Merges]
    cuts: list[Candidate]
    seen: NDArray[np.float32]
    agree: NDArray[np.float32]
    distance: float

    def groups(self, labels: NDArray[np.integer], seed: int) -> Candidate:
        """Return the groups of the kinship graph where clusters (m,) show about the right size."""
        k = k_around(labels, self.spaces.graph.k)
        return Candidate(kinship_groups(self.spaces.nearest(2 * k), k, seed), made.KINSHIP, k)

    def choose(self, judge: BoostedTrees, seed: int) -> tuple[Candidate, float]:
        """Return the best candidate, and how far it is below the best one possible, as a judge sees it."""
        found = judge(self.seen)
        score = over_neighboring_cuts(found + support(self.cuts, self.witnesses), made.sources(self.cuts))
        best = self.cuts[most_agreed(score, self.agree)]
        with stage("testing edges and grouping"):
            groups = [self.groups(best.labels, seed)]
        seen, agree = made.describe(groups, self.cuts, self.halves, self.edges, self.common)
        both = [*self.cuts, *groups]
        found = np.concatenate([found, judge(seen)])
        score = np.concatenate([score, found[-1:] + support(groups, self.witnesses)])
        score -= [violated(c.labels, self.known) for c in both]
        chosen = most_agreed(score, np.block([[self.agree, agree.T], [agree, np.ones((1, 1))]]))
        return both[chosen], float(found[chosen])


def survey_of(
    unit: NDArray[np.float32],
    known: Constraints | None = None,
    enhancer: GraphEnhancer | Literal["auto"] | None = "auto",
    seed: int = 0,
    k: int | None = None,
) -> Survey | None:
    """Return the survey of rows (n, d) of length one; None where all are copies of one.

    enhancer: as in Kin; None: the rows are taken as they are. k: of the propagation, chosen unless it is given.
    """
    known = read_constraints(len(unit)) if known is None else known
    rows, copy_of = exact_copies(unit, known)
    if len(rows) == 1:
        return None
    inner, X = among_distinct(known, copy_of), unit[rows]
    mean = X.mean(axis=0)
    common = float(mean @ mean)
    mean = np.zeros_like(mean) if enhancer is None else mean
    C = centred(X, mean)
    g = search(C, seed)
    near = cosines(X, g.indices[:, :SCENE_NEIGHBORS])
    first, which, distance = near_copies(g.indices[:, :SCENE_NEIGHBORS], near, free_rows(inner), X)
    if len(first) == 1:
        return None
    if len(first) < len(rows):
        rows, copy_of, X, C = rows[first], which[copy_of], X[first], C[first]
        inner = among_distinct(known, copy_of)
        g = graph_among(g, first, g.k // 2) or search(C, seed)
        near = cosines(X, g.indices[:, :SCENE_NEIGHBORS])
    with stage("enhancing"):
        fitted = enhancer if isinstance(enhancer, GraphEnhancer) else None
        spaces = only_given(C, mean, g) if enhancer is None else spaces_of(X, C, mean, g, fitted, seed, k)
    g = spaces.graph
    if spaces.learned is not None:
        near = cosines(X, g.indices[:, :SCENE_NEIGHBORS])
    with stage("building trees"):
        merges, cuts = _trees(spaces)
        halves = _halves(spaces)
        edges = kin_edges(g, spaces.k or k_for_features(KinshipNetwork.shipped(), g, seed))
    with stage("asking other methods"):
        witnesses = witnesses_of(spaces)
    with stage("comparing clusterings"):
        seen, agree = made.describe(cuts, cuts, halves, edges, common)
    return Survey(
        copy_of, rows, inner, X, near, spaces, halves, edges, common, witnesses, merges, cuts, seen, agree, distance
    )


def _trees(spaces: Spaces) -> tuple[dict[int, Merges], list[Candidate]]:
    """Return the average-linkage tree of each kind of features, and the cuts of all."""
    kinds = list(spaces.features)
    grown = deal(
        lambda kind: agglomerate(spaces.features[kind], spaces.neighbors[kind]),
        kinds,
    )
    merges, n = dict(zip(kinds, grown, strict=True)), len(spaces.best)
    cuts = [c for kind in kinds for c in made.cuts(merges[kind], n, kind, strangers_of(spaces.features[kind])[:2])]
    return merges, cuts


def _halves(spaces: Spaces) -> tuple[Halves, Halves]:
    """Return the halves of the given and of the enhanced features."""
    g = spaces.graph
    given = halves_of(spaces.features[made.RAW], g)
    if made.ENHANCED not in spaces.features:
        return given, given
    nearest = NeighborGraph(spaces.neighbors[made.ENHANCED], spaces.similarities, len(g), g.method, g.recall)
    return given, halves_of(spaces.best, nearest)
