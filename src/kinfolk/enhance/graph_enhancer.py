"""GraphEnhancer: better features from a neighbour graph, with or without labels."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kinfolk._core.errors import InputError
from kinfolk._core.extras import require
from kinfolk._core.feature_names import check_columns, remember_columns
from kinfolk._core.frames import is_frame
from kinfolk._core.progress import log_lines, stage
from kinfolk._core.rows import of_length_one
from kinfolk._core.threads import share_threads
from kinfolk.enhance._learning import enough_to_learn, learn, numbered_classes
from kinfolk.enhance._saving import load_enhancer, save_enhancer
from kinfolk.enhance._serving import choose_k_of, distinct, enhance, enhance_against, graph_of, k_for
from kinfolk.enhance._settings import check_settings, encoder_config, first_propagation, wants_subgraphs
from kinfolk.enhance.cameras import cameras_of
from kinfolk.enhance.propagation import Propagation
from kinfolk.enhance.with_labels import apply_metric
from kinfolk.features import FeatureSet, Matrix, UnitRows, as_matrix, refuse_enhanced, unit_rows
from kinfolk.kinship.choose_k import mean_class_size
from kinfolk.kinship.network import KinshipNetwork
from kinfolk.neighbors import NeighborGraph
from kinfolk.neighbors.search import Method

if TYPE_CHECKING:
    from kinfolk.nn.encoder import Encoder

log = logging.getLogger(__name__)
PAPER_K = 80
PAPER_DIM = 2048
# the settings of the paper's three data sets
PRESETS: dict[str, dict[str, Any]] = {
    "ms-celeb": dict(k=120, layers=3),
    "msmt17": dict(k=30, layers=1),
    "veri-776": dict(k=80, layers=1),
}


class GraphEnhancer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Better features from the neighbour graph: every row becomes a mean of its kin, and kin are found by many tests.

    `fit(X, y)` learns from labelled identities and needs torch (`pip install "kinfolk[train]"`); `fit(X)` alone needs
    neither. `transform(X)` builds the graph of the rows it is given.

    Parameters
    ----------
    k : neighbours, or "auto": chosen for each set by how many of the 2 k nearest are kin (`kinfolk.kinship.choose_k`).
    attention : "none", "self", "quartet", "band", "quartet_self", "band_self" (the paper's tilde forms), "cosine",
        "kernel".
    base, layers : "gcn" or "transformer", 1 to 3 layers, of the sub-graph model.
    recipe : "fast": the best we know; "paper": the paper's network, loss and optimiser, see also `paper`.
    model : "propagate": attention on the whole graph, `hops` times; "subgraph": an encoder of each row's sub-graph
        (needs torch); "auto": propagate where the fast recipe has that form.
    hops : of the propagation; None: 5, or 3 without the kinship network.
    pretrained : False: the label-free form does without the shipped kinship network (the paper's tests at one k).
    fusion, quartet_weights, heads, normalize, out_dim : of the sub-graph model, see `kinfolk.nn.EncoderConfig`.
    steps : training steps of the sub-graph model; None: 300 (fast), 100,000 (paper).
    method : of the neighbour search, see `knn_graph`.
    checkpoint_dir : training continues from here after an interruption; a log is written there too.
    tensorboard : also log for TensorBoard.
    random_state : the same number gives the same bits on one machine; with recipe="paper", whose sums torch divides
        among the threads, also for the same OMP_NUM_THREADS.
    show_progress : bars on a terminal.
    verbose : say on standard error what is done, and how long.

    Attributes
    ----------
    n_features_in_, feature_names_in_ : dimensions, and the titles of the columns after a fit on a table.
    k_ : the k of the fit; another set may get another one.
    trained_ : whether labels improved on the label-free form on held-back identities; if not, that one is kept.
    scores_ : mean average precision on held-back identities, of the label-free and the trained form.
    class_size_ : mean class size of a labelled row; None without labels.

    Without the sub-graph model, a map is learned from the rows of each `transform`, or from its reference, where there
    are five or more a dimension (`kinfolk.enhance.distillation`): a third of a second for 256 dimensions, 14 s for
    2,048.

    Memory of `propagate`: the graph (8 bytes an edge of up to 240), 4 bytes an attended edge, 3 copies of the features;
    with a map one copy and one graph of k's window more; with near copies among the rows two graphs and one copy more.

    Examples
    --------
    >>> import kinfolk as kf
    >>> fs = kf.datasets.digits()
    >>> Z = GraphEnhancer().fit(fs).transform(fs)
    >>> [round(kf.metrics.mean_average_precision(V, fs.labels), 2) for V in (fs, Z)]
    [0.66, 0.86]
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
        verbose: bool = False,
    ) -> None:
        self.k = k
        self.attention = attention
        self.base = base
        self.layers = layers
        self.recipe = recipe
        self.model = model
        self.hops = hops
        self.pretrained = pretrained
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
        self.verbose = verbose

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
        with log_lines(self.verbose):
            self._fit(X, y)
        return self

    def transform(
        self, X: Matrix, *, reference: Matrix | None = None, nearest_scale: bool = True
    ) -> NDArray[np.float32]:
        """Return the enhanced features (n, d'), rows of length one.

        Parameters
        ----------
        reference : rows among which the neighbours are looked for; without it, among X itself.
        nearest_scale : False: skip the 0.25 k scale. It helps a ranking and splits classes, so clusterers do without.

        Examples
        --------
        >>> import kinfolk as kf
        >>> fs = kf.datasets.digits()
        >>> old, new = fs.features[:1500], fs.features[1500:]
        >>> GraphEnhancer().fit(old).transform(new, reference=old).shape
        (297, 64)
        """
        check_is_fitted(self)
        check_settings(self)
        share_threads()
        propagation = self._propagation(nearest_scale)
        with log_lines(self.verbose), stage("enhancing", self.show_progress):
            if reference is None:
                return enhance(self, self._centred(X, "X"), propagation)
            rows, known = self._centred(X, "X", reference), self._centred(reference, "the reference")
            return enhance_against(self, rows, known, propagation)

    def fit_transform(
        self, X: Matrix, y: ArrayLike | None = None, *, nearest_scale: bool = True
    ) -> NDArray[np.float32]:
        """Fit to X, then return X enhanced: `fit` and `transform` with one neighbour search instead of two.

        >>> GraphEnhancer(k=2).fit_transform(np.eye(5) + 0.1).shape
        (5, 5)
        """
        with log_lines(self.verbose):
            rows, g = self._fit(X, y)
            with stage("enhancing", self.show_progress):
                return enhance(self, rows, self._propagation(nearest_scale), g)

    def mapped(self, X: Matrix) -> NDArray[np.float32]:
        """Return rows (n, d) of length one less the mean of the fit, by the metric that labels taught, not propagated.

        >>> GraphEnhancer(k=2).fit(np.eye(5) + 0.1).mapped(np.eye(5) + 0.1).shape
        (5, 5)
        """
        check_is_fitted(self)
        return apply_metric(self._centred(X, "X"), self.metric_)

    def subgraphs(self, X: Matrix) -> tuple[NDArray[np.float32], NDArray[np.integer]]:
        """Return what `transform` starts from: rows (n, d) of length one, and the k nearest of each.

        >>> rows, neighbors = GraphEnhancer(k=2).fit(np.eye(5) + 0.1).subgraphs(np.eye(5) + 0.1)
        >>> rows.shape, neighbors.shape
        ((5, 5), (5, 2))
        """
        check_is_fitted(self)
        rows = self._centred(X, "X")
        mapped = apply_metric(rows, self.metric_)
        g = graph_of(self, mapped)
        plain = g if self.metric_ is None else graph_of(self, rows)
        return mapped, g.indices[:, : k_for(self, g, plain)]

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
        kinfolk.InputError: nowhere does not exist: a model folder was expected
        """
        return load_enhancer(cls, path)

    # ---- fit

    def _fit(self, X: Matrix, y: ArrayLike | None) -> tuple[NDArray[np.float32], NeighborGraph | None]:
        """Fit, and return the centred rows with their graph, where there was a search."""
        check_settings(self)
        if y is not None or wants_subgraphs(self):
            require("torch", extra="train")  # before any work
        refuse_enhanced(X)
        share_threads()
        self.__dict__.pop("k_", None)  # of an earlier fit
        unit = unit_rows(X)
        labels = numbered_classes(y, len(unit))
        if len(unit) < 2:
            raise InputError(f"at least 2 rows are needed to find neighbours, not {len(unit)}")
        remember_columns(self, X, unit)
        if self.k != "auto" and self.k > len(unit) - 1:
            raise InputError(f"k={self.k} neighbours are too many: each row has {len(unit) - 1:,} others")
        self.mean_ = unit.mean(axis=0) if self.recipe == "fast" else np.zeros(unit.shape[1], dtype=np.float32)
        self.metric_: NDArray[np.float32] | None = None
        self.net_ = KinshipNetwork.shipped()
        self.encoder_: Encoder | None = None
        self.propagation_ = first_propagation(self)
        self.trained_ = False
        self.scores_: dict[str, float] = {}
        self.class_size_: float | None = None
        rows = of_length_one(self._without_cameras(unit, X) - self.mean_, unit)
        g = graph_of(self, rows) if self.k == "auto" and self.recipe == "fast" else None
        things, plain, which = (rows, None, np.arange(len(rows))) if g is None else distinct(self, rows, g)
        classes = None if labels is None else _labels_of(which, labels)
        learns = classes is not None and enough_to_learn(self, classes)
        if not learns or wants_subgraphs(self):
            self.k_ = self.k_free_ = self._k_of_fit(len(rows), plain)
        if wants_subgraphs(self):
            self.encoder_ = self._new_encoder(learns)
        if labels is not None and classes is not None and learns:
            self.class_size_ = mean_class_size(np.unique(labels[labels >= 0], return_inverse=True)[1])
            learn(self, things, classes, plain)
        self._n_features_out = self._out_dim()
        log.info("k %d, %s, by %s", self.k_, "trained" if self.trained_ else "without labels", self)
        return rows, g

    def _k_of_fit(self, n: int, g: NeighborGraph | None) -> int:
        if g is not None:
            return choose_k_of(self, g)
        return min(PAPER_K, n - 1) if self.k == "auto" else int(self.k)

    def _new_encoder(self, labelled: bool) -> Encoder:
        """Return an encoder for features and k of the fit: the training-free form, or random where the paper trains."""
        from kinfolk.nn.encoder import seeded_encoder

        init: Literal["random", "identity"] = "random" if self.recipe == "paper" and labelled else "identity"
        return seeded_encoder(encoder_config(self, self.n_features_in_, self.k_, init), self.random_state)

    def _out_dim(self) -> int:
        return (self.encoder_ is not None and self.encoder_.config.out_dim) or self.n_features_in_

    # ---- transform

    def _centred(self, X: Matrix, what: str, reference: Matrix | None = None) -> NDArray[np.float32]:
        refuse_enhanced(X)
        matrix = as_matrix(X)
        if not isinstance(X, UnitRows):  # those come from another step, which has checked the columns
            check_columns(self, X, matrix)
        unit = unit_rows(matrix if is_frame(X) else X)
        if unit.shape[1] != self.n_features_in_:
            raise InputError(f"{what} has {unit.shape[1]} dimensions, the fit had {self.n_features_in_}")
        return of_length_one(self._without_cameras(unit, X, reference) - self.mean_, unit)

    def _without_cameras(
        self, unit: NDArray[np.float32], X: Matrix, reference: Matrix | None = None
    ) -> NDArray[np.float32]:
        """Return the rows (n, d) without what their cameras add, where X knows its cameras; not as the paper does it.

        What cameras add is learned from the reference if there is one: X may be a single row.
        """
        if not isinstance(X, FeatureSet) or X.cameras is None or self.recipe == "paper":
            return unit
        known = X if reference is None else reference
        seen = unit if known is X else unit_rows(known)
        found = cameras_of(seen, known.cameras) if isinstance(known, FeatureSet) else None
        return unit if found is None else found.without(unit, X.cameras)

    def _propagation(self, nearest_scale: bool) -> Propagation:
        return self.propagation_ if nearest_scale else replace(self.propagation_, nearest=False)


def _labels_of(which: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a label for each distinct thing (m,), of those of its copies; -1 where none is known.

    >>> _labels_of(np.array([0, 1, 0]), np.array([-1, 4, 2]))
    array([2, 4])
    """
    result = np.full(int(which.max()) + 1, -1)
    np.maximum.at(result, which, labels)
    return result
