"""Clusterers: scikit-learn estimators that take features or a NeighborGraph, one method a file."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
from kinfolk.cluster.leiden import Leiden

if TYPE_CHECKING:
    from kinfolk.cluster.learned._base import LearnedClusterer
    from kinfolk.cluster.learned.ada_nets import AdaNets
    from kinfolk.cluster.learned.clusformer import Clusformer
    from kinfolk.cluster.learned.star_fc import StarFC

# imported when first used: these need torch, which takes seconds to load
_LEARNED = {
    "AdaNets": "kinfolk.cluster.learned.ada_nets",
    "Clusformer": "kinfolk.cluster.learned.clusformer",
    "LearnedClusterer": "kinfolk.cluster.learned._base",
    "StarFC": "kinfolk.cluster.learned.star_fc",
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
    if name not in _LEARNED:
        raise AttributeError(f"module 'kinfolk.cluster' has no attribute {name!r}")
    return getattr(import_module(_LEARNED[name]), name)
