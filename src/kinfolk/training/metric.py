r"""A linear map under which classes nobody has seen are easier to tell apart.

    z = normalise(x W),   W = I at step 0

learned with the supervised contrastive loss on batches of classes that are confused with each other. What separates
the items of one class (pose, light, phrasing) does so in the next class too: shrinking those directions carries over.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kinfolk.neighbors import knn_graph
from kinfolk.nn.device import best_device
from kinfolk.nn.losses import supervised_contrastive
from kinfolk.threads import one_torch_thread
from kinfolk.training.session import Session

STEPS = 300
RATE = 3e-4
SEEDS, CLASSES, ITEMS = 8, 40, 8  # a batch: classes around some seeds, some items of each
NEIGHBORS = 32


class ConfusedClasses:
    """Draws batches: the classes of some seeds and of their neighbours, a few items of each.

    >>> X, y = np.eye(4).repeat(3, axis=0) + 0.1, np.arange(4).repeat(3)
    >>> len(ConfusedClasses(X, y).draw(np.random.default_rng(0)))
    12
    """

    def __init__(  # noqa: D107
        self, X: NDArray[np.float32], y: NDArray[np.int64], classes: int = CLASSES, items: int = ITEMS
    ) -> None:
        self.most, self.items = classes, items
        self.classes = np.unique(y, return_inverse=True)[1]
        self.members = np.split(np.argsort(self.classes, kind="stable"), np.bincount(self.classes).cumsum()[:-1])
        self.neighbors = knn_graph(X, k=min(NEIGHBORS, len(X) - 1), show_progress=False).indices

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the rows of one batch."""
        seeds = rng.choice(len(self.classes), min(SEEDS, len(self.classes)), replace=False)
        around = np.unique(np.concatenate([self.classes[seeds], self.classes[self.neighbors[seeds]].ravel()]))
        chosen = rng.permutation(around)[: self.most]
        return np.concatenate([self._some(self.members[c], rng) for c in chosen])

    def _some(self, members: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return members if len(members) <= self.items else rng.choice(members, self.items, replace=False)


class Metric(nn.Module):
    """z = normalise(x W): (b, d) -> (b, d)."""

    def __init__(self, dim: int) -> None:  # noqa: D107
        super().__init__()
        self.weight = nn.Parameter(torch.eye(dim))

    def forward(self, x: Tensor) -> Tensor:  # noqa: D102
        return nn.functional.normalize(x @ self.weight, dim=1)


def learn_metric(
    X: NDArray[np.float32], y: NDArray[np.int64], temperature: float, name: str, session: Session
) -> NDArray[np.float32]:
    """Return W (d, d), learned on the rows X (n, d) of length one and their classes y (n,).

    >>> import kinfolk as kf
    >>> fs = kf.datasets.digits()
    >>> X = (fs.features / np.linalg.norm(fs.features, axis=1, keepdims=True)).astype(np.float32)
    >>> learn_metric(X, fs.labels, 0.15, "metric", Session()).shape
    (64, 64)
    """
    batches = ConfusedClasses(X, y)
    device = best_device()
    rows, classes = torch.from_numpy(X).to(device), torch.from_numpy(batches.classes).to(device)
    module = Metric(X.shape[1]).to(device)
    optimizer = torch.optim.AdamW(module.parameters(), lr=RATE, weight_decay=0.0)

    def batch_loss(step: int) -> Tensor:
        batch = torch.from_numpy(batches.draw(session.rng(name, step))).to(device)
        return supervised_contrastive(module(rows[batch]), classes[batch], temperature)

    with one_torch_thread():
        session.run(name, STEPS, module, optimizer, batch_loss, schedule=_cosine)
    return module.weight.detach().cpu().numpy()


def _cosine(step: int) -> float:
    return 0.5 * (1 + float(np.cos(np.pi * step / STEPS)))
