"""kinfolk finds which embeddings belong together.

>>> import kinfolk as kf
>>> fs = kf.datasets.digits()
>>> g = kf.knn_graph(fs, k=10)
>>> g.indices.shape
(1797, 10)
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kinfolk._core.errors import DiskFullError, InputError, KinfolkError, MissingExtraError
from kinfolk._core.version import __version__
from kinfolk.features import FeatureSet
from kinfolk.formats import load

if TYPE_CHECKING:
    from kinfolk import cluster, datasets, metrics, rerank, theory
    from kinfolk import nn as nn
    from kinfolk.enhance import GraphEnhancer
    from kinfolk.kinship import choose_k
    from kinfolk.neighbors import NeighborGraph, knn_graph
    from kinfolk.similarity import explain, prune, sim_m, sim_s

# imported when first used: `import kinfolk` and `kinfolk --help` stay quick although faiss and numba are not
_LAZY = {
    "cluster": "kinfolk.cluster",
    "datasets": "kinfolk.datasets",
    "metrics": "kinfolk.metrics",
    "rerank": "kinfolk.rerank",
    "GraphEnhancer": "kinfolk.enhance",
    "knn_graph": "kinfolk.neighbors",
    "NeighborGraph": "kinfolk.neighbors",
    "sim_s": "kinfolk.similarity",
    "sim_m": "kinfolk.similarity",
    "explain": "kinfolk.similarity",
    "prune": "kinfolk.similarity",
    "choose_k": "kinfolk.kinship",
    "theory": "kinfolk.theory",
    "nn": "kinfolk.nn",  # not in __all__: it needs torch
}
logging.getLogger("kinfolk").addHandler(logging.NullHandler())

__all__ = [
    "DiskFullError",
    "FeatureSet",
    "GraphEnhancer",
    "InputError",
    "KinfolkError",
    "MissingExtraError",
    "NeighborGraph",
    "__version__",
    "choose_k",
    "cluster",
    "datasets",
    "explain",
    "knn_graph",
    "load",
    "metrics",
    "prune",
    "rerank",
    "sim_m",
    "sim_s",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'kinfolk' has no attribute {name!r}")
    module = import_module(_LAZY[name])
    return module if module.__name__ == f"kinfolk.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
