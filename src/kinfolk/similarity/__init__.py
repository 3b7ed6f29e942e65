"""Similarities of neighbours: one test (Sim-S), many (Sim-M), the graph without unlikely edges, the tests of a pair."""

from kinfolk.similarity.closure import TooManyNeighborsWarning, closure
from kinfolk.similarity.explain import Explanation, explain
from kinfolk.similarity.prune import Pruned, auto_threshold, prune
from kinfolk.similarity.sim_m import sim_m
from kinfolk.similarity.sim_s import sim_s

__all__ = [
    "Explanation",
    "Pruned",
    "TooManyNeighborsWarning",
    "auto_threshold",
    "closure",
    "explain",
    "prune",
    "sim_m",
    "sim_s",
]
