"""What every test may use."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the real feature sets are not here: {folder} is missing")
    return folder


@pytest.fixture(scope="session")
def own_sentences() -> dict[str, str]:
    """Name the checks of scikit-learn that no estimator here is meant to pass, and why."""
    return {
        "check_estimators_dtypes": "its rows hold a zero vector, which has no direction",
        "check_n_features_in_after_fitting": "the sentence about wrong dimensions is our own",
        "check_complex_data": "the sentence about complex numbers is our own",
        "check_dtype_object": "object arrays may hold anything and are refused",
        "check_estimators_empty_data_messages": "the sentence about empty data is our own",
        "check_estimator_sparse_tag": "the sentence about sparse features is our own",
        "check_estimator_sparse_array": "the sentence about sparse features is our own",
        "check_estimator_sparse_matrix": "the sentence about sparse features is our own",
        "check_fit2d_predict1d": "the sentence about one-dimensional features is our own",
    }
