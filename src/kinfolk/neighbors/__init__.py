"""Neighbour graphs: which vectors lie next to which."""

from kinfolk.neighbors.graph import NeighborGraph
from kinfolk.neighbors.search import knn_graph

__all__ = ["NeighborGraph", "knn_graph"]
