"""The columns of a table at the fit and after it."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator

from kinfolk._core.errors import InputError
from kinfolk._core.feature_names import check_columns, remember_columns, restore_columns, saved_columns

X = np.arange(6.0).reshape(3, 2)
KINDS = [pd.DataFrame, pl.DataFrame, pa.table]


def fitted(table):
    estimator = BaseEstimator()
    remember_columns(estimator, table, X)
    return estimator


@pytest.mark.parametrize("table", KINDS)
def test_the_columns_of_the_fit_in_their_order(table):
    a, b = X.T
    estimator = fitted(table({"a": a, "b": b}))
    assert estimator.feature_names_in_.tolist() == ["a", "b"]
    assert estimator.n_features_in_ == 2
    for other in KINDS:
        check_columns(estimator, other({"a": a, "b": b}), X)
        with pytest.raises(InputError, match="same order as they were in fit"):
            check_columns(estimator, other({"b": b, "a": a}), X)
        with pytest.raises(InputError, match="unseen at fit time:\n- c"):
            check_columns(estimator, other({"a": a, "c": b}), X)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        check_columns(estimator, X, X)


def test_arrays_and_columns_of_vectors_have_no_titles():
    for plain in (X, X.tolist(), pd.DataFrame({"emb": list(X)})):
        estimator = fitted(plain)
        assert not hasattr(estimator, "feature_names_in_")
        assert estimator.n_features_in_ == 2
        check_columns(estimator, X, X)


def test_a_second_fit_forgets_the_first():
    estimator = fitted(pd.DataFrame(X, columns=["a", "b"]))
    remember_columns(estimator, X, X)
    assert not hasattr(estimator, "feature_names_in_")


def test_titles_are_saved_and_restored():
    estimator = fitted(pd.DataFrame(X, columns=["a", "b"]))
    assert saved_columns(estimator) == {"feature_names": ["a", "b"]}
    assert saved_columns(fitted(X)) == {}
    other = fitted(X)
    restore_columns(other, None)
    assert not hasattr(other, "feature_names_in_")
    restore_columns(other, ["a", "b"])
    check_columns(other, pd.DataFrame(X, columns=["a", "b"]), X)
    with pytest.raises(InputError, match="feature_names has 3 titles, but n_features is 2"):
        restore_columns(other, ["a", "b", "c"])
