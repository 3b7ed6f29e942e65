"""Clusterers: scikit-learn estimators that take features or a NeighborGraph, one method a file."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinfolk.cluster._internal.base import Clusterer, Summary, summary
    from kinfolk.cluster._internal.sweep import Sweep
    from kinfolk.cluster.chinese_whispers import ChineseWhispers
    from kinfolk.cluster.dbscan import DBSCAN
    from kinfolk.cluster.finch import Finch
    from kinfolk.cluster.gcut import GCut
    from kinfolk.cluster.hac import HAC
    from kinfolk.cluster.hdbscan import HDBSCAN
    from kinfolk.cluster.infomap import Infomap
    from kinfolk.cluster.kin import Kin
    from kinfolk.cluster.kmeans import KMeans
    from kinfolk.cluster.learned._base import LearnedClusterer
    from kinfolk.cluster.learned.ada_nets import AdaNets
    from kinfolk.cluster.learned.clusformer import Clusformer
    from kinfolk.cluster.learned.star_fc import StarFC
    from kinfolk.cluster.leiden import Leiden

# each is imported when first used: scikit-learn, numba and faiss take a second to load, torch several
_MODULES = {
    "DBSCAN": "dbscan",
    "HAC": "hac",
    "HDBSCAN": "hdbscan",
    "AdaNets": "learned.ada_nets",
    "ChineseWhispers": "chinese_whispers",
    "Clusformer": "learned.clusformer",
    "Clusterer": "_internal.base",
    "Finch": "finch",
    "GCut": "gcut",
    "Infomap": "infomap",
    "KMeans": "kmeans",
    "Kin": "kin",
    "LearnedClusterer": "learned._base",
    "Leiden": "leiden",
    "StarFC": "learned.star_fc",
    "Summary": "_internal.base",
    "Sweep": "_internal.sweep",
    "summary": "_internal.base",
}

__all__ = [
    "DBSCAN",
    "HAC",
    "HDBSCAN",
    "AdaNets",
    "ChineseWhispers",
    "Clusformer",
    "Clusterer",
    "Finch",
    "GCut",
    "Infomap",
    "KMeans",
    "Kin",
    "LearnedClusterer",
    "Leiden",
    "StarFC",
    "Summary",
    "Sweep",
    "summary",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'kinfolk.cluster' has no attribute {name!r}")
    return getattr(import_module(f"kinfolk.cluster.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
