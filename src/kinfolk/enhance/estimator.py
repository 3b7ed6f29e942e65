"""GraphEnhancer: better features from a neighbour graph, with or without labels."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kinfolk.enhance.folder import load_enhancer, plain, save_enhancer
from kinfolk.enhance.settings import check_settings, first_propagation, new_encoder, wants_subgraphs
from kinfolk.errors import InputError
from kinfolk.features import FeatureSet, Matrix, as_matrix, of_length_one, unit_rows
from kinfolk.neighbors import NeighborGraph, knn_graph
from kinfolk.neighbors.search import Method
from kinfolk.nn.encoder import Encoder
from kinfolk.nn.kinship import GRID, Kinship, grid_of, kin_scale
from kinfolk.nn.propagate import attention_rows, propagate, training_free_rows, window_of
from kinfolk.similarity import choose_k
from kinfolk.similarity.scales import WINDOW
from kinfolk.threads import share_threads
from kinfolk.training.checkpoint import Checkpoints
from kinfolk.training.class_size import class_size
from kinfolk.training.fast import FEWEST_CLASSES, apply_metric, fit_fast, k_for
from kinfolk.training.log import TrainingLog
from kinfolk.training.session import Session
from kinfolk.training.subgraph import FAST_STEPS, PAPER_STEPS, encode_all, train_fast, train_paper

PAPER_K = 80
PAPER_DIM = 2048
FEWEST_ROWS_TO_CHOOSE = 60  # below it k is the one of the fit: so few rows say little about their classes
CHECKPOINT_EVERY = 50
# the settings of the paper's three data sets
PRESETS: dict[str, dict[str, Any]] = {
    "ms-celeb": dict(k=120, layers=3),
    "msmt17": dict(k=30, layers=1),
    "veri-776": dict(k=80, layers=1),
}


class KeptTrainingFreeWarning(UserWarning):
    """Training did not help on held-back identities, or could not be tried: the training-free form is kept."""


class GraphEnhancer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Better features from the neighbour graph: every row becomes a mean of its kin, and kin are found by many tests.

    fit(X, y) learns from labelled identities; fit(X) alone needs no labels. transform(X) builds the graph of the rows
    it is given and returns (n, d') float32 rows of length one; transform(X_new, reference=X_old) takes the neighbours
    from the reference.

    k                neighbours, or "auto": chosen for each set by how many of the 2 k nearest are kin
    attention        "none", "self", "quartet", "band", "quartet_self", "band_self" (the paper's tilde forms), "cosine",
                     "kernel"
    base, layers     "gcn" or "transformer", 1 to 3 layers, of the sub-graph model
    recipe           "fast": the best we know; "paper": the paper's network, loss and optimiser, see also `paper`
    model            "propagate": attention on the whole graph, `hops` times; "subgraph": an encoder of each row's
                     sub-graph; "auto": propagate where the fast recipe has the form asked for
    hops             of the propagation; None: 5, or 3 without the kinship network
    pretrained       False: the label-free form does without the shipped kinship network (the paper's tests at one k)
    rounds           how often the graph is built again from the enhanced features
    fusion, quartet_weights, heads, normalize, out_dim    of the sub-graph model, see `kinfolk.nn.EncoderConfig`
    steps            training steps of the sub-graph model; None: 300 (fast), 100,000 (paper)
    method           of the neighbour search, see `knn_graph`
    checkpoint_dir   training continues from here after an interruption; a log is written there too
    tensorboard      also log for TensorBoard
    random_state     the same number gives the same bits on one machine
    show_progress    bars on a terminal

    Memory of `propagate`: the graph (8 bytes an edge of up to 384), 4 bytes an attended edge, 3 copies of the features.

    >>> import kinfolk as kf
    >>> fs = kf.datasets.digits()
    >>> Z = GraphEnhancer().fit(fs).transform(fs)
    >>> [round(kf.metrics.mean_average_precision(V, fs.labels), 2) for V in (fs, Z)]
    [0.66, 0.84]
    """

    def __init__(  # noqa: D107
        self,
        k: int | Literal["auto"] = "auto",
        attention: str = "band",
        base: Literal["gcn", "transformer"] = "gcn",
        layers: int = 1,
        recipe: Literal["fast", "paper"] = "fast",
        *,
        model: Literal["auto", "propagate", "subgraph"] = "auto",
        hops: int | None = None,
        pretrained: bool = True,
        rounds: int = 1,
        fusion: Literal["theta", "add", "mul"] = "theta",
        quartet_weights: bool = True,
        heads: int = 1,
        normalize: Literal["adjacency", "qk"] = "adjacency",
        out_dim: int | None = None,
        steps: int | None = None,
        method: Method = "auto",
        checkpoint_dir: str | os.PathLike[str] | None = None,
        tensorboard: bool = False,
        random_state: int = 0,
        show_progress: bool = True,
    ) -> None:
        self.k = k
        self.attention = attention
        self.base = base
        self.layers = layers
        self.recipe = recipe
        self.model = model
        self.hops = hops
        self.pretrained = pretrained
        self.rounds = rounds
        self.fusion = fusion
        self.quartet_weights = quartet_weights
        self.heads = heads
        self.normalize = normalize
        self.out_dim = out_dim
        self.steps = steps
        self.method = method
        self.checkpoint_dir = checkpoint_dir
        self.tensorboard = tensorboard
        self.random_state = random_state
        self.show_progress = show_progress

    @classmethod
    def paper(cls, dataset: Literal["ms-celeb", "msmt17", "veri-776"], **changes: Any) -> Self:
        """Return the paper's own settings for one of its data sets.

        >>> GraphEnhancer.paper("msmt17")
        GraphEnhancer(k=30, out_dim=2048, recipe='paper')
        """
        if dataset not in PRESETS:
            raise InputError(f"the paper has settings for {', '.join(PRESETS)}, not for {dataset!r}")
        return cls(**{"recipe": "paper", "out_dim": PAPER_DIM, **PRESETS[dataset], **changes})

    def fit(self, X: Matrix, y: ArrayLike | None = None) -> Self:
        """Learn from features X (n, d) and, where there are any, the labels y (n,); labels below zero are unknown.

        >>> import kinfolk as kf
        >>> fs = kf.datasets.celeb_like(n_identities=12).part("train")
        >>> GraphEnhancer(k=10).fit(fs, fs.labels).trained_
        True
        """
        check_settings(self)
        share_threads()
        self.__dict__.pop("k_", None)  # of an earlier fit
        labels = self._labels(X, y)
        unit = unit_rows(X)
        if len(unit) < 2:
            raise InputError(f"at least 2 rows are needed to find neighbours, not {len(unit)}")
        self.n_features_in_ = unit.shape[1]
        self.mean_ = unit.mean(axis=0) if self.recipe == "fast" else np.zeros(unit.shape[1], dtype=np.float32)
        self.metric_: NDArray[np.float32] | None = None
        self.net_ = Kinship.shipped()
        self.encoder_: Encoder | None = None
        self.propagation_ = first_propagation(self)
        self.trained_ = False
        self.scores_: dict[str, float] = {}
        self.class_size_: float | None = None
        self.k_ = self._k_of_fit(of_length_one(unit - self.mean_, unit))
        self.k_free_ = self.k_
        if wants_subgraphs(self):
            self.encoder_ = new_encoder(self, labels is not None)
        if labels is not None:
            self._learn(of_length_one(unit - self.mean_, unit), labels)
        self._n_features_out = self.encoder_.config.out_dim or unit.shape[1] if self.encoder_ else unit.shape[1]
        return self

    def transform(self, X: Matrix, *, reference: Matrix | None = None) -> NDArray[np.float32]:
        """Return the enhanced features (n, d'), rows of length one.

        reference: rows among which the neighbours are looked for; without it, among X itself.

        >>> import kinfolk as kf
        >>> fs = kf.datasets.digits()
        >>> old, new = fs.features[:1500], fs.features[1500:]
        >>> GraphEnhancer().fit(old).transform(new, reference=old).shape
        (297, 64)
        """
        check_is_fitted(self)
        check_settings(self)
        share_threads()
        plain = self._centred(X, "X")
        asked = apply_metric(plain, self.metric_)
        if reference is None:
            for _ in range(self.rounds):
                asked = self._enhance(asked, plain)
            return asked
        plain = self._centred(reference, "the reference")
        known = apply_metric(plain, self.metric_)
        for _ in range(self.rounds):
            asked, known = self._enhance_against(asked, known, plain)
        return asked

    def subgraphs(self, X: Matrix) -> tuple[NDArray[np.float32], NDArray[np.integer]]:
        """Return what the first round of `transform` starts from: rows (n, d) of length one, and the k nearest of each.

        >>> rows, neighbors = GraphEnhancer(k=2).fit(np.eye(5) + 0.1).subgraphs(np.eye(5) + 0.1)
        >>> rows.shape, neighbors.shape
        ((5, 5), (5, 2))
        """
        check_is_fitted(self)
        plain = self._centred(X, "X")
        rows = apply_metric(plain, self.metric_)
        g = self._graph(rows)
        return rows, g.indices[:, : self._k_for(g, plain)]

    def fit_transform(self, X: Matrix, y: ArrayLike | None = None, **_: Any) -> NDArray[np.float32]:
        """Fit to X, then return X enhanced; the same as fit and transform, with one neighbour search instead of two.

        >>> GraphEnhancer(k=2).fit_transform(np.eye(5) + 0.1).shape
        (5, 5)
        """
        with self.searching_once():
            return self.fit(X, y).transform(X)

    @contextmanager
    def searching_once(self) -> Iterator[None]:
        """Keep the last neighbour graph, for the same rows that are asked for again before the end.

        >>> e = GraphEnhancer(k=2)
        >>> with e.searching_once():
        ...     e.fit(np.eye(5) + 0.1).transform(np.eye(5) + 0.1).shape
        (5, 5)
        """
        self._last_graph: tuple[NDArray[np.float32], NeighborGraph] | None = None
        try:
            yield
        finally:
            del self._last_graph

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write the model as a folder: config.json, weights.safetensors and README.md, the model card.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp() + "/model"
        >>> GraphEnhancer(k=2).fit(np.eye(5) + 0.1).save(folder)
        >>> GraphEnhancer.load(folder).k_
        2
        """
        check_is_fitted(self)
        save_enhancer(self, path, force)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a folder that `save` wrote.

        >>> GraphEnhancer.load("nowhere")
        Traceback (most recent call last):
        kinfolk.errors.InputError: nowhere does not exist: a model folder was expected
        """
        return load_enhancer(cls, path)

    # ---- how the parts are chosen

    def _labels(self, X: Matrix, y: ArrayLike | None) -> NDArray[np.int64] | None:
        if y is None:
            return None
        labels = np.asarray(y)
        if labels.ndim != 1 or len(labels) != len(X if isinstance(X, FeatureSet) else as_matrix(X)):
            raise InputError(f"y must hold one label a row of X, not {labels.shape}")
        if labels.dtype.kind not in "biufUS":
            raise InputError(f"y must hold whole numbers or words, not {labels.dtype}")
        unknown = ~(labels >= 0) if labels.dtype.kind in "if" else np.zeros(len(labels), dtype=bool)
        classes = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        return np.where(unknown, -1, classes)

    def _k_of_fit(self, X: NDArray[np.float32]) -> int:
        if self.k != "auto":
            return int(min(self.k, len(X) - 1))
        if self.recipe == "paper":
            return min(PAPER_K, len(X) - 1)
        return self._choose_k(self._graph(X))

    def _choose_k(self, g: NeighborGraph) -> int:
        if self.pretrained:
            return kin_scale(self.net_, g, self.random_state)
        return choose_k(g.restrict(min(g.k, max(GRID)))) if g.k >= 5 else g.k

    def _graph(self, X: NDArray[np.float32], queries: NDArray[np.float32] | None = None) -> NeighborGraph:
        """Return the graph with as many neighbours as are looked at: the largest k there may be, or the one given."""
        choosing = self.k == "auto" and not wants_subgraphs(self)
        wanted = WINDOW * grid_of(len(X))[-1] if choosing else window_of(self._given_k())
        most = len(X) - (queries is None)
        k = max(1, min(wanted, most))
        last = getattr(self, "_last_graph", None)
        if queries is None and last is not None and last[1].k == k and np.array_equal(last[0], X):
            return last[1]
        g = knn_graph(
            X, k=k, queries=queries, method=self.method, seed=self.random_state, show_progress=self.show_progress
        )
        if queries is None and hasattr(self, "_last_graph"):
            self._last_graph = X, g
        return g

    def _given_k(self) -> int:
        if self.k == "auto":
            return self.k_ if hasattr(self, "k_") else max(GRID)
        return int(self.k)

    def _learn(self, X: NDArray[np.float32], labels: NDArray[np.int64]) -> None:
        known = labels >= 0
        X, classes = X[known], np.unique(labels[known], return_inverse=True)[1].astype(np.int64)
        sizes = np.bincount(classes) if len(classes) else np.zeros(0)
        pairs = np.count_nonzero(sizes > 1)
        fewest = FEWEST_CLASSES if self.recipe == "fast" else 1
        if pairs < fewest:
            self._keep(f"{pairs} identities with two items or more are too few to learn from ({fewest} are needed)")
            if self.encoder_ is not None:
                self.encoder_ = new_encoder(self, labelled=False)
            return
        self.class_size_ = class_size(classes)
        session = self._session(X, classes)
        try:
            if self.encoder_ is not None:
                self._learn_subgraphs(X, classes, session)
            else:
                k = None if self.k == "auto" else int(self.k)
                chosen = fit_fast(X, classes, first_propagation(self), session, k)
                self.metric_, self.scores_ = chosen.metric, chosen.scores
                self.k_, self.k_free_ = chosen.k, chosen.k_free
                self.trained_ = chosen.scores["trained"] > chosen.scores["label-free"]
        finally:
            if session.log is not None:
                session.log.end()
        self.log_ = session.log.rows if session.log else []
        if not self.trained_:
            self._keep("training did not improve the mean average precision on held-back identities")

    def _learn_subgraphs(self, X: NDArray[np.float32], classes: NDArray[np.int64], session: Session) -> None:
        assert self.encoder_ is not None
        g = knn_graph(X, k=min(max(self.k_, 32), len(X) - 1), method=self.method, show_progress=self.show_progress)
        if self.recipe == "paper":
            train_paper(self.encoder_, X, classes, g, session, self.steps or PAPER_STEPS)
            self.trained_ = True
            return
        result = train_fast(self.encoder_, X, classes, g, session, self.steps or FAST_STEPS)
        self.trained_ = result.best_step > 0
        if result.best_score is not None:
            self.scores_ = {"trained": result.best_score}

    def _keep(self, why: str) -> None:
        warnings.warn(f"{why}: the training-free form is kept", KeptTrainingFreeWarning, stacklevel=4)

    def _session(self, X: NDArray[np.float32], classes: NDArray[np.int64]) -> Session:
        log = TrainingLog(self.checkpoint_dir, self.tensorboard)
        checkpoints = None
        if self.checkpoint_dir is not None:
            settings = {n: v for n, v in self.get_params().items() if n not in ("checkpoint_dir", "show_progress")}
            digest = hashlib.sha256(json.dumps(plain(settings), sort_keys=True).encode())
            digest.update(np.ascontiguousarray(X).tobytes())
            digest.update(classes.tobytes())
            checkpoints = Checkpoints(self.checkpoint_dir, CHECKPOINT_EVERY, fingerprint=digest.hexdigest())
        return Session(self.random_state, checkpoints, log, self.show_progress)

    # ---- transform

    def _centred(self, X: Matrix, what: str) -> NDArray[np.float32]:
        unit = unit_rows(X)
        if unit.shape[1] != self.n_features_in_:
            raise InputError(f"{what} has {unit.shape[1]} dimensions, the fit had {self.n_features_in_}")
        return of_length_one(unit - self.mean_, unit)

    def _enhance(self, X: NDArray[np.float32], plain: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the rows enhanced; `plain`: the rows as they were before the metric."""
        if len(X) < 2:
            return X if self.encoder_ is None else encode_all(self.encoder_, X, np.empty((len(X), 0), dtype=int), None)
        g = self._graph(X)
        k = self._k_for(g, plain)
        if self.encoder_ is not None:
            return encode_all(self.encoder_, X, g.indices[:, :k], None)
        weights = self._rows(X, g, k)
        Z = X
        for _ in range(self.propagation_.hops):
            Z = propagate(weights, g.indices, Z, Z)
        return of_length_one(Z)

    def _enhance_against(
        self, X: NDArray[np.float32], known: NDArray[np.float32], plain: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the rows enhanced by the neighbours they have in the reference, and the reference enhanced."""
        if len(known) < 2:
            raise InputError(f"a reference needs at least 2 rows, not {len(known)}")
        g = self._graph(known)
        queries = self._graph(known, X)
        k = self._k_for(g, plain)
        if self.encoder_ is not None:
            later = encode_all(self.encoder_, known, g.indices[:, :k], None) if self.rounds > 1 else known
            return encode_all(self.encoder_, known, queries.indices[:, :k], X), later
        weights, theirs = self._rows(X, g, k, queries, known), self._rows(known, g, k)
        Z, Z_known = X, known
        for _ in range(self.propagation_.hops):
            Z, Z_known = (
                propagate(weights, queries.indices, Z_known, Z),
                propagate(theirs, g.indices, Z_known, Z_known),
            )
        return of_length_one(Z), of_length_one(Z_known)

    def _rows(
        self,
        X: NDArray[np.float32],
        g: NeighborGraph,
        k: int,
        queries: NeighborGraph | None = None,
        known: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        if self.pretrained or self.propagation_.attention in ("none", "self"):
            return attention_rows(self.propagation_, self.net_, g, k, queries)
        return training_free_rows(X, g, k, queries, known)

    def _k_for(self, g: NeighborGraph, plain: NDArray[np.float32]) -> int:
        """Return k for this graph: chosen anew with "auto", since another set may have classes of another size."""
        if self.k != "auto":
            k = int(self.k)
        elif self.encoder_ is not None or len(g) < FEWEST_ROWS_TO_CHOOSE:
            k = self.k_
        else:
            # the metric makes neighbourhoods look more closed than they are
            own = self._choose_k(g if self.metric_ is None else self._graph(plain))
            k = k_for(own, self.k_free_, self.k_) if self.trained_ else own
        return max(1, min(k, g.k))
