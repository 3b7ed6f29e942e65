"""The fast recipe for an encoder of sub-graphs, for the forms that propagation on the whole graph does not have.

Eight random nodes and 32 neighbours of each are probes; supervised contrastive loss; AdamW from the identity; the best
state on held-back identities is kept, the untrained one among them.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kinfolk.metrics import mean_average_precision
from kinfolk.neighbors import NeighborGraph
from kinfolk.nn.encode import encode_all
from kinfolk.nn.encoder import Encoder
from kinfolk.nn.losses import supervised_contrastive
from kinfolk.training.loop import StageResult
from kinfolk.training.probe_loss import loss_of_probes
from kinfolk.training.session import Session

SEEDS, NEIGHBORS = 8, 32
STEPS, RATE, THETA_RATE, TEMPERATURE = 300, 3e-4, 0.02, 0.1
VALIDATE_EVERY, HELD_BACK = 50, 0.25


def train_fast(
    encoder: Encoder,
    X: NDArray[np.float32],
    classes: NDArray[np.int64],
    g: NeighborGraph,
    session: Session,
    steps: int = STEPS,
) -> StageResult:
    """Train from the identity and keep the best state on held-back identities, the untrained one among them."""
    identities = np.random.default_rng(session.seed).permutation(np.unique(classes))
    # those with a pair come first: what is held back must be able to score
    identities = identities[np.argsort(np.bincount(classes)[identities] < 2, kind="stable")]
    held_back = np.isin(classes, identities[: max(1, round(HELD_BACK * len(identities)))])
    learning = np.flatnonzero(~held_back)
    asking = np.flatnonzero(held_back)
    k = encoder.config.k
    loss = loss_of_probes(encoder, X, classes, g, lambda z, y: supervised_contrastive(z, y, TEMPERATURE))

    def batch_loss(step: int) -> Tensor:
        rng = session.rng("encoder", step)
        seeds = rng.choice(learning, min(SEEDS, len(learning)), replace=False)
        probes = np.unique(np.concatenate([seeds, g.indices[seeds, :NEIGHBORS].ravel()]))
        return loss(probes[~held_back[probes]])

    def validate() -> float:
        Z = encode_all(encoder, X, g.indices[:, :k], None)
        return mean_average_precision(Z, classes, queries=asking, n_queries=1000)

    def schedule(step: int) -> float:
        return 0.5 * (1 + math.cos(math.pi * step / steps))

    thetas = [p for name, p in encoder.named_parameters() if "theta" in name or p.ndim == 0]
    chosen = {id(p) for p in thetas}
    rest = [p for p in encoder.parameters() if id(p) not in chosen]
    groups = [dict(params=rest, lr=RATE)] + ([dict(params=thetas, lr=THETA_RATE)] if thetas else [])
    if not rest:
        return StageResult(0, validate(), 0, [])
    optimizer = torch.optim.AdamW(groups, weight_decay=0.0)
    options = dict(schedule=schedule, validate=validate, validate_every=VALIDATE_EVERY, patience=3)
    return session.run("encoder", steps, encoder, optimizer, batch_loss, **options)
