"""GraphEnhancer: better features from a neighbour graph, with or without labels."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from dataclasses import asdict
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kinfolk.errors import InputError
from kinfolk.features import FeatureSet, Matrix, as_matrix, unit_rows
from kinfolk.neighbors import NeighborGraph, knn_graph
from kinfolk.neighbors.search import Method
from kinfolk.nn.encoder import Encoder, EncoderConfig
from kinfolk.nn.kinship import GRID, Kinship, grid_of, kin_scale
from kinfolk.nn.propagate import ATTENTIONS, Propagation, attention_rows, propagate, training_free_rows
from kinfolk.similarity import choose_k
from kinfolk.similarity.scales import WINDOW
from kinfolk.threads import share_threads
from kinfolk.training.checkpoint import Checkpoints
from kinfolk.training.fast import FEWEST_CLASSES, apply_metric, fit_fast, k_between
from kinfolk.training.folder import load_model, save_model
from kinfolk.training.log import TrainingLog
from kinfolk.training.session import Session
from kinfolk.training.subgraph import FAST_STEPS, PAPER_STEPS, encode_all, train_fast, train_paper

KIND = "GraphEnhancer"
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
    hops             of the propagation; None: 3, or chosen on held-back identities
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
    [0.66, 0.83]
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
        self._check_settings()
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
        self.propagation_ = self._start()
        self.trained_ = False
        self.scores_: dict[str, float] = {}
        self.k_ = self._k_of_fit(_centred(unit, self.mean_))
        if self._subgraph:
            self.encoder_ = self._new_encoder(labels is not None)
        if labels is not None:
            self._learn(_centred(unit, self.mean_), labels)
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
        self._check_settings()
        share_threads()
        asked = self._prepared(X, "X")
        known = None if reference is None else self._prepared(reference, "the reference")
        for _ in range(self.rounds):
            if known is None:
                asked = self._enhance(asked)
            else:
                asked, known = self._enhance_against(asked, known)
        return asked

    def fit_transform(self, X: Matrix, y: ArrayLike | None = None, **_: Any) -> NDArray[np.float32]:
        """Fit to X, then return X enhanced.

        >>> GraphEnhancer(k=2).fit_transform(np.eye(5) + 0.1).shape
        (5, 5)
        """
        return self.fit(X, y).transform(X)

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write the model as a folder: config.json, weights.safetensors and README.md, the model card.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp() + "/model"
        >>> GraphEnhancer(k=2).fit(np.eye(5) + 0.1).save(folder)
        >>> GraphEnhancer.load(folder).k_
        2
        """
        check_is_fitted(self)
        config = dict(
            parameters=_plain(self.get_params()),
            k=self.k_,
            trained=self.trained_,
            scores=self.scores_,
            propagation=asdict(self.propagation_),
            encoder=asdict(self.encoder_.config) if self.encoder_ else None,
            n_features=self.n_features_in_,
        )
        tensors: dict[str, Any] = {"mean": self.mean_}
        # the shipped network goes with the model: a later release may ship another
        tensors |= {f"kinship.{name}": value for name, value in self.net_.state_dict().items()}
        if self.metric_ is not None:
            tensors["metric"] = self.metric_
        if self.encoder_ is not None:
            tensors |= {f"encoder.{name}": value for name, value in self.encoder_.state_dict().items()}
        save_model(path, kind=KIND, config=config, tensors=tensors, card=_card(self), force=force)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a folder that `save` wrote.

        >>> GraphEnhancer.load("nowhere")
        Traceback (most recent call last):
        kinfolk.errors.InputError: nowhere does not exist: a model folder was expected
        """
        _, config, tensors = load_model(path, kind=KIND)
        try:
            found = cls(**config["parameters"])
            found.k_, found.trained_ = config["k"], config["trained"]
            found.scores_ = config["scores"]
            found.n_features_in_ = config["n_features"]
            found.mean_ = tensors["mean"].numpy()
            found.metric_ = tensors["metric"].numpy() if "metric" in tensors else None
            found.propagation_ = Propagation(**config["propagation"])
            found.net_ = Kinship.shipped()
            found.net_.load_state_dict(_group(tensors, "kinship."))
            found.encoder_ = Encoder(EncoderConfig(**config["encoder"])) if config["encoder"] else None
            if found.encoder_ is not None:
                found.encoder_.load_state_dict(_group(tensors, "encoder."))
            out = found.encoder_.config.out_dim if found.encoder_ else None
            found._n_features_out = out or found.n_features_in_
        except (KeyError, TypeError, RuntimeError) as problem:
            raise InputError(f"{path} is not a model this version can read: {problem}") from None
        return found

    # ---- how the parts are chosen

    @property
    def _subgraph(self) -> bool:
        """Whether the sub-graph model is meant."""
        if self.model != "auto":
            return self.model == "subgraph"
        plain = self.base == "gcn" and self.layers == 1 and self.fusion == "theta" and self.heads == 1
        plain = plain and self.normalize == "adjacency" and self.out_dim is None and self.quartet_weights
        return self.recipe == "paper" or not plain or self.attention not in ATTENTIONS

    def _check_settings(self) -> None:
        for name, choices in dict(recipe=("fast", "paper"), model=("auto", "propagate", "subgraph")).items():
            if getattr(self, name) not in choices:
                raise InputError(f"{name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}")
        if self.k != "auto" and (isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or self.k < 1):
            raise InputError(f'k must be a whole number from 1 on, or "auto", not {self.k!r}')
        for name, value in dict(rounds=self.rounds, heads=self.heads, steps=self.steps).items():
            if value is None and name == "steps":
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise InputError(f"{name} must be a whole number from 1 on, not {value!r}")
        if self.rounds > 1 and self.out_dim is not None:
            raise InputError("rounds above 1 need results as wide as the features: leave out_dim away")
        if self.model == "propagate" and (self.base != "gcn" or self.layers != 1 or self.attention not in ATTENTIONS):
            raise InputError(
                f'model="propagate" has base="gcn", layers=1, attention {", ".join(ATTENTIONS)}: use model="subgraph"'
            )
        if self.recipe == "paper" and self.model == "propagate":
            raise InputError('the paper\'s recipe trains sub-graphs: use model="subgraph" or recipe="fast"')
        if self._subgraph:
            self._encoder_config(in_dim=self.heads, k=1, init="random")  # refuses what cannot be built
        else:
            self._start()

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

    def _start(self) -> Propagation:
        attention = self.attention if self.attention in ATTENTIONS or not self._subgraph else "band"
        theta_s = 15.0 if attention == "self" else 0.0
        return Propagation(attention=attention, theta_s=theta_s, hops=3 if self.hops is None else self.hops)

    def _new_encoder(self, labelled: bool) -> Encoder:
        torch.manual_seed(self.random_state)
        init: Literal["random", "identity"] = "random" if self.recipe == "paper" and labelled else "identity"
        return Encoder(self._encoder_config(self.n_features_in_, self.k_, init))

    def _encoder_config(self, in_dim: int, k: int, init: Literal["random", "identity"]) -> EncoderConfig:
        return EncoderConfig(
            in_dim=in_dim,
            k=k,
            attention=self.attention,  # type: ignore[arg-type]
            base=self.base,
            layers=self.layers,
            out_dim=self.out_dim,
            width=256 if 256 % self.heads == 0 else 32 * self.heads,
            heads=self.heads,
            fusion=self.fusion,
            quartet_weights=self.quartet_weights,
            normalize=self.normalize,
            concat=self.recipe == "paper" and self.base == "gcn",
            norm=self.recipe == "paper" and self.base == "gcn",
            init=init,
            floor=0.0 if self.recipe == "fast" else None,
        )

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
        wanted = WINDOW * (grid_of(len(X))[-1] if self.k == "auto" and not self._subgraph else self._given_k())
        most = len(X) - (queries is None)
        k = max(1, min(wanted, most))
        return knn_graph(
            X, k=k, queries=queries, method=self.method, seed=self.random_state, show_progress=self.show_progress
        )

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
                self.encoder_ = self._new_encoder(labelled=False)
            return
        session = self._session(X, classes)
        try:
            if self.encoder_ is not None:
                self._learn_subgraphs(X, classes, session)
            else:
                chosen = fit_fast(
                    X, classes, self._start(), session, None if self.k == "auto" else int(self.k), self.hops is None
                )
                self.metric_, self.propagation_ = chosen.metric, chosen.propagation
                self.k_, self.scores_ = chosen.k, chosen.scores
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
            digest = hashlib.sha256(json.dumps(_plain(settings), sort_keys=True).encode())
            digest.update(np.ascontiguousarray(X).tobytes())
            digest.update(classes.tobytes())
            checkpoints = Checkpoints(self.checkpoint_dir, CHECKPOINT_EVERY, fingerprint=digest.hexdigest())
        return Session(self.random_state, checkpoints, log, self.show_progress)

    # ---- transform

    def _prepared(self, X: Matrix, what: str) -> NDArray[np.float32]:
        unit = unit_rows(X)
        if unit.shape[1] != self.n_features_in_:
            raise InputError(f"{what} has {unit.shape[1]} dimensions, the fit had {self.n_features_in_}")
        return apply_metric(_centred(unit, self.mean_), self.metric_)

    def _enhance(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        if len(X) < 2:
            return X if self.encoder_ is None else encode_all(self.encoder_, X, np.empty((len(X), 0), dtype=int), None)
        g = self._graph(X)
        k = self._k_for(g)
        if self.encoder_ is not None:
            return encode_all(self.encoder_, X, g.indices[:, :k], None)
        weights = self._rows(X, g, k)
        Z = X
        for _ in range(self.propagation_.hops):
            Z = propagate(weights, g.indices, Z, Z)
        return _unit(Z)

    def _enhance_against(
        self, X: NDArray[np.float32], known: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the rows enhanced by the neighbours they have in the reference, and the reference enhanced."""
        if len(known) < 2:
            raise InputError(f"a reference needs at least 2 rows, not {len(known)}")
        g = self._graph(known)
        queries = self._graph(known, X)
        k = self._k_for(g)
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
        return _unit(Z), _unit(Z_known)

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

    def _k_for(self, g: NeighborGraph) -> int:
        """Return k for this graph: chosen anew with "auto", since another set may have classes of another size."""
        if self.k != "auto" or self.encoder_ is not None:
            k = self.k_ if self.k == "auto" else int(self.k)
        elif len(g) < FEWEST_ROWS_TO_CHOOSE:
            k = self.k_
        else:
            chosen = self._choose_k(g)
            k = k_between(self.k_, chosen) if self.trained_ else chosen
        return max(1, min(k, g.k))


def _centred(unit: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows less the mean, of length one; a row that is the mean stays as it was."""
    moved = unit - mean
    lengths = np.linalg.norm(moved, axis=1, keepdims=True)
    return np.where(lengths > 1e-6, moved / np.maximum(lengths, 1e-6), unit).astype(np.float32, copy=False)


def _unit(Z: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    return (Z / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32, copy=False)


def _group(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters as JSON has them."""
    return {
        name: str(value) if isinstance(value, os.PathLike) else value.item() if isinstance(value, np.generic) else value
        for name, value in parameters.items()
    }


def _card(e: GraphEnhancer) -> str:
    scores = "\n".join(f"- {name}: {100 * value:.2f}" for name, value in e.scores_.items()) or "- none were measured"
    how = "trained on labelled identities" if e.trained_ else "label-free, nothing was trained on your data"
    return f"""# A kinfolk GraphEnhancer

`{e}`

- {how}
- features: {e.n_features_in_} dimensions; k at the fit: {e.k_}
- made from features only; it holds a mean, a linear map and attention weights, no rows of the data

Mean average precision x 100 on held-back identities of the training data:

{scores}

```python
import kinfolk as kf

enhancer = kf.GraphEnhancer.load("this folder")
Z = enhancer.transform(X)
```
"""
