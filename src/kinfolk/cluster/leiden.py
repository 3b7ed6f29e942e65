"""Leiden: communities by moving rows, refining and merging (Traag et al. 2019); leidenalg, GPL, an extra."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.checks import LARGEST, check_choice, check_whole
from kinfolk._core.errors import InputError, MissingExtraError
from kinfolk.cluster._internal.base import Clusterer
from kinfolk.features import Matrix
from kinfolk.neighbors import NeighborGraph


class Leiden(Clusterer):
    r"""Communities of the neighbour graph, edges weighted by cosine.

    modularity  maximise  sum over communities of  e_c - resolution K_c^2 / 4m
    cpm         maximise  sum over communities of  e_c - resolution n_c (n_c - 1) / 2

    e_c: weight of the edges within c; K_c: of their ends; n_c: rows; m: weight of all edges

    Parameters
    ----------
    k : neighbours of each row.
    objective : "modularity" or "cpm" (the constant Potts model).
    resolution : higher means more and smaller clusters; 1 is usual for modularity, cpm needs about the edge density
        within a cluster.
    iterations : of the algorithm; below zero until nothing changes.
    max_size : no cluster gets larger.
    random_state : the same number gives the same clusters.
    verbose : say on standard error what is done, and how long.

    Attributes
    ----------
    labels_ : (n,) clusters by falling size.
    graph_ : the neighbour graph.

    Needs `pip install "kinfolk[leiden]"` (igraph and leidenalg, both GPL).

    Examples
    --------
    >>> X = np.eye(3).repeat(6, axis=0) + 0.1 * np.random.default_rng(0).random((18, 3))
    >>> Leiden(k=5).fit(X).n_clusters_
    3
    """

    def __init__(  # noqa: D107
        self,
        k: int = 20,
        objective: Literal["modularity", "cpm"] = "modularity",
        resolution: float = 1.0,
        iterations: int = 2,
        *,
        max_size: int | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.k = k
        self.objective = objective
        self.resolution = resolution
        self.iterations = iterations
        self.max_size = max_size
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("objective", self.objective, ("modularity", "cpm"))
        check_whole("k", self.k)
        check_whole("iterations", self.iterations, least=-LARGEST)
        if not self.resolution > 0:
            raise InputError(f"resolution must be positive, not {self.resolution!r}")

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        leidenalg = _leidenalg()
        kinds = {"modularity": leidenalg.RBConfigurationVertexPartition, "cpm": leidenalg.CPMVertexPartition}
        graph = self._graph(X, self.k).to_igraph()
        graph.es["weight"] = np.maximum(graph.es["weight"], 0.0)  # negative cosines: no link
        found = leidenalg.find_partition(
            graph,
            kinds[self.objective],
            weights="weight",
            n_iterations=self.iterations,
            seed=self.random_state,
            resolution_parameter=self.resolution,
        )
        return np.asarray(found.membership)


def _leidenalg() -> Any:
    try:
        import leidenalg
    except ImportError as error:
        raise MissingExtraError("leiden", "leidenalg") from error
    return leidenalg
