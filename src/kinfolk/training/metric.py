r"""A linear map under which classes nobody has seen are easier to tell apart.

    z = normalise(x W),   W = I at step 0

learned with the supervised contrastive loss on batches of classes that are confused with each other. What separates
the items of one class (pose, light, phrasing) does so in the next class too: shrinking those directions carries over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kinfolk._core.progress import Advance
from kinfolk._core.threads import deal
from kinfolk.features import UnitRows
from kinfolk.neighbors import NeighborGraph, knn_graph
from kinfolk.nn.device import best_device
from kinfolk.nn.losses import supervised_contrastive
from kinfolk.training.session import Session

STEPS = 300
RATE = 3e-4
SEEDS, CLASSES, ITEMS = 8, 40, 8  # a batch: classes around some seeds, some items of each
NEIGHBORS = 32
BLOCK_ROWS = 8192


class ConfusedClasses:
    """Draws batches: the classes of some seeds and of their neighbours, a few items of each.

    Shapes: neighbors (n, k) of each row, y (n,) its class.

    >>> y = np.arange(4).repeat(3)
    >>> len(ConfusedClasses(np.arange(12)[::-1, None], y).draw(np.random.default_rng(0)))
    12
    """

    def __init__(  # noqa: D107
        self, neighbors: NDArray[np.integer], y: NDArray[np.int64], classes: int = CLASSES, items: int = ITEMS
    ) -> None:
        self.most, self.items = classes, items
        self.neighbors = neighbors
        self.classes = np.unique(y, return_inverse=True)[1]
        self.members = np.split(np.argsort(self.classes, kind="stable"), np.bincount(self.classes).cumsum()[:-1])

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the rows of one batch."""
        seeds = rng.choice(len(self.classes), min(SEEDS, len(self.classes)), replace=False)
        around = np.unique(np.concatenate([self.classes[seeds], self.classes[self.neighbors[seeds]].ravel()]))
        chosen = rng.permutation(around)[: self.most]
        return np.concatenate([self._some(self.members[c], rng) for c in chosen])

    def _some(self, members: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return members if len(members) <= self.items else members[rng.choice(len(members), self.items, replace=False)]


def neighbors_among(g: NeighborGraph, X: NDArray[np.float32], rows: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return the 32 nearest of the chosen rows among themselves, as positions in `rows`: (r, 32).

    They are read off the graph g of all rows X; only where it has too few neighbours are they searched for.

    >>> import kinfolk as kf
    >>> X = np.eye(4, dtype=np.float32)[[0, 0, 1, 1, 2]] + np.float32(0.1)
    >>> neighbors_among(kf.knn_graph(X, k=4), X, np.array([0, 2, 3]))[:, 0].tolist()
    [1, 2, 1]
    """
    k = min(NEIGHBORS, len(rows) - 1)
    place = np.full(len(X), -1)
    place[rows] = np.arange(len(rows))
    found = np.empty((len(rows), k), dtype=np.int64)
    for start in range(0, len(rows), BLOCK_ROWS):
        some = rows[start : start + BLOCK_ROWS]
        places = place[g.indices[some]]
        chosen = places >= 0
        chosen &= chosen.cumsum(axis=1) <= k
        if chosen.sum() < k * len(some):
            return nearest_of(X[rows])
        found[start : start + len(some)] = places[chosen].reshape(-1, k)
    return found


def nearest_of(X: NDArray[np.float32]) -> NDArray[np.int32]:
    """Return the 32 nearest of each row of length one, (n, d) -> (n, 32).

    >>> nearest_of(np.eye(3, dtype=np.float32)).shape
    (3, 2)
    """
    return knn_graph(UnitRows(X), k=min(NEIGHBORS, len(X) - 1), show_progress=False).indices


class Metric(nn.Module):
    """x W, (b, d) -> (b, d): the loss normalises."""

    def __init__(self, dim: int) -> None:  # noqa: D107
        super().__init__()
        self.weight = nn.Parameter(torch.eye(dim))

    def forward(self, x: Tensor) -> Tensor:  # noqa: D102
        return x @ self.weight


@dataclass(frozen=True)
class MetricTask:
    """One map to learn: its name, its rows (n, d) of length one, their batches, and the temperature of the loss."""

    name: str
    X: NDArray[np.float32]
    batches: ConfusedClasses
    temperature: float


def learn_metrics(tasks: Sequence[MetricTask], session: Session, advance: Advance) -> list[NDArray[np.float32]]:
    """Return W (d, d) of each task; on a processor each core learns one of them at a time.

    >>> import kinfolk as kf
    >>> fs = kf.datasets.digits()
    >>> X = (fs.features / np.linalg.norm(fs.features, axis=1, keepdims=True)).astype(np.float32)
    >>> batches = ConfusedClasses(kf.knn_graph(X, k=32).indices, fs.labels)
    >>> learn_metrics([MetricTask("metric", X, batches, 0.15)], Session(), lambda _: None)[0].shape
    (64, 64)
    """

    def learn(task: MetricTask) -> NDArray[np.float32]:
        learned = _learn_metric(task, session)
        advance(1)
        return learned

    return deal(learn, tasks) if best_device().type == "cpu" else [learn(task) for task in tasks]


def _learn_metric(task: MetricTask, session: Session) -> NDArray[np.float32]:
    device = best_device()
    rows, classes = torch.from_numpy(task.X).to(device), torch.from_numpy(task.batches.classes).to(device)
    module = Metric(task.X.shape[1]).to(device)
    optimizer = torch.optim.AdamW(module.parameters(), lr=RATE, weight_decay=0.0)

    def batch_loss(step: int) -> Tensor:
        batch = torch.from_numpy(task.batches.draw(session.rng(task.name, step))).to(device)
        return supervised_contrastive(module(rows[batch]), classes[batch], task.temperature)

    session.run(task.name, STEPS, module, optimizer, batch_loss, schedule=_cosine)
    return module.weight.detach().cpu().numpy()


def _cosine(step: int) -> float:
    return 0.5 * (1 + float(np.cos(np.pi * step / STEPS)))
