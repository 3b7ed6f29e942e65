r"""Clusformer: a transformer classifies which neighbours of a row are of its identity.

Nguyen, Bui, Duong, Bui, Luu, "Clusformer: A Transformer Based Clustering Approach to Unsupervised Large-Scale Face and
Visual Landmark Recognition", CVPR 2021.

1. A sequence is a row and its k nearest neighbours, in rank order. With x_0 the row itself and C_ab = cos(x_a, x_b),
   the token of neighbour a is

       t_a = C_a W_C + x_a W_X,       W_C (k + 1, m),  W_X (d, m)

2. Transformer encoder layers over the tokens (`kinfolk.nn.TransformerLayer`, self attention, no position encoding: the
   columns of W_C are ranks). Each neighbour is then scored against the row,

       e_a = w C_0a + MLP([t_a, t_a * t_0]),       p_a = sigmoid(a e_a + b)

   trained with the cross-entropy of "neighbour a is of the row's identity".

3. Linking. Both directions of an edge count: s_ij = (p_ij + p_ji) / 2, with p_ji = 0 where i is no neighbour of j.
   The clusters are those of G-cut on s; two larger clusters need `guard` edges for each row of the smaller one.

Threshold and guard are those with the best (F_P + F_B) / 2 on training identities.

Simplified, and why: tokens hold the cosines of the neighbours with each other beside the features, because tokens of
features alone fit the directions of the training identities, and there are few; they are m = 32 wide and there are
two layers where the paper has 256 and more. The paper links every edge classified as positive; the mutual score and the
guard keep one wrong edge from joining two identities.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from kinfolk._core.schema import Facts
from kinfolk.cluster.gcut import GCut
from kinfolk.cluster.learned._base import LearnedClusterer, Nearest, Settings, cosine_decay, score_blocks, with_scores
from kinfolk.formats.model_limits import Score, Weight
from kinfolk.neighbors import NeighborGraph
from kinfolk.nn import TransformerLayer, make_attention
from kinfolk.nn.attention import cosines
from kinfolk.nn.device import best_device
from kinfolk.nn.encoder import take
from kinfolk.training.session import Session

WIDTH, HEADS, LAYERS = (32, 2, 2)  # 64 wide with 4 heads is twice as slow and within a point
RATE, BATCH = 2e-3, 48  # learning rate, sequences of a training step
FIRST_WEIGHT = 10.0  # of the cosine, so that untrained the order of the cosines decides
GUARDS, THRESHOLDS = ((1.0, 2.0, 4.0), (0.5, 0.6, 0.7, 0.8, 0.9))  # settings of the linking to choose from


class NeighborClassifier(nn.Module):
    """The log odds that each neighbour is of the row's identity: x (B, 1 + L, d), L up to k  ->  (B, L).

    >>> NeighborClassifier(dim=4, k=5)(torch.ones(2, 4, 4)).shape
    torch.Size([2, 3])
    """

    def __init__(self, dim: int, k: int) -> None:  # noqa: D107
        super().__init__()
        self.size = k + 1
        self.relations, self.features = (nn.Linear(self.size, WIDTH), nn.Linear(dim, WIDTH, bias=False))
        self.layers = nn.ModuleList(
            TransformerLayer(WIDTH, make_attention("self", WIDTH, self.size, width=WIDTH, heads=HEADS), 2 * WIDTH)
            for _ in range(LAYERS)
        )
        self.weight = nn.Parameter(torch.tensor(FIRST_WEIGHT))
        self.judge = nn.Sequential(nn.Linear(2 * WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1))

    def forward(self, x: Tensor) -> Tensor:  # noqa: D102
        among = cosines(x)
        missing = self.size - x.shape[1]  # a set of k rows or fewer
        tokens = self.relations(nn.functional.pad(among, (0, missing))) + self.features(x)
        for layer in self.layers:
            tokens = layer(tokens)
        row, others = tokens[:, :1], tokens[:, 1:]
        scored = self.judge(torch.cat([others, others * row], dim=-1)).squeeze(-1)
        return self.weight * (among[:, 0, 1:] - 1) + scored


class ClusformerFacts(Facts):
    """The settings of the linking in a model folder."""

    threshold: Score
    guard: Annotated[Weight, Field(ge=0)] | None


class Clusformer(LearnedClusterer[Nearest]):
    """Clusformer, learned from labelled identities: see the module's text.

    Parameters
    ----------
    k : neighbours of a row; "auto": the mean class size of a training row, 10 to 80.
    steps : training steps of each of the two networks.
    max_size : no cluster gets larger.
    random_state : the same number gives the same model on one machine.
    show_progress : bars on a terminal.
    verbose : say on standard error what is done, and how long.

    Attributes
    ----------
    k_, settings_, score_ : the k, threshold and guard of G-cut, and (F_P + F_B) / 2 on the training identities.
    labels_ : (n,) clusters by falling size, after fit_predict.

    Memory: the graph, 32 bytes an edge for the mutual scores, the features.

    Examples
    --------
    >>> import kinfolk as kf
    >>> fs = kf.datasets.celeb_like(40)
    >>> train, test = fs.part("train"), fs.part("test")
    >>> model = Clusformer(k=40, steps=50).fit(train, train.labels)
    >>> kf.metrics.bcubed(test.labels, model.predict(test)).f > 0.8
    True
    """

    _settings_facts = ClusformerFacts

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

    def _network(self) -> NeighborClassifier:
        return NeighborClassifier(self.n_features_in_, self.k_)

    def _inputs(self, unit: NDArray[np.float32]) -> Nearest:
        return Nearest(unit, np.asarray(self._nearest(unit).indices))

    def _train(
        self, net: nn.Module, inputs: Nearest, classes: NDArray[np.int64], rows: NDArray[np.int64], session: Session
    ) -> None:
        device = best_device()
        net.to(device)
        features = torch.from_numpy(inputs.unit).to(device)

        def loss(step: int) -> Tensor:
            some = session.rng("sentences", step).choice(rows, min(BATCH, len(rows)), replace=False)
            neighbors = inputs.indices[some]
            same = torch.from_numpy(classes[neighbors] == classes[some, None]).float().to(device)
            return nn.functional.binary_cross_entropy_with_logits(net(_sequences(features, some, neighbors)), same)

        optimizer = torch.optim.AdamW(net.parameters(), RATE, weight_decay=0.01)
        session.run("sentences", self.steps, net, optimizer, loss, schedule=partial(cosine_decay, steps=self.steps))

    def _scores(self, net: nn.Module, inputs: Nearest) -> NDArray[np.float32]:
        net.to(best_device())
        features = torch.from_numpy(inputs.unit).to(best_device())

        def score(some: NDArray[np.int64]) -> NDArray[np.float32]:
            return net(_sequences(features, some, inputs.indices[some])).cpu().numpy()

        return score_blocks(inputs.indices, inputs.unit.shape[1], score)

    def _choices(self, edges: NeighborGraph, classes: NDArray[np.int64]) -> Iterator[Settings]:
        mutual = mutual_scores(edges)
        yield dict(threshold=GCut(k=mutual.k).tune(mutual, classes).threshold, guard=None)
        for guard in GUARDS:
            for threshold in THRESHOLDS:
                yield dict(threshold=threshold, guard=guard)

    def _link(self, edges: NeighborGraph, **settings: Any) -> NDArray[np.integer]:
        mutual = mutual_scores(edges)
        return GCut(k=mutual.k, **settings).fit(mutual).labels_


def _sequences(features: Tensor, rows: NDArray[np.integer], neighbors: NDArray[np.integer]) -> Tensor:
    """Return the rows and their neighbours: features (n, d), rows (b,), neighbors (b, k)  ->  (b, 1 + k, d)."""
    nodes = np.concatenate([rows[:, None], neighbors], axis=1).astype(np.int64)
    return take(features, torch.from_numpy(nodes).to(features.device))


def mutual_scores(edges: NeighborGraph) -> NeighborGraph:
    """Return the edges with the mean of p_ij and p_ji, which is 0 where i is no neighbour of j; each row best first.

    >>> edges = NeighborGraph(np.array([[1], [0], [0]], np.int32), np.array([[0.8], [0.6], [0.4]], np.float32), 3)
    >>> mutual_scores(edges).similarities.ravel().round(2)
    array([0.7, 0.7, 0.2], dtype=float32)
    """
    n, k = edges.indices.shape
    rows, others = np.repeat(np.arange(n), k), np.ravel(edges.indices).astype(np.int64)
    p = np.ravel(edges.similarities)
    there = rows * n + others
    order = np.argsort(there)
    back = others * n + rows
    place = order[np.minimum(np.searchsorted(there, back, sorter=order), len(order) - 1)]
    reverse = np.where(there[place] == back, p[place], np.float32(0.0))
    return with_scores(edges.indices, ((p + reverse) / 2).astype(np.float32).reshape(n, k))
