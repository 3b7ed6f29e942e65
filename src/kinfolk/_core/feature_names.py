"""scikit-learn's contract about the columns of a table: those of the fit, in that order, or an error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from kinfolk._core.errors import InputError
from kinfolk._core.frames import is_frame, titles_of


def remember_columns(estimator: Any, X: object, matrix: NDArray[Any]) -> None:
    """Set `n_features_in_` and, for a table with texts as titles, `feature_names_in_`; matrix: X as an array (n, d)."""
    _validated(estimator, X, matrix, reset=True)


def check_columns(estimator: Any, X: object, matrix: NDArray[Any]) -> None:
    """Raise InputError where X has other columns than the table of the fit, or the same in another order."""
    if hasattr(estimator, "feature_names_in_") or is_frame(X):
        _validated(estimator, X, matrix, reset=False)


def saved_columns(estimator: Any) -> dict[str, list[str]]:
    """Return the titles of a fit on a table as a fact for a model folder; nothing after a fit on an array."""
    names = getattr(estimator, "feature_names_in_", None)
    return {} if names is None else {"feature_names": [str(name) for name in names]}


def restore_columns(estimator: Any, names: list[str] | None) -> None:
    """Set the titles of a model folder, one for each of `n_features_in_`."""
    if names is None:
        return
    if len(names) != estimator.n_features_in_:
        raise InputError(f"feature_names has {len(names)} titles, but n_features is {estimator.n_features_in_}")
    estimator.feature_names_in_ = np.array(names, dtype=object)


def _validated(estimator: Any, X: object, matrix: NDArray[Any], reset: bool) -> None:
    is_wide = is_frame(X) and len(titles_of(X)) == matrix.shape[1]  # not one column of vectors
    try:
        validate_data(estimator, X if is_wide else matrix, skip_check_array=True, reset=reset)
    except (ValueError, TypeError) as error:
        raise InputError(str(error)) from error
