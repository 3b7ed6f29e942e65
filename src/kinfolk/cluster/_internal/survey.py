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
from kinfolk.cluster._internal.facts import Scene, scene, strangers_of
from kinfolk.cluster._internal.halves import Halves, halves_of
from kinfolk.cluster._internal.hierarchy import Merges
from kinfolk.cluster._internal.judge import most_agreed, over_neighboring_cuts
from kinfolk.cluster._internal.kinship_groups import kinship_groups, ks_around
from kinfolk.cluster._internal.near_copies import among_distinct, exact_copies, near_copies, without_copies
from kinfolk.cluster._internal.spaces import SCENE_NEIGHBORS, Spaces, centred, cosines, only_given, search, spaces_of
from kinfolk.enhance import GraphEnhancer


class Survey(NamedTuple):
    """Distinct rows, seen from their given and from their enhanced features, with their trees.

    Shapes: copy_of (n,) which of the m distinct rows each row is; rows (m,) where they stand; near (m, 64) similarities
    of the features as they were given; scenes: given, enhanced; halves: of the
    given features; merges, cuts, what is known of these, (c, 160), and how
    they agree, (c, c), of all trees; known: constraints on distinct rows; distance: up to which two rows are copies.
    """

    copy_of: NDArray[np.int64]
    rows: NDArray[np.int64]
    known: Constraints
    unit: NDArray[np.float32]
    near: NDArray[np.float32]
    spaces: Spaces
    scenes: tuple[Scene, Scene]
    halves: Halves
    merges: dict[int, Merges]
    cuts: list[Candidate]
    seen: NDArray[np.float32]
    agree: NDArray[np.float32]
    distance: float

    def groups(self, labels: NDArray[np.integer], seed: int) -> list[Candidate]:
        """Return the groups of the kinship graph where clusters (m,) show about the right size."""
        ks = ks_around(labels, self.spaces.graph.k)
        g = self.spaces.nearest(2 * ks[-1])
        return [Candidate(kinship_groups(g, k, seed), made.KINSHIP, k) for k in ks]

    def choose(self, judge: BoostedTrees, seed: int) -> tuple[Candidate, float]:
        """Return the best candidate, and how far it is below the best one possible, as a judge sees it."""
        trees = made.sources(self.cuts)
        with stage("judging"):
            score = over_neighboring_cuts(judge(made.beside_the_average(self.seen, trees, self.seen, trees)), trees)
            best = self.cuts[most_agreed(score, self.agree)]
        with stage("testing edges and grouping"):
            groups = self.groups(best.labels, seed)
            seen, agree = made.describe(groups, self.cuts, self.halves, *self.scenes)
        more = judge(made.beside_the_average(seen, made.sources(groups), self.seen, trees))
        both = [*self.cuts, *groups]
        score = np.concatenate([score, more]) - [violated(c.labels, self.known) for c in both]
        chosen = most_agreed(score, np.block([[self.agree, agree.T], [agree, made.agreement(groups, groups)]]))
        return both[chosen], float(score[chosen])


def survey_of(
    unit: NDArray[np.float32],
    known: Constraints | None = None,
    enhancer: GraphEnhancer | Literal["auto"] | None = "auto",
    seed: int = 0,
) -> Survey | None:
    """Return the survey of rows (n, d) of length one; None where all are copies of one.

    enhancer: as in Kin; None: the rows are taken as they are.
    """
    known = read_constraints(len(unit)) if known is None else known
    rows, copy_of = exact_copies(unit, known)
    if len(rows) == 1:
        return None
    inner, X = among_distinct(known, copy_of), unit[rows]
    mean = np.zeros(X.shape[1], dtype=np.float32) if enhancer is None else X.mean(axis=0)
    C = centred(X, mean)
    g = search(C, seed)
    near = cosines(X, g.indices[:, :SCENE_NEIGHBORS])
    first, which, distance = near_copies(g.indices, near, inner)
    if len(first) == 1:
        return None
    if len(first) < len(rows):
        rows, copy_of, X, C = rows[first], which[copy_of], X[first], C[first]
        inner = among_distinct(known, copy_of)
        g = without_copies(g, first, which, g.k // 2) or search(C, seed)
        near = cosines(X, g.indices[:, :SCENE_NEIGHBORS])
    with stage("enhancing"):
        fitted = enhancer if isinstance(enhancer, GraphEnhancer) else None
        spaces = only_given(C, mean, g) if enhancer is None else spaces_of(X, C, mean, g, fitted, seed)
    scenes = (
        scene(X, g.indices, near),
        scene(spaces.best, spaces.neighbors.get(made.ENHANCED, g.indices), spaces.similarities),
    )
    with stage("building trees"):
        merges, cuts = _trees(spaces)
        halves = halves_of(C, g)
    with stage("looking at cuts"):
        seen, agree = made.describe(cuts, cuts, halves, *scenes)
    return Survey(copy_of, rows, inner, X, near, spaces, scenes, halves, merges, cuts, seen, agree, distance)


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
