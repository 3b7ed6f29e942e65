"""Clusterers: scikit-learn estimators that take features or a NeighborGraph, one method a file."""

from kinfolk.cluster.base import Clusterer, Summary, summary
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
from kinfolk.cluster.sweep import Sweep

__all__ = [
    "DBSCAN",
    "HAC",
    "HDBSCAN",
    "ChineseWhispers",
    "Clusterer",
    "Finch",
    "GCut",
    "Infomap",
    "KMeans",
    "Kin",
    "Leiden",
    "Summary",
    "Sweep",
    "summary",
]
