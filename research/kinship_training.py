"""Train the kinship network that the package ships, on generated sets only.

    python -m research.kinship_training [FILE]      # two minutes; without FILE the shipped weights are replaced

The package evaluates the network without torch (`kinfolk.kinship.KinshipNetwork`); here is the same network as a module
that can be trained. Both have the same tensors under the same names.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor, nn

from kinfolk._core.files import replacing
from kinfolk.features import unit_rows
from kinfolk.kinship.edge_tests import NAMES, edge_tests
from kinfolk.kinship.network import HIDDEN, OUTLIER, SHIPPED
from kinfolk.metrics import edge_noise_rate
from kinfolk.neighbors import NeighborGraph, knn_graph
from research.varied_sets import varied

SETS, STEPS, RATE = 300, 4000, 3e-3
BATCH_EDGES = 2000  # of one graph
WORTH_LEARNING = (0.35, 0.97)  # share of same-class edges at k: below it there is only noise, above it nothing to learn


class TrainableKinship(nn.Module):
    """The kinship network in torch: log odds = MLP((t - mean) / spread), 13 -> 32 -> 32 -> 1.

    Shapes: tests (..., 13) -> log odds (...).

    >>> sum(weights.numel() for weights in TrainableKinship().parameters())
    1537
    """

    mean: Tensor
    spread: Tensor

    def __init__(self) -> None:
        """Start with random weights, and with tests that are not standardised."""
        super().__init__()
        self.register_buffer("mean", torch.zeros(len(NAMES)))
        self.register_buffer("spread", torch.ones(len(NAMES)))
        self.layers = nn.Sequential(
            nn.Linear(len(NAMES), HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1)
        )

    def forward(self, tests: Tensor) -> Tensor:
        """Return the log odds that the two ends of each edge belong together."""
        return self.layers(((tests - self.mean) / self.spread).clamp(-OUTLIER, OUTLIER)).squeeze(-1)


class LabelledEdges(NamedTuple):
    """The edges of some rows: tests (rows, w, 13) float16, same (rows, w): whether both ends are of one class."""

    tests: NDArray[np.float16]
    same: NDArray[np.bool_]


def labelled_edges(
    g: NeighborGraph, labels: NDArray[np.integer], k: int, rows: NDArray[np.integer] | None = None
) -> LabelledEdges:
    """Return the tests and the labels of the edges of some rows, or of all.

    >>> import kinfolk as kf
    >>> fs = kf.datasets.digits()
    >>> labelled_edges(kf.knn_graph(fs, k=40), fs.labels, k=20).tests.shape
    (1797, 40, 13)
    """
    chosen = np.arange(len(g)) if rows is None else rows
    tests = edge_tests(g, k, rows=chosen)
    neighbors = g.indices[chosen, : tests.values.shape[1]]
    return LabelledEdges(tests.values.astype(np.float16), labels[neighbors] == labels[chosen, None])


def standardise(net: TrainableKinship, sets: list[LabelledEdges]) -> None:
    """Set the mean and spread that the network subtracts and divides by, from these edges."""
    sample = np.concatenate([e.tests.reshape(-1, e.tests.shape[-1])[::97] for e in sets]).astype(np.float32)
    net.mean.copy_(torch.from_numpy(sample.mean(axis=0)))
    net.spread.copy_(torch.from_numpy(sample.std(axis=0) + 1e-2))


def kinship_loss(net: TrainableKinship, sets: list[LabelledEdges], rng: np.random.Generator, graphs: int = 8) -> Tensor:
    """Return the cross-entropy of a batch: about 2,000 edges of each of some sets, whole rows at a time.

    >>> import kinfolk as kf
    >>> fs = kf.datasets.digits()
    >>> some = labelled_edges(kf.knn_graph(fs, k=40), fs.labels, k=20)
    >>> kinship_loss(TrainableKinship(), [some], np.random.default_rng(0)).shape
    torch.Size([])
    """
    tests, same = [], []
    for chosen in rng.choice(len(sets), min(graphs, len(sets)), replace=False):
        e = sets[chosen]
        rows = rng.choice(len(e.tests), min(len(e.tests), max(1, BATCH_EDGES // e.tests.shape[1])), replace=False)
        tests.append(e.tests[rows].reshape(-1, e.tests.shape[-1]))
        same.append(e.same[rows].ravel())
    log_odds = net(torch.from_numpy(np.concatenate(tests).astype(np.float32)))
    return nn.functional.binary_cross_entropy_with_logits(log_odds, torch.from_numpy(np.concatenate(same)).float())


def training_set(seed: int) -> LabelledEdges | None:
    """Return edges of one generated set, at a k around its class size; None where there is nothing to learn."""
    fs = varied(seed)
    assert fs.labels is not None
    X = unit_rows(fs)
    X = X - X.mean(axis=0)
    rng = np.random.default_rng(seed)
    k = int(np.clip(len(fs) / len(np.unique(fs.labels)) * rng.uniform(0.3, 1.3), 3, min(192, len(fs) // 4)))
    g = knn_graph(X, k=min(2 * k, len(fs) - 1), show_progress=False)
    kin = 1 - edge_noise_rate(g.restrict(max(1, k // 2)), fs.labels)
    if not WORTH_LEARNING[0] < kin < WORTH_LEARNING[1]:
        return None
    return labelled_edges(g, fs.labels, k, rng.permutation(len(fs))[: 400_000 // g.k])


def train(sets: list[LabelledEdges], steps: int = STEPS) -> TrainableKinship:
    """Return a network trained on these sets: AdamW with one cycle of the learning rate."""
    torch.manual_seed(0)
    net = TrainableKinship()
    standardise(net, sets)
    optimizer = torch.optim.AdamW(net.parameters(), RATE, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps)
    rng = np.random.default_rng(0)
    recent: list[float] = []
    for step in range(steps):
        loss = kinship_loss(net, sets, rng)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        recent.append(loss.item())
        if step % 500 == 499:
            print(step + 1, round(float(np.mean(recent[-500:])), 4), flush=True)
    return net


def main() -> None:
    """Generate the sets, train, and write the weights."""
    sets: list[LabelledEdges] = []
    seed = 0
    while len(sets) < SETS:
        seed += 1
        found = training_set(seed)
        sets += [found] if found else []
    print(f"{len(sets)} sets of {seed}, {sum(e.same.size for e in sets):,} edges", flush=True)
    net = train(sets)
    target = sys.argv[1] if len(sys.argv) > 1 else SHIPPED
    with replacing(target, force=True) as temporary:
        save_file(net.state_dict(), temporary)


if __name__ == "__main__":
    main()
