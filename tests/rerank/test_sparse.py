"""Sparse rows against dense matrices."""

import numpy as np
import pytest
from scipy import sparse

from kinfolk.rerank._sparse import SparseRows, add_rows


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(0)
    return ((rng.random((30, 30)) < 0.2) * rng.random((30, 30))).astype(np.float32)


def rows_of(matrix):
    csr = sparse.csr_array(matrix)
    return SparseRows(csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data)


def dense_of(rows, shape):
    return sparse.csr_array((rows.values, rows.columns, rows.starts), shape=shape).toarray()


@pytest.mark.parametrize("threads", ["1", "2"])
def test_sums_of_rows_equal_a_dense_sum(monkeypatch, matrix, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    members = np.random.default_rng(1).integers(0, 30, (30, 8)).astype(np.int32)[:, ::2]  # some twice
    total = add_rows(rows_of(matrix), members, 0.25)
    np.testing.assert_allclose(dense_of(total, (30, 30)), matrix[members].sum(axis=1) / 4, atol=1e-6)
    assert (total.starts.dtype, total.columns.dtype, total.values.dtype) == (np.int64, np.int32, np.float32)
    for a, b in zip(total.starts, total.starts[1:], strict=False):
        assert len(set(total.columns[a:b].tolist())) == b - a


def test_the_inverted_index_is_the_transpose_of_the_later_rows(matrix):
    found = rows_of(matrix).inverted(first=12)
    np.testing.assert_array_equal(dense_of(found, (30, 18)), matrix[12:].T)
