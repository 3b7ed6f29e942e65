"""Loss of a batch of probes, each encoded in its own sub-graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kinfolk.neighbors import NeighborGraph
from kinfolk.nn.encode import vectors_of
from kinfolk.nn.encoder import Encoder


def loss_of_probes(
    encoder: Encoder,
    X: NDArray[np.float32],
    classes: NDArray[np.int64],
    g: NeighborGraph,
    loss: Callable[[Tensor, Tensor], Tensor],
) -> Callable[[NDArray[np.integer]], Tensor]:
    """Return the function probes (b,) -> loss of their vectors and classes, each probe encoded in its own sub-graph.

    Shapes: X (n, d), classes (n,), g with at least k neighbours a row; `loss` of vectors (b, o) and classes (b,).

    >>> from kinfolk.neighbors import knn_graph
    >>> from kinfolk.nn import EncoderConfig, hinge_loss
    >>> X = np.eye(3, dtype=np.float32)
    >>> encoder = Encoder(EncoderConfig(in_dim=3, k=2))
    >>> of_probes = loss_of_probes(encoder, X, np.array([0, 0, 1]), knn_graph(X, k=2), hinge_loss)
    >>> of_probes(np.array([0, 1])).shape
    torch.Size([])
    """
    vectors, labels = vectors_of(encoder, X, g.indices[:, : encoder.config.k]), torch.from_numpy(classes)

    def of(probes: NDArray[np.integer]) -> Tensor:
        z = vectors(probes)
        return loss(z, labels[torch.from_numpy(probes)].to(z.device))

    return of
