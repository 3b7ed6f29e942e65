"""The paper's recipe for an encoder of sub-graphs.

One random node a step, 128 of its 256 nearest are probes; hinge loss; SGD with momentum, warm-up, cosine.
"""

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

PROBES, AROUND = 128, 256
STEPS, RATE, WARM_UP, FLOOR = 100_000, 0.008, 1024, 0.05


def train_paper(
    encoder: Encoder,
    X: NDArray[np.float32],
    classes: NDArray[np.int64],
    g: NeighborGraph,
    session: Session,
    steps: int = STEPS,
) -> StageResult:
    """Train as the paper does: X (n, d) of length one, classes (n,), g with at least k neighbours a row."""
    around = knn_graph(UnitRows(X), k=min(AROUND, len(X) - 1), show_progress=False).indices
    loss = loss_of_probes(encoder, X, classes, g, hinge_loss)

    def batch_loss(step: int) -> Tensor:
        rng = session.rng("encoder", step)
        near = around[rng.integers(len(X))]
        return loss(rng.choice(near, min(PROBES, len(near)), replace=False))

    def schedule(step: int) -> float:
        warm_up = min(WARM_UP, max(1, steps // 10))
        if step < warm_up:
            return (step + 1) / warm_up
        # down over the second half of the steps
        return max(FLOOR, 0.5 * (1 + math.cos(math.pi * max(0.0, 2 * step / steps - 1))))

    optimizer = torch.optim.SGD(encoder.parameters(), lr=RATE, momentum=0.9, weight_decay=1e-5)
    encoder.train()
    return session.run("encoder", steps, encoder, optimizer, batch_loss, schedule=schedule)
