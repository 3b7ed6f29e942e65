"""Training of the kinship network: which edges join two of a class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kinfolk.kinship.edge_tests import scale_tests
from kinfolk.kinship.network import Kinship
from kinfolk.neighbors import NeighborGraph

BATCH_EDGES = 2000  # of one graph


class Edges(NamedTuple):
    """The edges of some rows: tests (rows, w, 13) float16, same (rows, w): whether they join two of a class."""

    tests: NDArray[np.float16]
    same: NDArray[np.bool_]


def edges(g: NeighborGraph, labels: NDArray[np.integer], k: int, rows: NDArray[np.integer] | None = None) -> Edges:
    """Return the tests of the rows' edges, and the truth.

    >>> import kinfolk as kf
    >>> fs = kf.datasets.digits()
    >>> edges(kf.knn_graph(fs, k=40), fs.labels, k=20).tests.shape
    (1797, 40, 13)
    """
    asked = np.arange(len(g)) if rows is None else rows
    tests = scale_tests(g, k, rows=asked)
    neighbors = g.indices[asked, : tests.values.shape[1]]
    return Edges(tests.values.astype(np.float16), labels[neighbors] == labels[asked, None])


def standardise(net: Kinship, sets: list[Edges]) -> None:
    """Set the mean and spread that the network subtracts and divides by, from these edges."""
    sample = np.concatenate([e.tests.reshape(-1, e.tests.shape[-1])[::97] for e in sets]).astype(np.float32)
    net.mean.copy_(torch.from_numpy(sample.mean(axis=0)))
    net.spread.copy_(torch.from_numpy(sample.std(axis=0) + 1e-2))


def kinship_loss(net: Kinship, sets: list[Edges], rng: np.random.Generator, graphs: int = 8) -> Tensor:
    """Return the cross-entropy of a batch: about 2,000 edges of each of some sets, whole rows at a time.

    >>> import kinfolk as kf
    >>> fs = kf.datasets.digits()
    >>> some = edges(kf.knn_graph(fs, k=40), fs.labels, k=20)
    >>> kinship_loss(Kinship.shipped(), [some], np.random.default_rng(0)).shape
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
