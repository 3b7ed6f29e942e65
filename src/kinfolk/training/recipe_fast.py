"""The fast recipe for a sub-graph encoder, for the forms that propagation on the whole graph does not have.

A batch is eight random nodes and 32 neighbours of each; supervised contrastive loss; AdamW, starting from the identity;
the best state on held-back identities is kept, which may be the untrained one.
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

BATCH_NODES, BATCH_NEIGHBORS = 8, 32  # up to 264 probes of eight neighbourhoods
STEPS = 300  # 1,000 were no better on person_like (docs/attention.md)
LEARNING_RATE = 3e-4
THETA_LEARNING_RATE = 0.02  # thetas start at up to 15 and have further to go than weights near the identity
TEMPERATURE = 0.1  # of the contrastive loss, its default
VALIDATE_EVERY = 50
VALIDATION_QUERIES = 1000  # at most
HELD_BACK = 0.25  # share of the identities


def train_fast(
    encoder: Encoder,
    X: NDArray[np.float32],
    classes: NDArray[np.int64],
    g: NeighborGraph,
    session: Session,
    steps: int = STEPS,
) -> StageResult:
    """Train and keep the best state on held-back identities, which may be the untrained one.

    Shapes: X (n, d) of length one, classes (n,), g with at least max(k, 32) neighbours a row where there are so many.
    """
    identities = np.random.default_rng(session.seed).permutation(np.unique(classes))
    # identities with two rows or more first: only they have a mean average precision
    identities = identities[np.argsort(np.bincount(classes)[identities] < 2, kind="stable")]
    held_back = np.isin(classes, identities[: max(1, round(HELD_BACK * len(identities)))])
    train_rows, validation_rows = np.flatnonzero(~held_back), np.flatnonzero(held_back)
    k = encoder.config.k
    loss = loss_of_probes(encoder, X, classes, g, lambda z, y: supervised_contrastive(z, y, TEMPERATURE))

    def batch_loss(step: int) -> Tensor:
        rng = session.rng("encoder", step)
        nodes = rng.choice(train_rows, min(BATCH_NODES, len(train_rows)), replace=False)
        probes = np.unique(np.concatenate([nodes, g.indices[nodes, :BATCH_NEIGHBORS].ravel()]))
        return loss(probes[~held_back[probes]])

    def validate() -> float:
        Z = encode_all(encoder, X, g.indices[:, :k], None)
        n_queries = min(VALIDATION_QUERIES, len(validation_rows))
        return mean_average_precision(Z, classes, queries=validation_rows, n_queries=n_queries)

    def schedule(step: int) -> float:
        return 0.5 * (1 + math.cos(math.pi * step / steps))

    thetas = [p for name, p in encoder.named_parameters() if "theta" in name or p.ndim == 0]
    theta_ids = {id(p) for p in thetas}
    rest = [p for p in encoder.parameters() if id(p) not in theta_ids]
    groups = [dict(params=rest, lr=LEARNING_RATE)]
    groups += [dict(params=thetas, lr=THETA_LEARNING_RATE)] if thetas else []
    if not rest:
        return StageResult(0, validate(), 0, [])
    optimizer = torch.optim.AdamW(groups, weight_decay=0.0)
    options = dict(schedule=schedule, validate=validate, validate_every=VALIDATE_EVERY, patience=3)
    return session.run("encoder", steps, encoder, optimizer, batch_loss, **options)
