"""Similarities between neighbours: one test (Sim-S) and many (Sim-M)."""

from kinfolk.similarity.sim_m import sim_m
from kinfolk.similarity.sim_s import sim_s

__all__ = ["sim_m", "sim_s"]
