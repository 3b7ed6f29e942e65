r"""STAR-FC: a GCN that classifies edges, trained on sub-graphs that keep their structure, then parsing of the graph.

Shen, Li, Zhu, Duan, Zhou, Lu, Zhou, "Structure-Aware Face Clustering on a Large-Scale Graph with 10^7 Nodes", CVPR
2021.

1. Sampling. A batch is a sub-graph with the structure of the whole one: some seed identities, the identities nearest to
   them, and a random part of the rows of each (`kinfolk.training.metric.ConfusedClasses`). All edges of the neighbour
   graph between these rows are classified.

2. GCN and edge classifier. On the graph of the k nearest neighbours

       z_i = normalise([x_i, (A X)_i] W),    e_ij = w cos(z_i, z_j) + MLP(z_i * z_j),    p_ij = sigmoid(a e_ij + b)

   trained with the cross-entropy of "i and j are of one identity".

3. Parsing. Edges with p below \tau_1 are removed. With N_i the rows that the others join to i, and i itself, edges
   whose node intimacy is below \tau_2 are removed, and the connected components are the clusters:

       NI_ij = max(c / |N_i|, c / |N_j|),     c = |N_i and N_j|

4. Refinement. A row without an edge left joins the cluster of its most probable neighbour, if that edge passed \tau_1.

\tau_1 and \tau_2 are those with the best (F_P + F_B) / 2 on training identities.

Simplified, and why: the rows of a batch are aggregated over their neighbours in the whole graph, not only over those
that were sampled, so that training and use have the same neighbourhoods. The classifier is given the product of two
rows and their cosine where the paper has both rows side by side: the score is then symmetric, and the classifier
learns similarity, not the directions of the training identities. The paper trains one network on 0.5 M faces.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from torch import Tensor, nn

from kinfolk._core.schema import Facts
from kinfolk.cluster._internal.base import by_size
from kinfolk.cluster._internal.common_neighbors import common_neighbors
from kinfolk.cluster._internal.union_find import connected
from kinfolk.cluster.gcut import GCut
from kinfolk.cluster.learned._base import LearnedClusterer, Nearest, Settings, cosine_decay, score_blocks, with_scores
from kinfolk.formats.model_limits import Score, Share
from kinfolk.neighbors import NeighborGraph
from kinfolk.nn.device import best_device
from kinfolk.nn.encode import encode_all, vectors_of
from kinfolk.nn.encoder import Encoder, EncoderConfig, take
from kinfolk.training.metric import ConfusedClasses, nearest_of
from kinfolk.training.session import Session

HIDDEN, RATE = 64, 1e-3  # width and learning rate of the classifier
FIRST_WEIGHT = 10.0  # of the cosine, so that untrained the order of the cosines decides
CLASSES, ITEMS = 24, 12  # identities of a batch, rows of each
PROBABILITIES = (0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)  # \tau_1 to choose from


class EdgeClassifier(nn.Module):
    """The log odds of edges from the vectors of their ends: (..., d) and (..., d) -> (...).

    >>> EdgeClassifier(4)(torch.ones(3, 4), torch.ones(3, 4)).shape
    torch.Size([3])
    """

    def __init__(self, dim: int) -> None:  # noqa: D107
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(FIRST_WEIGHT))
        last = nn.Linear(HIDDEN, 1)
        nn.init.zeros_(last.weight)  # untrained, the cosine alone decides
        nn.init.constant_(last.bias, -FIRST_WEIGHT)
        self.layers = nn.Sequential(nn.Linear(dim, HIDDEN), nn.ReLU(), last)

    def forward(self, one: Tensor, other: Tensor) -> Tensor:  # noqa: D102
        product = one * other
        return self.weight * product.sum(dim=-1) + self.layers(product).squeeze(-1)


class StarNetwork(nn.Module):
    """The two networks of STAR-FC: `gcn` and `edges`."""

    def __init__(self, dim: int, k: int) -> None:  # noqa: D107
        super().__init__()
        self.gcn = Encoder(EncoderConfig(dim, k, attention="none", concat=True, init="identity"))
        self.edges = EdgeClassifier(dim)


class StarFCFacts(Facts):
    """The settings of the linking in a model folder."""

    probability: Share
    intimacy: Score


class StarFC(LearnedClusterer[Nearest]):
    """STAR-FC, learned from labelled identities: see the module's text.

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
    k_, settings_, score_ : the k, the two thresholds and (F_P + F_B) / 2 on the training identities.
    labels_ : (n,) clusters by falling size, after fit_predict.

    Memory: the graph, the edges that pass, three copies of the features.

    Examples
    --------
    >>> import kinfolk as kf
    >>> fs = kf.datasets.celeb_like(40)
    >>> train, test = fs.part("train"), fs.part("test")
    >>> model = StarFC(k=20, steps=20).fit(train, train.labels)
    >>> kf.metrics.bcubed(test.labels, model.predict(test)).f > 0.8
    True
    """

    _settings_facts = StarFCFacts

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

    def _network(self) -> StarNetwork:
        return StarNetwork(self.n_features_in_, self.k_)

    def _inputs(self, unit: NDArray[np.float32]) -> Nearest:
        return Nearest(unit, np.asarray(self._nearest(unit).indices))

    def _train(
        self, net: nn.Module, inputs: Nearest, classes: NDArray[np.int64], rows: NDArray[np.int64], session: Session
    ) -> None:
        assert isinstance(net, StarNetwork)
        device = best_device()
        net.to(device)
        vectors = vectors_of(net.gcn, inputs.unit, inputs.indices)
        batches = ConfusedClasses(nearest_of(inputs.unit[rows]), classes[rows], CLASSES, ITEMS)

        def loss(step: int) -> Tensor:
            some = rows[batches.draw(session.rng("edges", step))]
            one, other = edges_between(some, inputs.indices)
            z = vectors(some)
            log_odds = net.edges(z[torch.from_numpy(one).to(device)], z[torch.from_numpy(other).to(device)])
            same = torch.from_numpy(classes[some[one]] == classes[some[other]]).float().to(device)
            return nn.functional.binary_cross_entropy_with_logits(log_odds, same) if len(one) else 0.0 * z.sum()

        optimizer = torch.optim.AdamW(net.parameters(), RATE, weight_decay=0.0)
        session.run("edges", self.steps, net, optimizer, loss, schedule=partial(cosine_decay, steps=self.steps))

    def _scores(self, net: nn.Module, inputs: Nearest) -> NDArray[np.float32]:
        assert isinstance(net, StarNetwork)
        device, classifier = best_device(), net.edges.to(best_device())
        Z = torch.from_numpy(encode_all(net.gcn, inputs.unit, inputs.indices, None)).to(device)

        def score(some: NDArray[np.int64]) -> NDArray[np.float32]:
            neighbors = torch.from_numpy(inputs.indices[some].astype(np.int64)).to(device)
            return classifier(Z[some[0] : some[-1] + 1, None], take(Z, neighbors)).cpu().numpy()

        return score_blocks(inputs.indices, Z.shape[1], score)

    def _choices(self, edges: NeighborGraph, classes: NDArray[np.int64]) -> Iterator[Settings]:
        for probability in PROBABILITIES:
            kept = edges.similarities >= probability
            if kept.any():
                intimate = with_scores(edges.indices, node_intimacy(edges.indices, kept))
                yield dict(probability=probability, intimacy=GCut(k=edges.k).tune(intimate, classes).threshold)

    def _link(self, edges: NeighborGraph, **settings: Any) -> NDArray[np.integer]:
        return parse(edges, **settings)


def edges_between(rows: NDArray[np.int64], indices: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the edges of the graph that begin and end in these rows, as positions among the rows: (e,) and (e,).

    >>> edges_between(np.array([2, 0]), np.array([[1], [0], [0]]))
    (array([0]), array([1]))
    """
    position = np.full(len(indices), -1)
    position[rows] = np.arange(len(rows))
    ends = position[indices[rows]]
    one, column = np.nonzero(ends >= 0)
    return one, ends[one, column]


def node_intimacy(indices: NDArray[np.integer], kept: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return NI of the kept edges in the graph of these edges, -1 for the others: indices, kept (n, k) -> (n, k).

    >>> node_intimacy(np.array([[1], [0], [1]]), np.array([[True], [True], [False]]))
    array([[ 1.],
           [ 1.],
           [-1.]], dtype=float32)
    """
    n, k = indices.shape
    rows, columns = np.nonzero(kept)
    pairs = np.stack([rows, indices[rows, columns]], axis=1)
    one_way = csr_array((np.ones(len(pairs), np.float32), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    joined = csr_array(one_way + one_way.T + eye_array(n, dtype=np.float32))
    sizes = np.diff(joined.indptr)
    intimacy = np.full((n, k), -1, dtype=np.float32)
    intimacy[kept] = common_neighbors(joined, pairs) / np.minimum(sizes[pairs[:, 0]], sizes[pairs[:, 1]])
    return intimacy


def parse(edges: NeighborGraph, probability: float, intimacy: float) -> NDArray[np.int64]:
    """Return the clusters of a graph of probabilities, each row best first: steps 3 and 4.

    >>> edges = NeighborGraph(np.array([[1, 2], [0, 2], [0, 1]]), np.array([[0.9, 0.2]] * 2 + [[0.3, 0.2]]), 3)
    >>> parse(edges, probability=0.5, intimacy=0.5)
    array([0, 0, 1])
    """
    kept = edges.similarities >= probability
    sources, columns = np.nonzero(node_intimacy(edges.indices, kept) >= max(intimacy, 0.0))
    labels = connected(len(edges), sources, edges.indices[sources, columns])
    sizes = np.bincount(labels, minlength=len(edges))
    best = edges.indices[:, 0]
    lonely = (sizes[labels] == 1) & kept[:, 0] & (sizes[labels[best]] > 1)
    return by_size(np.where(lonely, labels[best], labels))
