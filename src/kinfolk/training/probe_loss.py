"""The loss of some probes, each encoded in its own sub-graph."""

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
    """Return the loss of some probes, each in its own sub-graph."""
    vectors, labels = vectors_of(encoder, X, g.indices[:, : encoder.config.k]), torch.from_numpy(classes)

    def of(probes: NDArray[np.integer]) -> Tensor:
        z = vectors(probes)
        return loss(z, labels[torch.from_numpy(probes)].to(z.device))

    return of
