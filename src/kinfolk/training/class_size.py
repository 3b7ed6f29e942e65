r"""The size of a class, as labels tell it: what `kinfolk.cluster.Kin` would else have to read off the graph.

    size = mean over rows i of |class of i| = sum over classes of n_c^2 / sum over classes of n_c

    k = 0.8 size     for new rows whose own, label-free k is at most twice or at least half of that; else their own

New identities of one kind of data come in classes of about the size of those that were labelled, and the size told by
labels is surer than one guessed. Rows whose own k is far away are of another size: then labels say nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk.training.fast import SAME_SIZE

SHARE = 0.8  # of the size: classes of one set differ, and k too large joins what k too small can still hold together


def class_size(classes: NDArray[np.integer]) -> float:
    """Return the mean size of a row's class: classes (n,), whole numbers from 0 on.

    >>> class_size(np.array([0, 0, 0, 1]))
    2.5
    """
    sizes = np.bincount(classes).astype(np.float64)
    return float((sizes**2).sum() / sizes.sum())


def k_told(own: int, size: float | None) -> int:
    """Return k for rows whose label-free k is `own`, after a fit whose classes had this size.

    >>> k_told(own=160, size=150.0), k_told(own=24, size=150.0), k_told(own=24, size=None)
    (120, 24, 24)
    """
    if size is None or not 1 / SAME_SIZE <= own / (SHARE * size) <= SAME_SIZE:
        return own
    return max(1, round(SHARE * size))
