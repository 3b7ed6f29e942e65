"""Infomap: clusters within which a random walk remains (Rosvall and Bergstrom 2008); infomap 2, GPL, an extra."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kinfolk._core.checks import LARGEST, check_number, check_whole
from kinfolk._core.errors import MissingExtraError
from kinfolk.cluster._internal.base import Clusterer, rows_of
from kinfolk.features import Matrix
from kinfolk.kinship.choose_k import CLOSURE_KS, choose_k
from kinfolk.neighbors import NeighborGraph, knn_graph
from kinfolk.similarity import auto_threshold, sim_m

MOST_NEIGHBORS = 80  # that k="auto" chooses from: those of G-cut
BLOCK_LINKS = 1 << 20  # passed to infomap at once: 24 MB


class Infomap(Clusterer):
    r"""Two-level Infomap on the neighbour graph: the partition that describes a random walk in the fewest bits.

    minimise  L(M) = q H(Q) + sum over clusters c of  p_c H(P_c)                             (the map equation)

    Parameters
    ----------
    k : neighbours of each row; "auto": as many of up to 80 as have the most closed neighbourhoods (`choose_k`).
    threshold : which edges are used. "auto": those that `kf.prune` keeps, without labels, which bounds the memory;
        a number: cosines from there on; None: all edges.
    trials : starts, of which the best is taken.
    max_size : no cluster gets larger.
    random_state : the same number gives the same clusters.
    verbose : say on standard error what is done, and how long.

    Attributes
    ----------
    labels_ : (n,) clusters by falling size; rows without an edge are clusters of one.
    graph_ : the neighbour graph.

    Links are weighted by cosine. Memory: about 2 KB a row at k = 20 (docs/benchmarks.md), more where k is larger.
    Needs `pip install "kinfolk[infomap]"` (GPL).

    Examples
    --------
    >>> X = np.eye(3).repeat(6, axis=0) + 0.1 * np.random.default_rng(0).random((18, 3))
    >>> Infomap(k=5).fit(X).n_clusters_
    3
    """

    def __init__(  # noqa: D107
        self,
        k: int | Literal["auto"] = "auto",
        threshold: float | Literal["auto"] | None = "auto",
        trials: int = 1,
        *,
        max_size: int | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.k = k
        self.threshold = threshold
        self.trials = trials
        self.max_size = max_size
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        super()._check_settings()
        check_whole("k", self.k, auto=True)
        check_whole("trials", self.trials)
        if self.threshold is not None:
            check_number("threshold", self.threshold, auto=True)

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        infomap = _infomap()
        g = self._neighbors(X)
        links = _links(g, self._kept(g))
        labels = np.arange(len(g)) + len(g)  # above all module numbers: rows without a link keep their own
        if links.nnz == 0:
            return labels
        program = infomap.Infomap(
            two_level=True, silent=True, seed=self.random_state % LARGEST + 1, num_trials=self.trials
        )
        for start in range(0, links.nnz, BLOCK_LINKS):
            part = slice(start, start + BLOCK_LINKS)
            program.add_links(np.stack([links.row[part], links.col[part], links.data[part]], axis=1).astype(np.float64))
        del links
        for node, module in program.run().modules().items():
            labels[node] = module
        return labels

    def _neighbors(self, X: Matrix | NeighborGraph) -> NeighborGraph:
        if self.k != "auto":
            return self._graph(X, self.k)
        most = min(MOST_NEIGHBORS, X.k if isinstance(X, NeighborGraph) else rows_of(X) - 1)
        g = X.restrict(most) if isinstance(X, NeighborGraph) else knn_graph(X, most)
        self.graph_ = g.restrict(choose_k(g)) if most >= CLOSURE_KS[0] else g
        return self.graph_

    def _kept(self, g: NeighborGraph) -> NDArray[np.bool_]:
        if self.threshold is None:
            return np.asarray(g.similarities) > 0
        if self.threshold == "auto":
            return (sim_m(g) >= auto_threshold(g)) & (np.asarray(g.similarities) > 0)
        return np.asarray(g.similarities) >= np.float32(max(float(self.threshold), 1e-6))


def _links(g: NeighborGraph, kept: NDArray[np.bool_]) -> sparse.coo_array:
    """Return the kept edges, each once, as the upper triangle (n, n)."""
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    matrix = sparse.csr_array((np.asarray(g.similarities)[kept], np.asarray(g.indices)[kept], starts), (len(g), len(g)))
    return sparse.triu(matrix.maximum(matrix.T), k=1).tocoo()


def _infomap() -> Any:
    try:
        import infomap
    except ImportError as error:
        raise MissingExtraError("infomap", "infomap") from error
    return infomap
