r"""Ada-NETS: neighbours in a structure space, a learned number of them for each row, a GCN, G-cut.

Wang, Zhang, Fu, Fang, Zhang, Zhang, Wang, "Ada-NETS: Face Clustering via Adaptive Neighbour Discovery in the Structure
Space", ICLR 2022.

1. Structure space. With R_i the reciprocal neighbours of i among its k nearest, expanded as in k-reciprocal re-ranking
   (`kinfolk.rerank.k_reciprocal`), the neighbours of i are ranked by

       s_ij = (1 - \eta) J_ij + \eta cos(x_i, x_j),     J_ij = |R_i and R_j| / |R_i or R_j|,     \eta = 1/2

2. Adaptive neighbours. The quality of the first j neighbours is their F-score, and the best count maximises it:

       Q_i(j) = F_\beta(precision, recall of the first j),  \beta = 1/2,       k*_i = argmax_j Q_i(j)

   The AND filter, a network on the row's J and cosines in that order, learns k*_i / k with a Huber loss.

3. GCN. Each row with its first k^_i neighbours is a sub-graph; one GCN layer z_i = normalise([x_i, (A X)_i] W), trained
   with the hinge loss on rows of confused identities.

4. G-cut on the cosines of z between neighbours, at the threshold with the best balance on training identities.

Simplified, and why: the AND filter is a perceptron over the sequence of similarities where the paper has a bi-LSTM over
the neighbours' features, because the counts then transfer to new identities, and a step takes a millisecond. The GCN is
initialised as the identity, so that untrained it is the mean of the neighbours: a random initialisation does worse on
sets with few identities.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from kinfolk._core.schema import Facts
from kinfolk.cluster._internal.common_neighbors import common_neighbors
from kinfolk.cluster.gcut import GCut
from kinfolk.cluster.learned._base import LearnedClusterer, Settings, cosine_decay, score_blocks
from kinfolk.formats.model_limits import Score
from kinfolk.neighbors import NeighborGraph
from kinfolk.nn.device import best_device
from kinfolk.nn.encode import encode_on, vectors_of
from kinfolk.nn.encoder import Encoder, EncoderConfig
from kinfolk.nn.losses import hinge_loss
from kinfolk.rerank._pool import Neighbors
from kinfolk.rerank.k_reciprocal import reciprocal_rows
from kinfolk.training.metric import ConfusedClasses, nearest_of
from kinfolk.training.session import Session

ETA, BETA = 0.5, 0.5  # the eta and beta of the equations above
HIDDEN, FILTER_ROWS, FILTER_RATE = (64, 512, 3e-3)  # width, batch and learning rate of the filter
CLASSES, ITEMS, RATE = (24, 6, 3e-4)  # identities and rows of each in a batch of the GCN, its learning rate


class Structure(NamedTuple):
    """The neighbours of each row in the structure space, best first.

    Shapes: unit (n, d); indices (n, k); tests (n, k, 2): Jaccard and cosine of each neighbour.
    """

    unit: NDArray[np.float32]
    indices: NDArray[np.int32]
    tests: NDArray[np.float32]


class AndFilter(nn.Module):
    """The share of a row's k neighbours to keep, from their tests: (b, k, 2) -> (b,) between 0 and 1.

    >>> AndFilter(5)(torch.zeros(3, 5, 2)).shape
    torch.Size([3])
    """

    def __init__(self, k: int) -> None:  # noqa: D107
        super().__init__()
        self.k = k
        self.layers = nn.Sequential(nn.Linear(2 * k, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU())
        self.last = nn.Linear(HIDDEN, 1)

    def forward(self, tests: Tensor) -> Tensor:  # noqa: D102
        missing = self.k - tests.shape[1]  # a set of k rows or fewer
        return self.last(self.layers(nn.functional.pad(tests, (0, 0, 0, missing)).flatten(1))).sigmoid().squeeze(-1)


class AdaNetwork(nn.Module):
    """The two networks of Ada-NETS: `filter` and `gcn`."""

    def __init__(self, dim: int, k: int) -> None:  # noqa: D107
        super().__init__()
        self.filter = AndFilter(k)
        self.gcn = Encoder(EncoderConfig(dim, k, attention="none", concat=True, init="identity"))


class AdaNetsFacts(Facts):
    """The settings of the linking in a model folder."""

    threshold: Score


class AdaNets(LearnedClusterer[Structure]):
    """Ada-NETS, learned from labelled identities: see the module's text.

    Parameters
    ----------
    k : neighbours of a row to choose from; "auto": the mean class size of a training row, 10 to 80.
    steps : training steps of the filter, and as many of the GCN, for each of the two networks.
    max_size : no cluster gets larger.
    random_state : the same number gives the same model on one machine.
    show_progress : bars on a terminal.
    verbose : say on standard error what is done, and how long.

    Attributes
    ----------
    k_, settings_, score_ : the k, the threshold of G-cut and (F_P + F_B) / 2 on the training identities.
    labels_ : (n,) clusters by falling size, after fit_predict.

    Memory: the graph, 8 bytes a neighbour for its tests, two copies of the features.

    Examples
    --------
    >>> import kinfolk as kf
    >>> fs = kf.datasets.celeb_like(40)
    >>> train, test = fs.part("train"), fs.part("test")
    >>> model = AdaNets(k=20, steps=20).fit(train, train.labels)
    >>> kf.metrics.bcubed(test.labels, model.predict(test)).f > 0.8
    True
    """

    _settings_facts = AdaNetsFacts

    def __init__(  # noqa: D107
        self,
        k: int | Literal["auto"] = "auto",
        steps: int = 300,
        *,
        max_size: int | None = None,
        random_state: int = 0,
        show_progress: bool = True,
        verbose: bool = False,
    ) -> None:
        self.k = k
        self.steps = steps
        self.max_size = max_size
        self.random_state = random_state
        self.show_progress = show_progress
        self.verbose = verbose

    def _network(self) -> AdaNetwork:
        return AdaNetwork(self.n_features_in_, self.k_)

    def _inputs(self, unit: NDArray[np.float32]) -> Structure:
        return structure_space(unit, self._nearest(unit))

    def _train(
        self, net: nn.Module, inputs: Structure, classes: NDArray[np.int64], rows: NDArray[np.int64], session: Session
    ) -> None:
        assert isinstance(net, AdaNetwork)
        down = partial(cosine_decay, steps=self.steps)
        kept, device = net.filter.to(best_device()), best_device()
        counts = best_counts(classes[inputs.indices] == classes[:, None])
        best = torch.from_numpy((counts / self.k_).astype(np.float32))

        def filter_loss(step: int) -> Tensor:
            some = session.rng("filter", step).choice(rows, min(FILTER_ROWS, len(rows)), replace=False)
            share = kept(torch.from_numpy(inputs.tests[some]).to(device))
            return nn.functional.huber_loss(share, best[torch.from_numpy(some)].to(device), delta=0.1)

        session.run(
            "filter", self.steps, kept, torch.optim.AdamW(kept.parameters(), FILTER_RATE), filter_loss, schedule=down
        )
        vectors = vectors_of(net.gcn, inputs.unit, inputs.indices, self._counts(net, inputs))
        batches = ConfusedClasses(nearest_of(inputs.unit[rows]), classes[rows], CLASSES, ITEMS)

        def gcn_loss(step: int) -> Tensor:
            some = rows[batches.draw(session.rng("gcn", step))]
            return hinge_loss(vectors(some), torch.from_numpy(classes[some]).to(device), negatives="batch")

        optimizer = torch.optim.AdamW(net.gcn.parameters(), RATE, weight_decay=0.0)
        session.run("gcn", self.steps, net.gcn, optimizer, gcn_loss, schedule=down)

    @torch.inference_mode()
    def _counts(self, net: nn.Module, inputs: Structure) -> NDArray[np.int64]:
        """Return the number of neighbours each row keeps, 1 or more: (n,)."""
        assert isinstance(net, AdaNetwork)
        share = net.filter(torch.from_numpy(inputs.tests).to(best_device())).cpu().numpy()
        return np.clip(np.rint(share * self.k_), 1, inputs.indices.shape[1]).astype(np.int64)

    def _scores(self, net: nn.Module, inputs: Structure) -> NDArray[np.float32]:
        assert isinstance(net, AdaNetwork)
        net.to(best_device())
        rows = torch.from_numpy(inputs.unit)
        Z = encode_on(best_device(), net.gcn, rows, rows, inputs.indices, self._counts(net, inputs))
        return score_blocks(
            inputs.indices, Z.shape[1], lambda some: np.einsum("nd,nkd->nk", Z[some], Z[inputs.indices[some]])
        )

    def _choices(self, edges: NeighborGraph, classes: NDArray[np.int64]) -> Iterable[Settings]:
        return [dict(threshold=GCut(k=edges.k).tune(edges, classes).threshold)]

    def _link(self, edges: NeighborGraph, **settings: Any) -> NDArray[np.integer]:
        return GCut(k=edges.k, **settings).fit(edges).labels_


def structure_space(unit: NDArray[np.float32], g: NeighborGraph) -> Structure:
    """Return the neighbours of g in the order of the structure space.

    >>> import kinfolk as kf
    >>> X = kf.features.unit_rows(np.array([[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]]))
    >>> structure_space(X, kf.knn_graph(X, k=2)).indices[:, 0]
    array([1, 0, 3, 2], dtype=int32)
    """
    n, k = g.indices.shape
    itself = np.arange(n, dtype=np.int32)[:, None]
    lists = Neighbors(
        np.hstack([itself, g.indices]),
        np.hstack([np.ones((n, 1), np.float32), g.similarities]),
        np.zeros(n, np.float32),
    )
    found = reciprocal_rows(unit, lists, k + 1, max(1, (k + 1) // 2), strict=False)
    reciprocal = csr_array((found.values, found.columns, found.starts), shape=(n, n))
    pairs = np.stack([np.repeat(itself[:, 0], k), np.ravel(g.indices)], axis=1)
    common = common_neighbors(reciprocal, pairs).reshape(n, k)
    sizes = np.diff(found.starts)
    jaccard = (common / (sizes[:, None] + sizes[g.indices] - common)).astype(np.float32)
    order = np.argsort(-((1 - ETA) * jaccard + ETA * g.similarities), axis=1, kind="stable")
    tests = np.stack([jaccard, g.similarities], axis=2)
    return Structure(
        unit, np.take_along_axis(g.indices, order, axis=1), np.take_along_axis(tests, order[:, :, None], axis=1)
    )


def best_counts(kin: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the number of first neighbours with the best Q, from which of them are kin: (n, k) -> (n,), 1 to k.

    >>> best_counts(np.array([[True, True, False, False], [False, False, False, False]]))
    array([2, 1])
    """
    found = kin.cumsum(axis=1)
    taken, wanted = np.arange(1, kin.shape[1] + 1), found[:, -1:]
    weight = BETA**2
    q = (1 + weight) * found / (taken + weight * np.maximum(wanted, 1))  # F_beta of found / taken and found / wanted
    return q.argmax(axis=1) + 1
