"""The theory of multiple tests: bounds, exact tails, simulation, and estimates from a labelled graph."""

from kinfolk.theory.bounds import (
    Errors,
    Means,
    best_cut,
    chernoff_errors,
    exact_error_rates,
    mean_scores,
    min_tests,
    min_tests_real,
    multiple_test_errors,
    simulate,
    single_test_errors,
    threshold,
    threshold_real,
)
from kinfolk.theory.estimate import Estimate, estimate, labelled_threshold

__all__ = [
    "Errors",
    "Estimate",
    "Means",
    "best_cut",
    "chernoff_errors",
    "estimate",
    "exact_error_rates",
    "labelled_threshold",
    "mean_scores",
    "min_tests",
    "min_tests_real",
    "multiple_test_errors",
    "simulate",
    "single_test_errors",
    "threshold",
    "threshold_real",
]
