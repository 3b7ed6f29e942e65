"""The feature methods of the tables: features as given, enhanced as in the paper, and enhanced as kinfolk does."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk.enhance import GraphEnhancer, KeptTrainingFreeWarning
from kinfolk.experiments.resume import Data, labels_of
from kinfolk.features import FeatureSet, unit_rows
from kinfolk.metrics._labels import half_of
from kinfolk.neighbors import NeighborGraph, knn_graph


@dataclass(frozen=True)
class FeatureMethod:
    """A row of a table: settings of GraphEnhancer (None: the features as given), and whether it is fitted to labels."""

    name: str
    settings: Mapping[str, Any] | None
    labelled: bool = True


def encoder(name: str, **settings: Any) -> FeatureMethod:
    """Return the method that trains an encoder of sub-graphs.

    >>> encoder("self", attention="self").settings
    {'model': 'subgraph', 'attention': 'self'}
    """
    return FeatureMethod(name, {"model": "subgraph", **settings})


ORIGINAL = FeatureMethod("original", None)
# names and order of the paper's Table 4
PAPER_METHODS = (
    encoder("GCN", attention="none"),
    encoder("Transformer", attention="self", base="transformer"),
    encoder("GCN w/ self", attention="self"),
    encoder("Transformer w/ band", attention="band", base="transformer"),
    encoder("GCN w/ band", attention="band"),
)
GCN, TRANSFORMER, GCN_SELF, TRANSFORMER_BAND, GCN_BAND = (method.name for method in PAPER_METHODS)
LABEL_FREE = FeatureMethod("label-free (kinfolk)", {}, labelled=False)
BAND = FeatureMethod("band (kinfolk)", {})
PAPER_ROWS = (ORIGINAL, *PAPER_METHODS)
FEATURE_METHODS = (*PAPER_ROWS, LABEL_FREE, BAND)


class Enhanced(NamedTuple):
    """Features of the test part (n, d'), the enhancer (None: as given), and the seconds of the fit and of the rest."""

    features: NDArray[np.float32]
    enhancer: GraphEnhancer | None
    fit_seconds: float
    seconds: float


class Tuning(NamedTuple):
    """Features (n, d') of identities of the training part that a method has not been fitted to, and their labels."""

    features: NDArray[np.float32]
    labels: NDArray[np.int64]


class FeatureCache:
    """Enhances sets by a feature method; the last fit, graph and features are kept for the next cell.

    >>> import kinfolk as kf
    >>> data = Data.of(kf.datasets.person_like(20, dim=16))
    >>> FeatureCache().test(LABEL_FREE, data, seed=0).features.shape == data.test.features.shape
    True
    """

    def __init__(self) -> None:
        """Start empty."""
        self._fit: tuple[object, GraphEnhancer, float] | None = None
        self._graph: tuple[object, NeighborGraph] | None = None
        self._test: tuple[object, Enhanced] | None = None
        self._tuning: tuple[object, Tuning] | None = None

    def test(self, method: FeatureMethod, data: Data, seed: int, part: int | None = None) -> Enhanced:
        """Return the test part, enhanced by what was learned from the training part, or without labels.

        part: at this scale (`Data.grown`) instead of whole.
        """
        key = data.fingerprint, str(method), seed, part
        if self._test is None or self._test[0] != key:
            self._test = key, self._make_test(method, data, seed, part)
        return self._test[1]

    def graph(self, data: Data, k: int) -> NeighborGraph:
        """Return the neighbour graph of the test part as given; one of a larger k is restricted to k."""
        if self._graph is None or self._graph[0] != data.fingerprint or self._graph[1].k < k:
            self._graph = data.fingerprint, knn_graph(data.test, k, show_progress=False)
        return self._graph[1].restrict(k)

    def tuning(self, method: FeatureMethod, data: Data, seed: int) -> Tuning:
        """Return features and labels of the training part on which thresholds may be tuned.

        A method that sees labels is fitted to one half of the training identities, and the other half is enhanced: its
        features are those of identities that the method has not seen, as in the test part. Otherwise it is the whole
        training part.
        """
        key = data.fingerprint, str(method), seed
        if self._tuning is None or self._tuning[0] != key:
            self._tuning = key, self._make_tuning(method, data, seed)
        return self._tuning[1]

    def _make_test(self, method: FeatureMethod, data: Data, seed: int, part: int | None) -> Enhanced:
        test = data.test if part is None else data.grown(part)
        if method.settings is None:
            return Enhanced(unit_rows(test), None, 0.0, 0.0)
        enhancer, fit_seconds = self._fitted_to(method, data, seed, None if method.labelled else part)
        start = time.perf_counter()
        Z = enhancer.transform(test)
        return Enhanced(Z, enhancer, fit_seconds, round(time.perf_counter() - start, 2))

    def _fitted_to(self, method: FeatureMethod, data: Data, seed: int, part: int | None) -> tuple[GraphEnhancer, float]:
        """Return the enhancer and the seconds of its fit; one that learned from the training part serves all scales."""
        key = data.fingerprint, str(method), seed, part
        if self._fit is None or self._fit[0] != key:
            start = time.perf_counter()
            without_labels = data.test if part is None else data.grown(part)
            enhancer = fitted(method, data.train if method.labelled else without_labels, data, seed)
            self._fit = key, enhancer, round(time.perf_counter() - start, 2)
        return self._fit[1:]

    def _make_tuning(self, method: FeatureMethod, data: Data, seed: int) -> Tuning:
        labels = labels_of(data.train)
        if method.settings is None:
            return Tuning(unit_rows(data.train), labels)
        if not method.labelled:
            return Tuning(fitted(method, data.train, data, seed).transform(data.train), labels)
        learned = half_of(labels, seed)
        enhancer = fitted(method, data.train.take(learned), data, seed)
        return Tuning(enhancer.transform(data.train.take(~learned)), labels[~learned])


def fitted(method: FeatureMethod, part: FeatureSet, data: Data, seed: int) -> GraphEnhancer:
    """Return the enhancer of a method, fitted to a part of the data.

    >>> import kinfolk as kf
    >>> data = Data.of(kf.datasets.person_like(20, dim=16))
    >>> fitted(LABEL_FREE, data.test, data, seed=0).trained_
    False
    """
    assert method.settings is not None
    settings = dict(method.settings)
    if settings.get("model") == "subgraph" and "k" not in settings:
        settings["k"] = data.kin_k
    enhancer = GraphEnhancer(**settings, random_state=seed, show_progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KeptTrainingFreeWarning)
        return enhancer.fit(part, part.labels if method.labelled else None)
