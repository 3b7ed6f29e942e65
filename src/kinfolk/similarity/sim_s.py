"""Sim-S: one statistical test for an edge, the similarity of its two vectors (section 2.2 of the paper)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.checks import check_choice
from kinfolk._core.errors import InputError
from kinfolk.neighbors import NeighborGraph


def sim_s(
    g: NeighborGraph, kernel: Literal["cosine", "gaussian"] = "cosine", width: float = 1.0
) -> NDArray[np.float32]:
    r"""Return the similarity of each row and each of its neighbours from their two vectors alone.

    cosine:   s_ij = <x_i, x_j>  for unit vectors
    gaussian: s_ij = exp(-|x_i - x_j|^2 / (2 width^2)) = exp((<x_i, x_j> - 1) / width^2)

    Parameters
    ----------
    g : a NeighborGraph.
    kernel : "cosine" or "gaussian".
    width : of the Gaussian kernel.

    Returns
    -------
    (n, k) float32, aligned with g.indices.

    Examples
    --------
    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[3.0, 4.0], [4.0, 3.0], [-3.0, 4.0]], k=1)
    >>> kf.sim_s(g).ravel().round(2)
    array([0.96, 0.96, 0.28], dtype=float32)
    """
    check_choice("kernel", kernel, ("cosine", "gaussian"))
    if kernel == "cosine":
        return np.asarray(g.similarities)
    if not width > 0:
        raise InputError(f"width must be positive, not {width}")
    return np.exp((np.asarray(g.similarities) - 1) / np.float32(width) ** 2, dtype=np.float32)
