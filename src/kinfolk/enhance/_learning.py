"""What a `GraphEnhancer` learns from labels: a metric for the propagation, or an encoder of sub-graphs. Needs torch."""

from __future__ import annotations

import hashlib
import json
import warnings
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import CHECKPOINTS, adding
from kinfolk.enhance._saving import plain_parameters
from kinfolk.enhance._settings import first_propagation
from kinfolk.enhance.with_labels import FEWEST_CLASSES, LabelledGraph, fit_with_labels
from kinfolk.features import UnitRows
from kinfolk.neighbors import NeighborGraph, knn_graph

if TYPE_CHECKING:
    from kinfolk.enhance.graph_enhancer import GraphEnhancer
    from kinfolk.training.session import Session

CHECKPOINT_EVERY = 50  # steps: a few seconds of work
SUBGRAPH_BATCH_NEIGHBORS = 32  # neighbours that batches of the fast recipe are drawn from


class KeptTrainingFreeWarning(UserWarning):
    """Training did not help on held-back identities, or could not be tried: the training-free form is kept."""


def numbered_classes(y: ArrayLike | None, n: int) -> NDArray[np.int64] | None:
    """Return the classes numbered from 0, -1 where a label is unknown; None without labels.

    >>> numbered_classes(["b", "a", "b"], 3), numbered_classes([7, -1], 2)
    (array([1, 0, 1]), array([ 1, -1]))
    """
    if y is None:
        return None
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) != n:
        raise InputError(f"y must hold one label a row of X, not {labels.shape}")
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels):  # a column of pandas
        labels = labels.astype(np.str_)
    if labels.dtype.kind not in "biufUS":
        raise InputError(f"y must hold whole numbers or words, not {labels.dtype}")
    unknown = ~(labels >= 0) if labels.dtype.kind in "if" else np.zeros(n, dtype=bool)
    classes = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return np.where(unknown, -1, classes)


def enough_to_learn(e: GraphEnhancer, classes: NDArray[np.int64]) -> bool:
    """Tell whether there are identities enough, with a warning if there are not."""
    pairs = int(np.count_nonzero(np.bincount(classes[classes >= 0], minlength=1) > 1))
    fewest = FEWEST_CLASSES if e.recipe == "fast" else 1
    if pairs < fewest:
        _keep(f"{pairs} identities with two items or more are too few to learn from ({fewest} are needed)")
    return pairs >= fewest


def learn(e: GraphEnhancer, X: NDArray[np.float32], labels: NDArray[np.int64], g: NeighborGraph | None) -> None:
    """Set what labels decide: X (n, d) of length one, labels (n,), g the graph of X where it is known."""
    known = labels >= 0
    classes = np.unique(labels[known], return_inverse=True)[1].astype(np.int64)
    if not known.all():
        X, g = X[known], None
    with nullcontext() if e.checkpoint_dir is None else adding(e.checkpoint_dir, CHECKPOINTS):
        session = _session(e, X, classes)
        try:
            if e.encoder_ is not None:
                _learn_encoder(e, X, classes, session)
            else:
                _learn_metric(e, X, classes, g, session)
        finally:
            if session.log is not None:
                session.log.end()
    e.log_ = sorted(session.log.rows, key=lambda row: row["stage"]) if session.log else []  # stages run side by side
    if not e.trained_:
        _keep("training did not improve the mean average precision on held-back identities")


def _learn_metric(
    e: GraphEnhancer, X: NDArray[np.float32], classes: NDArray[np.int64], g: NeighborGraph | None, session: Session
) -> None:
    k = None if e.k == "auto" else int(e.k)
    given = LabelledGraph.of(X, classes, k, g if e.method == "auto" else None)
    chosen = fit_with_labels(given, first_propagation(e), session, k)
    e.metric_, e.scores_ = chosen.metric, chosen.scores
    e.k_, e.k_free_ = chosen.k, chosen.k_free
    e.trained_ = chosen.scores["trained"] > chosen.scores["label-free"]


def _learn_encoder(e: GraphEnhancer, X: NDArray[np.float32], classes: NDArray[np.int64], session: Session) -> None:
    from kinfolk.training import recipe_fast, recipe_paper

    assert e.encoder_ is not None
    k = min(max(e.k_, SUBGRAPH_BATCH_NEIGHBORS), len(X) - 1)
    g = knn_graph(UnitRows(X), k=k, method=e.method, show_progress=e.show_progress)
    if e.recipe == "paper":
        recipe_paper.train_paper(e.encoder_, X, classes, g, session, e.steps or recipe_paper.STEPS)
        e.trained_ = True
        return
    result = recipe_fast.train_fast(e.encoder_, X, classes, g, session, e.steps or recipe_fast.STEPS)
    e.trained_ = result.best_step > 0
    if result.best_score is not None:
        e.scores_ = {"trained": result.best_score}


def _keep(why: str) -> None:
    # the warning names the line that called fit: _keep <- learn <- _fit <- fit
    warnings.warn(f"{why}: the training-free form is kept", KeptTrainingFreeWarning, stacklevel=5)


def _session(e: GraphEnhancer, X: NDArray[np.float32], classes: NDArray[np.int64]) -> Session:
    from kinfolk.training.checkpoint import Checkpoints
    from kinfolk.training.log import TrainingLog
    from kinfolk.training.session import Session

    log = TrainingLog(e.checkpoint_dir, e.tensorboard)
    checkpoints = None
    if e.checkpoint_dir is not None:
        settings = {n: v for n, v in e.get_params().items() if n not in ("checkpoint_dir", "show_progress", "verbose")}
        digest = hashlib.sha256(json.dumps(plain_parameters(settings), sort_keys=True).encode())
        digest.update(np.ascontiguousarray(X).tobytes())
        digest.update(classes.tobytes())
        checkpoints = Checkpoints(e.checkpoint_dir, CHECKPOINT_EVERY, fingerprint=digest.hexdigest())
    return Session(e.random_state, checkpoints, log, e.show_progress)
