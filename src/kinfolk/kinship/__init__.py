"""The tests of an edge at many scales, the shipped network that reads them, and every choice of k."""

from kinfolk.kinship.choose_k import choose_k
from kinfolk.kinship.edge_probabilities import kin_graph
from kinfolk.kinship.edge_tests import EdgeTests, edge_tests
from kinfolk.kinship.network import KinshipNetwork

__all__ = ["EdgeTests", "KinshipNetwork", "choose_k", "edge_tests", "kin_graph"]
