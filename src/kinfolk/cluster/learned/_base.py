"""Base of the learned clusterers: two networks, calibrated probabilities, chosen settings, a model folder.

A learned clusterer is a network that scores the edges of a neighbour graph, and a rule that links edges to clusters.

fit(X, y)        The identities are divided into two halves, and a network is trained on each. The edges of each row are
                 scored by the network that was not trained on its identity, in the graph of all rows. On these edges
                 the scores of each network are calibrated,

                     p = sigmoid(a score + b),     the probability that both ends are of one identity,

                 and the settings of the linking with the best (F_P + F_B) / 2 are chosen. Thresholds on scores that are
                 not calibrated do not transfer between networks: the best one was .95 for one, .99 for another.
predict(X)       clusters all rows of a new set together, by the mean p of both networks. No training rows are stored.
fit_predict(X)   the same for a fitted model, and keeps the result in `labels_`; with y it fits first.
"""

from __future__ import annotations

import logging
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from pydantic import Field
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted
from torch import nn

from kinfolk._core.checks import check_whole
from kinfolk._core.errors import InputError
from kinfolk._core.feature_names import remember_columns, restore_columns, saved_columns
from kinfolk._core.progress import log_lines, stage
from kinfolk._core.schema import Facts, checked
from kinfolk._core.threads import deal, one_torch_thread, share_threads
from kinfolk.cluster._internal.base import Clusterer, by_size, rows_of
from kinfolk.cluster._internal.size_limit import split_large
from kinfolk.cluster._internal.sweep import balance
from kinfolk.features import Matrix, UnitRows
from kinfolk.formats._common import reading
from kinfolk.formats.model_folder import group, load_model, save_model
from kinfolk.formats.model_limits import Count, Dimensions, Neighbors, Odds, Seed, Share, Word
from kinfolk.kinship.choose_k import k_for_labelled
from kinfolk.metrics._labels import half_of, numbered
from kinfolk.neighbors import NeighborGraph, knn_graph
from kinfolk.nn.device import best_device
from kinfolk.nn.encoder import load_weights
from kinfolk.training.session import Session

log = logging.getLogger(__name__)
BLOCK_ENTRIES = 1 << 20  # floats of a gathered block: 4 MB
SAMPLE_EDGES = 200_000  # at most, for the two numbers of a calibration
FEWEST_IDENTITIES = 2  # one for each half; good clusters need many more


class ParameterFacts(Facts):
    """The parameters of the constructors in a model folder."""

    k: Neighbors | Literal["auto"]
    steps: Count
    max_size: Count | None
    random_state: Seed
    show_progress: bool


class ClustererFacts(Facts):
    """The config of a model folder: its two networks are calibrated by two numbers each."""

    parameters: ParameterFacts
    n_features: Dimensions
    feature_names: list[str] | None = None  # of a fit on a table
    k: Neighbors
    odds: Annotated[list[Annotated[list[Odds], Field(min_length=2, max_length=2)]], Field(min_length=2, max_length=2)]
    settings: dict[Word, Any]
    score: Share


class HasIndices(Protocol):
    """The inputs of every network hold at least the edges to score."""

    @property
    def indices(self) -> NDArray[np.int32]:
        """Neighbours of each row, (n, k)."""


class Nearest(NamedTuple):
    """Rows of length one (n, d) and the indices (n, k) of their nearest neighbours."""

    unit: NDArray[np.float32]
    indices: NDArray[np.int32]


Inputs = TypeVar("Inputs", bound=HasIndices)
Calibration = tuple[float, float]  # a and b of p = sigmoid(a score + b)
Settings = dict[str, Any]


class LearnedClusterer(Clusterer, Generic[Inputs]):
    """Base of the learned clusterers: a subclass writes the network, its training, the scored edges and the linking.

    Attributes
    ----------
    networks_ : the two networks.
    odds_ : a and b of the calibration of each network.
    k_ : neighbours of each row.
    settings_ : chosen settings of the linking.
    score_ : (F_P + F_B) / 2 on the training identities, each scored by the network that was not trained on it.
    labels_, n_clusters_, features_, graph_ : after fit_predict; graph_ has the edges with their p.
    """

    k: int | Literal["auto"]
    steps: int
    random_state: int
    show_progress: bool
    _settings_facts: ClassVar[type[Facts]]  # what `settings_` may hold

    @abstractmethod
    def _network(self) -> nn.Module:
        """Return a new network for n_features_in_ and k_."""

    @abstractmethod
    def _inputs(self, unit: NDArray[np.float32]) -> Inputs:
        """Return the inputs of the network, computed once, from rows (n, d) of length one."""

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
        """Return a number for the cluster of each row, any but the same within a cluster."""

    def fit(self, X: Matrix | NeighborGraph, y: ArrayLike | None = None) -> Self:
        """Learn from labelled identities.

        Parameters
        ----------
        X : features (n, d).
        y : (n,) identities; rows with a label below zero are left out.

        Returns
        -------
        self
        """
        if y is None:
            raise InputError(f"{type(self).__name__} learns from labelled identities: give fit(X, y) their labels")
        self._check_settings()
        with log_lines(self.verbose), stage("learning", self.show_progress):
            self._fit_labelled(X, y)
            log.info("k %d, %s, (F_P + F_B) / 2 %.4f by %s", self.k_, self.settings_, self.score_, self)
        return self

    def _fit_labelled(self, X: Matrix | NeighborGraph, y: ArrayLike) -> None:
        unit, classes = self._unit(X), numbered(y, rows_of(X))
        unit, classes = unit[classes >= 0], classes[classes >= 0]
        pairs = int(np.count_nonzero(np.bincount(classes) > 1)) if len(classes) else 0
        if pairs < FEWEST_IDENTITIES:
            raise InputError(
                f"{type(self).__name__} learns from {FEWEST_IDENTITIES} or more identities with two rows, not {pairs}"
            )
        remember_columns(self, X, unit)
        if self.k != "auto" and self.k > len(unit) - 1:
            raise InputError(f"k={self.k} neighbours are too many: each labelled row has {len(unit) - 1:,} others")
        self.k_ = min(len(unit) - 1, k_for_labelled(classes)) if self.k == "auto" else int(self.k)
        share_threads()
        edges = self._learn(self._inputs(unit), classes)
        scored = [(balance(classes, self._link(edges, **chosen)), chosen) for chosen in self._choices(edges, classes)]
        self.score_, self.settings_ = max(scored, key=lambda pair: pair[0])

    def predict(self, X: Matrix) -> NDArray[np.int64]:
        """Return the clusters of the rows of a new set (n, d), by falling size."""
        return self._clusters(self._checked_rows(X))[0]

    def fit_predict(self, X: Matrix | NeighborGraph, y: ArrayLike | None = None, **_: Any) -> NDArray[np.int64]:
        """Return the clusters of the rows (n, d) and keep them; with labels y the model is fitted to them first."""
        if y is not None:
            self.fit(X, y)
        rows = self._checked_rows(X)
        self.features_ = rows.values
        self.labels_, self.graph_ = self._clusters(rows)
        self.n_clusters_ = int(self.labels_.max()) + 1
        return self.labels_

    def _checked_rows(self, X: Matrix | NeighborGraph) -> UnitRows:
        return UnitRows(self._unit(X if isinstance(X, UnitRows | NeighborGraph) else self._new_rows(X)))

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write the model as a folder: config.json, weights.safetensors and README.md."""
        check_is_fitted(self, "networks_")
        parameters = {name: v.item() if isinstance(v, np.generic) else v for name, v in self.get_params().items()}
        del parameters["verbose"]  # is not of the model
        config = dict(
            parameters=parameters,
            n_features=self.n_features_in_,
            **saved_columns(self),
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
        save_model(path, kind=type(self).__name__, config=config, tensors=tensors, card=self._card(), force=force)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a folder that `save` wrote."""
        _, config, tensors = load_model(path, kind=cls.__name__)
        facts = checked(ClustererFacts, config, path)
        model = cls(**facts.parameters.model_dump())
        model.n_features_in_, model.k_, model.score_ = facts.n_features, facts.k, facts.score
        restore_columns(model, facts.feature_names)
        model.settings_ = checked(cls._settings_facts, facts.settings, f"{path}: settings").model_dump()
        model.odds_ = [(a, b) for a, b in facts.odds]
        with reading(Path(path), "a model"):
            model.networks_ = [
                load_weights(model._network, group(tensors, f"{number}.")).eval() for number in range(len(facts.odds))
            ]
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        return self._clusters(X)[0]

    def _clusters(self, X: Matrix | NeighborGraph) -> tuple[NDArray[np.int64], NeighborGraph | None]:
        self._check_settings()
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
            labels = by_size(split_large(labels, edges, self.max_size))
        return labels, edges

    def _learn(self, inputs: Inputs, classes: NDArray[np.int64]) -> NeighborGraph:
        """Train a network on each half and return the edges, each row's with p of the other half's network."""
        alone = np.bincount(classes)[classes] < 2
        half = half_of(np.where(alone, -1, classes), self.random_state)  # so that each half has pairs
        kin = classes[inputs.indices] == classes[:, None]
        p = np.empty(kin.shape, dtype=np.float32)
        self.networks_, self.odds_ = [], []
        for number, seen in enumerate((half, ~half)):
            net = self._trained(inputs, classes, np.flatnonzero(seen), self.random_state + number)
            scores = self._scores(net, inputs)[~seen]
            self.networks_.append(net)
            self.odds_.append(calibrate(scores, kin[~seen], self.random_state))
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
        return knn_graph(UnitRows(unit), min(self.k_, len(unit) - 1), show_progress=self.show_progress)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_whole("k", self.k, auto=True)
        check_whole("steps", self.steps)

    def _card(self) -> str:
        settings = ", ".join(f"{name} {value}" for name, value in self.settings_.items())
        return f"""# A kinfolk {type(self).__name__}

`{self}`

- features: {self.n_features_in_} dimensions; k {self.k_}; linking: {settings}
- (F_P + F_B) / 2 x 100 on training identities, each by the network that was not trained on it: {100 * self.score_:.1f}
- it holds the weights of a network, no rows of the data

```python
import kinfolk as kf

labels = kf.cluster.{type(self).__name__}.load("this folder").predict(X)
```
"""


def calibrate(scores: NDArray[np.float32], kin: NDArray[np.bool_], seed: int) -> Calibration:
    """Return a and b of p = sigmoid(a score + b), from edges that a network was not trained on: (n, k) each.

    >>> a, b = calibrate(np.array([[0.1, 0.4, 0.6, 0.9]] * 9), np.array([[False, False, True, True]] * 9), seed=0)
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


def probability(scores: NDArray[np.float32], calibration: Calibration) -> NDArray[np.float32]:
    """Return sigmoid(a score + b).

    >>> probability(np.array([0.5]), (2.0, -1.0))
    array([0.5], dtype=float32)
    """
    return expit(calibration[0] * scores + calibration[1]).astype(np.float32)


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
    """Return the scores (n, k) of all edges, by score(rows (b,)) -> (b, k) in blocks, on all cores.

    `width`: floats gathered for each edge.

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


def cosine_decay(step: int, steps: int) -> float:
    """Return the factor of the learning rate at a step: a cosine from 1 to 0.

    >>> cosine_decay(50, 100)
    0.5
    """
    return 0.5 * (1 + float(np.cos(np.pi * step / steps)))
