"""Scores. Labels below zero mean unknown: such a row is of nobody's class."""

from kinfolk.metrics.pairs import Roc, edge_noise_rate, pair_auc, roc
from kinfolk.metrics.retrieval import mean_average_precision

__all__ = ["Roc", "edge_noise_rate", "mean_average_precision", "pair_auc", "roc"]
