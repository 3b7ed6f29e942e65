"""Similarities between neighbours: one test (Sim-S), many (Sim-M), and the tests behind a pair."""

from kinfolk.similarity.explain import Explanation, explain
from kinfolk.similarity.sim_m import sim_m
from kinfolk.similarity.sim_s import sim_s

__all__ = ["Explanation", "explain", "sim_m", "sim_s"]
