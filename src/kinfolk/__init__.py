"""kinfolk finds which embeddings belong together.

>>> import kinfolk as kf
>>> fs = kf.datasets.digits()
>>> g = kf.knn_graph(fs, k=10)
>>> g.indices.shape
(1797, 10)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kinfolk.errors import InputError, KinfolkError, MissingExtraError
from kinfolk.features import FeatureSet

if TYPE_CHECKING:
    from kinfolk import cluster, datasets, metrics, rerank, theory
    from kinfolk.enhance import GraphEnhancer
    from kinfolk.formats import load
    from kinfolk.neighbors import NeighborGraph, knn_graph
    from kinfolk.similarity import choose_k, explain, prune, sim_m, sim_s

__version__ = "0.1.0"

# imported when first used: `import kinfolk` and `kinfolk --help` stay quick although faiss, numba and torch are not
_LAZY = {
    "cluster": "kinfolk.cluster",
    "datasets": "kinfolk.datasets",
    "metrics": "kinfolk.metrics",
    "rerank": "kinfolk.rerank",
    "GraphEnhancer": "kinfolk.enhance",
    "load": "kinfolk.formats",
    "knn_graph": "kinfolk.neighbors",
    "NeighborGraph": "kinfolk.neighbors",
    "sim_s": "kinfolk.similarity",
    "sim_m": "kinfolk.similarity",
    "explain": "kinfolk.similarity",
    "prune": "kinfolk.similarity",
    "choose_k": "kinfolk.similarity",
    "theory": "kinfolk.theory",
}

__all__ = [
    "FeatureSet",
    "GraphEnhancer",
    "InputError",
    "KinfolkError",
    "MissingExtraError",
    "NeighborGraph",
    "choose_k",
    "cluster",
    "datasets",
]
__all__ += ["explain", "knn_graph", "load", "metrics", "prune", "rerank", "sim_m", "sim_s", "theory"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'kinfolk' has no attribute {name!r}")
    module = import_module(_LAZY[name])
    return module if module.__name__ == f"kinfolk.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
