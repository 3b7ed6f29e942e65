"""Common neighbours against sets."""

import numpy as np
from scipy.sparse import csr_array

from kinfolk.cluster._internal.common_neighbors import common_neighbors


def test_common_neighbours_are_counted():
    rng = np.random.default_rng(0)
    dense = rng.random((30, 30)) < 0.2
    pairs = rng.integers(0, 30, (50, 2))
    expected = [(dense[i] & dense[j]).sum() for i, j in pairs]
    np.testing.assert_array_equal(common_neighbors(csr_array(dense * 0.1), pairs), expected)
