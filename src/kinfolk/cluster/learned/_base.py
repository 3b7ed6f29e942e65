"""What the learned clusterers share: labels of training identities, thresholds that nobody guesses, a model folder.

A learned clusterer is a network that scores the edges of a neighbour graph, and a way to make clusters of them.

fit(X, y)        The identities are dealt into two halves, and a network is trained on either. The edges of each row are
                 scored by the network that has not seen its identity, so that scores are as good as those of strangers,
                 in a graph as crowded as it will be. From these edges each network learns what its scores mean,

                     p = sigmoid(a score + b),     the probability that the edge joins two of an identity,

                 and the settings of the linking are chosen, for the best balance (F_P + F_B) / 2. Thresholds on bare
                 scores did not carry over from one network to the next: G-cut on cosines of .95 and .99.
predict(X)       clusters new rows, all of them together, by the mean p of both networks. Nothing is remembered of the
                 training rows.
fit_predict(X)   the same for a fitted model, and keeps the result in `labels_`; with y it fits first.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, Literal, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted
from torch import nn

from kinfolk._core.errors import InputError
from kinfolk._core.threads import deal, one_torch_thread, share_threads
from kinfolk.cluster._internal.base import Clusterer, by_size, rows_of
from kinfolk.cluster._internal.size_limit import take_apart
from kinfolk.cluster._internal.sweep import balance
from kinfolk.features import Matrix
from kinfolk.formats.model_folder import group, load_model, save_model
from kinfolk.kinship.choose_k import k_for_labelled
from kinfolk.metrics._labels import half_of, numbered
from kinfolk.neighbors import NeighborGraph, knn_graph
from kinfolk.nn.device import best_device
from kinfolk.training.session import Session

BLOCK_ENTRIES = 1 << 20  # floats of a gathered block
SAMPLE_EDGES = 200_000
FEWEST_IDENTITIES = 2  # one for either half; for good clusters it takes many more


class HasIndices(Protocol):
    """What every clusterer computes of its rows holds at least the edges to score."""

    @property
    def indices(self) -> NDArray[np.int32]:
        """Neighbours of each row, (n, k)."""


class Nearest(NamedTuple):
    """Rows of length one (n, d) and the indices (n, k) of their nearest neighbours."""

    unit: NDArray[np.float32]
    indices: NDArray[np.int32]


Inputs = TypeVar("Inputs", bound=HasIndices)
Odds = tuple[float, float]
Settings = dict[str, Any]


class LearnedClusterer(Clusterer, Generic[Inputs]):
    """Base of the learned clusterers: a subclass writes the network, its training, the scored edges and the linking.

    After fit: `networks_`, `odds_` (a and b of each), `k_`, `settings_` (what was chosen for the linking), `score_`
    (the balance on the training identities, each scored by a network that had not seen it). After fit_predict also
    `labels_`, `n_clusters_`, `features_`, `graph_` (the edges with their p).
    """

    k: int | Literal["auto"]
    steps: int
    random_state: int
    show_progress: bool

    @abstractmethod
    def _network(self) -> nn.Module:
        """Return a new network for n_features_in_ and k_."""

    @abstractmethod
    def _inputs(self, unit: NDArray[np.float32]) -> Inputs:
        """Return what the network is given of the rows (n, d) of length one: whatever is computed once."""

    @abstractmethod
    def _train(
        self, net: nn.Module, inputs: Inputs, classes: NDArray[np.int64], rows: NDArray[np.int64], session: Session
    ) -> None:
        """Train the network on the classes (n,) of some rows."""

    @abstractmethod
    def _scores(self, net: nn.Module, inputs: Inputs) -> NDArray[np.float32]:
        """Return a score for each edge of the inputs' indices, (n, k); higher for kin."""

    @abstractmethod
    def _choices(self, edges: NeighborGraph, classes: NDArray[np.int64]) -> Iterable[Settings]:
        """Return the settings of the linking to choose from."""

    @abstractmethod
    def _link(self, edges: NeighborGraph, **settings: Any) -> NDArray[np.integer]:
        """Return any number for each cluster."""

    def fit(self, X: Matrix | NeighborGraph, y: ArrayLike | None = None) -> Self:
        """Learn from features X (n, d) and the identities y (n,); rows whose label is below zero are left out."""
        if y is None:
            raise InputError(f"{type(self).__name__} learns from labelled identities: give fit(X, y) their labels")
        self._check()
        unit, classes = self._unit(X), numbered(y, rows_of(X))
        unit, classes = unit[classes >= 0], classes[classes >= 0]
        pairs = int(np.count_nonzero(np.bincount(classes) > 1)) if len(classes) else 0
        if pairs < FEWEST_IDENTITIES:
            raise InputError(
                f"{type(self).__name__} learns from {FEWEST_IDENTITIES} or more identities with two rows, not {pairs}"
            )
        self.n_features_in_ = unit.shape[1]
        self.k_ = min(len(unit) - 1, k_for_labelled(classes) if self.k == "auto" else int(self.k))
        share_threads()
        edges = self._learn(self._inputs(unit), classes)
        scored = [(balance(classes, self._link(edges, **chosen)), chosen) for chosen in self._choices(edges, classes)]
        self.score_, self.settings_ = max(scored, key=lambda pair: pair[0])
        return self

    def predict(self, X: Matrix) -> NDArray[np.int64]:
        """Return the clusters of the rows of a new set (n, d), by falling size."""
        return self._clusters(X)[0]

    def fit_predict(self, X: Matrix, y: ArrayLike | None = None, **_: Any) -> NDArray[np.int64]:
        """Return the clusters of the rows and keep them; with labels y the model is fitted to them before."""
        if y is not None:
            self.fit(X, y)
        self.labels_, self.graph_ = self._clusters(X)
        self.features_ = self._unit(X)
        self.n_clusters_ = int(self.labels_.max()) + 1
        return self.labels_

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write the model as a folder: config.json, weights.safetensors and README.md."""
        check_is_fitted(self, "networks_")
        parameters = {name: v.item() if isinstance(v, np.generic) else v for name, v in self.get_params().items()}
        config = dict(
            parameters=parameters,
            n_features=self.n_features_in_,
            k=self.k_,
            odds=self.odds_,
            settings=self.settings_,
            score=self.score_,
        )
        tensors = {
            f"{number}.{name}": t.cpu().numpy()
            for number, net in enumerate(self.networks_)
            for name, t in net.state_dict().items()
        }
        save_model(
            path,
            kind=type(self).__name__,
            config=config,
            tensors=tensors,
            card=self._card(),
            force=force,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a folder that `save` wrote."""
        _, config, tensors = load_model(path, kind=cls.__name__)
        try:
            model = cls(**config["parameters"])
            model.n_features_in_, model.k_ = int(config["n_features"]), int(config["k"])
            model.settings_, model.score_ = dict(config["settings"]), float(config["score"])
            model.odds_ = [(float(a), float(b)) for a, b in config["odds"]]
            model.networks_ = [model._network().eval() for _ in model.odds_]
            for number, net in enumerate(model.networks_):
                net.load_state_dict({n: torch.from_numpy(t) for n, t in group(tensors, f"{number}.").items()})
        except (KeyError, TypeError, ValueError, RuntimeError) as problem:
            raise InputError(f"{path} is not a model this version can read: {problem}") from None
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        return self._clusters(X)[0]

    def _clusters(self, X: Matrix | NeighborGraph) -> tuple[NDArray[np.int64], NeighborGraph | None]:
        self._check()
        unit = self._unit(X)
        check_is_fitted(self, "networks_", msg=f"this {type(self).__name__} has learned nothing yet: call fit(X, y)")
        if unit.shape[1] != self.n_features_in_:
            raise InputError(f"X has {unit.shape[1]} dimensions, the fit had {self.n_features_in_}")
        if len(unit) == 1:
            return np.zeros(1, dtype=np.int64), None
        share_threads()
        edges = self._edges(self._inputs(unit))
        labels = by_size(self._link(edges, **self.settings_))
        if self.max_size is not None:
            labels = by_size(take_apart(labels, edges, self.max_size))
        return labels, edges

    def _learn(self, inputs: Inputs, classes: NDArray[np.int64]) -> NeighborGraph:
        """Train a network on either half and return the edges, each row's with p of the half it is not in."""
        alone = np.bincount(classes)[classes] < 2
        half = half_of(np.where(alone, -1, classes), self.random_state)  # so that either half has pairs
        kin = classes[inputs.indices] == classes[:, None]
        p = np.empty(kin.shape, dtype=np.float32)
        self.networks_, self.odds_ = [], []
        for number, seen in enumerate((half, ~half)):
            net = self._trained(inputs, classes, np.flatnonzero(seen), self.random_state + number)
            scores = self._scores(net, inputs)[~seen]
            self.networks_.append(net)
            self.odds_.append(odds_of(scores, kin[~seen], self.random_state))
            p[~seen] = probability(scores, self.odds_[-1])
        return with_scores(inputs.indices, p)

    def _trained(self, inputs: Inputs, classes: NDArray[np.int64], rows: NDArray[np.int64], seed: int) -> nn.Module:
        with torch.random.fork_rng(devices=[]), one_torch_thread():
            torch.manual_seed(seed)
            net = self._network()
            self._train(net, inputs, classes, rows, Session(seed, show_progress=self.show_progress))
        return net.eval()

    def _edges(self, inputs: Inputs) -> NeighborGraph:
        """Return the edges with the mean p of the networks."""
        each = [
            probability(self._scores(net, inputs), odds) for net, odds in zip(self.networks_, self.odds_, strict=True)
        ]
        return with_scores(inputs.indices, np.mean(each, axis=0, dtype=np.float32))

    def _nearest(self, unit: NDArray[np.float32]) -> NeighborGraph:
        return knn_graph(unit, min(self.k_, len(unit) - 1), show_progress=self.show_progress)

    def _check(self) -> None:
        self._check_size_limit()
        for name in ("k", "steps"):
            value = getattr(self, name)
            if name == "k" and value == "auto":
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise InputError(f"{name} must be a whole number from 1 on{', or auto' * (name == 'k')}, not {value!r}")

    def _card(self) -> str:
        settings = ", ".join(f"{name} {value}" for name, value in self.settings_.items())
        return f"""# A kinfolk {type(self).__name__}

`{self}`

- features: {self.n_features_in_} dimensions; k {self.k_}; linking: {settings}
- (F_P + F_B) / 2 x 100 on the training identities, each by a network that had not seen it: {100 * self.score_:.1f}
- it holds the weights of a network, no rows of the data

```python
import kinfolk as kf

labels = kf.cluster.{type(self).__name__}.load("this folder").predict(X)
```
"""


def odds_of(scores: NDArray[np.float32], kin: NDArray[np.bool_], seed: int) -> Odds:
    """Return a and b of p = sigmoid(a score + b), from edges that a network has not learned from: (n, k) each.

    >>> a, b = odds_of(np.array([[0.1, 0.4, 0.6, 0.9]] * 9), np.array([[False, False, True, True]] * 9), seed=0)
    >>> a > 0, 0.4 < -b / a < 0.6
    (True, True)
    """
    chosen = np.random.default_rng(seed).permutation(kin.size)[:SAMPLE_EDGES]
    score, same = scores.ravel()[chosen].astype(np.float64), kin.ravel()[chosen]
    if same.all() or not same.any():
        return 1.0, 0.0
    middle, spread = float(score.mean()), float(score.std()) + 1e-9
    line = LogisticRegression().fit((score[:, None] - middle) / spread, same)
    a = float(line.coef_[0, 0]) / spread
    return a, float(line.intercept_[0]) - a * middle


def probability(scores: NDArray[np.float32], odds: Odds) -> NDArray[np.float32]:
    """Return sigmoid(a score + b).

    >>> probability(np.array([0.5]), (2.0, -1.0))
    array([0.5], dtype=float32)
    """
    return expit(odds[0] * scores + odds[1]).astype(np.float32)


def with_scores(indices: NDArray[np.integer], scores: NDArray[np.float32]) -> NeighborGraph:
    """Return the graph of edges (n, k) whose similarities are the scores, each row best first.

    >>> with_scores(np.array([[1, 2], [0, 2], [0, 1]]), np.array([[0.1, 0.9]] * 3, np.float32)).indices[0]
    array([2, 1], dtype=int32)
    """
    order = np.argsort(-scores, axis=1, kind="stable")
    sorted_indices: NDArray[np.int32] = np.take_along_axis(np.asarray(indices, dtype=np.int32), order, axis=1)
    return NeighborGraph(sorted_indices, np.take_along_axis(scores, order, axis=1), len(indices))


def score_blocks(
    indices: NDArray[np.int32], width: int, score: Callable[[NDArray[np.int64]], NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Return the scores (n, k) of all edges, made by score(rows (b,)) -> (b, k): block after block, dealt to the cores.

    `width`: floats that are gathered for each edge.

    >>> score_blocks(np.array([[1], [0]]), 4, lambda rows: rows[:, None] / 2).tolist()
    [[0.0], [0.5]]
    """
    result = np.empty(indices.shape, dtype=np.float32)
    step = max(1, BLOCK_ENTRIES // ((indices.shape[1] + 1) * width))
    blocks = [np.arange(start, min(start + step, len(indices))) for start in range(0, len(indices), step)]

    @torch.inference_mode()
    def fill(rows: NDArray[np.int64]) -> None:
        result[rows] = score(rows)

    if best_device().type == "cpu":
        deal(fill, blocks)
    else:
        for block in blocks:
            fill(block)
    return result


def falling(step: int, steps: int) -> float:
    """Return the share of the learning rate at a step: down to zero along a cosine.

    >>> falling(50, 100)
    0.5
    """
    return 0.5 * (1 + float(np.cos(np.pi * step / steps)))
