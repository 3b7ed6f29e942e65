"""Similarities between neighbours: one test (Sim-S), many (Sim-M), the cleaner graph, and the tests behind a pair."""

from kinfolk.similarity.closure import TooManyNeighborsWarning, choose_k, closure
from kinfolk.similarity.explain import Explanation, explain
from kinfolk.similarity.prune import Pruned, auto_threshold, prune
from kinfolk.similarity.scales import ScaleTests, scale_tests
from kinfolk.similarity.sim_m import sim_m
from kinfolk.similarity.sim_s import sim_s

__all__ = [
    "Explanation",
    "Pruned",
    "ScaleTests",
    "TooManyNeighborsWarning",
    "auto_threshold",
    "choose_k",
    "closure",
    "explain",
    "prune",
    "scale_tests",
    "sim_m",
    "sim_s",
]
