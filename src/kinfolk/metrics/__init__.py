"""Scores. Labels below zero mean unknown: such a row is of nobody's class."""

from kinfolk.metrics.pairs import Roc, edge_noise_rate, pair_auc, roc

__all__ = ["Roc", "edge_noise_rate", "pair_auc", "roc"]
