"""The paper's recipe for a sub-graph encoder: batches of near probes, hinge loss, SGD with warm-up and cosine decay."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kinfolk.features import UnitRows
from kinfolk.neighbors import NeighborGraph, knn_graph
from kinfolk.nn.encoder import Encoder
from kinfolk.nn.losses import hinge_loss
from kinfolk.training.loop import StageResult
from kinfolk.training.probe_loss import loss_of_probes
from kinfolk.training.session import Session

LEARNING_RATE = 0.008  # the paper's, as are hinge loss and cosine annealing; its text does not give the numbers below
PROBES, NEAREST = 128, 256  # a batch is 128 of the 256 nearest neighbours of a random node
STEPS, WARM_UP_STEPS = 100_000, 1024
SMALLEST_FACTOR = 0.05  # of the learning rate, at the end of the cosine decay


def train_paper(
    encoder: Encoder,
    X: NDArray[np.float32],
    classes: NDArray[np.int64],
    g: NeighborGraph,
    session: Session,
    steps: int = STEPS,
) -> StageResult:
    """Train as the paper does: one random node a step, half of its 256 nearest neighbours are the batch.

    Shapes: X (n, d) of length one, classes (n,), g with at least k neighbours a row.
    """
    nearest = knn_graph(UnitRows(X), k=min(NEAREST, len(X) - 1), show_progress=False).indices
    loss = loss_of_probes(encoder, X, classes, g, hinge_loss)

    def batch_loss(step: int) -> Tensor:
        rng = session.rng("encoder", step)
        candidates = nearest[rng.integers(len(X))]
        return loss(rng.choice(candidates, min(PROBES, len(candidates)), replace=False))

    def schedule(step: int) -> float:
        warm_up = min(WARM_UP_STEPS, max(1, steps // 10))
        if step < warm_up:
            return (step + 1) / warm_up
        # constant for the first half of the steps, cosine decay over the second
        return max(SMALLEST_FACTOR, 0.5 * (1 + math.cos(math.pi * max(0.0, 2 * step / steps - 1))))

    optimizer = torch.optim.SGD(encoder.parameters(), lr=LEARNING_RATE, momentum=0.9, weight_decay=1e-5)
    encoder.train()
    return session.run("encoder", steps, encoder, optimizer, batch_loss, schedule=schedule)
