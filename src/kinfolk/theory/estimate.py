"""The quantities of the theory estimated on a labelled graph, and its predictions beside measurements there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.kernels import kernel, over_spans, read_only
from kinfolk.metrics import edge_noise_rate, roc
from kinfolk.neighbors import NeighborGraph
from kinfolk.similarity.sim_m import sim_m
from kinfolk.theory.bounds import Errors, best_cut, exact_error_rates, min_tests


@dataclass(frozen=True)
class Estimate:
    """The quantities of the theorem on one graph, and what follows from them.

    Attributes
    ----------
    threshold : similarity from which on one test passes.
    p, q : share of the edges within a class and between classes that pass.
    alpha : share of the common candidates of two neighbours that are of the first one's class.
    m : mean number of common candidates.
    soft_threshold : threshold for `kf.sim_m` with its defaults, halfway between its expected values for both kinds of
        edges, (m (mu_- + mu_+) / 2 + (s_+ + s_-) / 2) / (k + 1), where the second term is the pair's own two rows.
    holds : whether alpha > 1/2 and p > q; where it is False the fields below are None, but for one_test.
    needed, needed_exact : tests that halve both kinds of error edges, by Theorem 1 and by exact tails.
    cut : Sim-M from which on an edge is kept, with the fewest expected error edges.
    one_test, predicted, measured : error edges a node with one test, with many tests by exact tails at m and `cut`,
        and counted with binary Sim-M at the same cut.
    """

    threshold: float
    p: float
    q: float
    alpha: float
    m: float
    soft_threshold: float
    holds: bool
    needed: int | None
    needed_exact: int | None
    cut: float | None
    one_test: Errors
    predicted: Errors | None
    measured: Errors | None

    def __str__(self) -> str:
        lines = [
            f"one test passes from {self.threshold:.3f} on: p = {self.p:.3f} within a class, q = {self.q:.3f} between",
            f"common candidates: m = {self.m:.1f}, of which alpha = {self.alpha:.3f} are of the node's class",
        ]
        if not self.holds:
            return "\n".join([*lines, "the condition alpha > 1/2, p > q FAILS here: k is too large for the classes"])
        assert self.predicted is not None
        assert self.measured is not None
        lines.append(
            f"the condition holds; tests that halve the errors: {self.needed} (bound), {self.needed_exact} (exact)"
        )
        for name, errors in (("one test", self.one_test), ("predicted", self.predicted), ("measured", self.measured)):
            lines.append(f"  {name:<10} {errors.noisy:7.3f} noisy and {errors.missing:7.3f} missing edges a node")
        return "\n".join(lines)


def estimate(g: NeighborGraph, y: ArrayLike, threshold: float | None = None) -> Estimate:
    """Estimate p, q, alpha and m on a labelled graph and compare the theory's prediction with what is measured.

    The theory assumes two classes, independent tests and the same m for every pair; a real graph has none of these, and
    the difference between prediction and measurement shows how much that matters.

    Parameters
    ----------
    g : a NeighborGraph (n, k).
    y : labels (n,); -1: unknown, of no class.
    threshold : cosine from which on one test passes; None: the one with the largest p - q, by the labels.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import kinfolk as kf
    >>> digits = kf.datasets.digits()
    >>> kf.theory.estimate(kf.knn_graph(digits, k=40), digits.labels).holds
    True
    """
    labels = np.asarray(y)
    noise = edge_noise_rate(g, labels)
    if not 0 < noise < 1:
        raise InputError(f"{noise:.0%} of the edges are noisy: without both kinds of edges nothing can be estimated")
    cosine = _best_cosine(g, labels) if threshold is None else threshold
    same = (labels[g.indices] == labels[:, None]) & (labels[:, None] >= 0)
    passed = np.asarray(g.similarities) >= cosine
    p, q = float(passed[same].mean()), float(passed[~same].mean())
    common, of_own_class = _count_common(g.indices, labels)
    alpha, m = of_own_class / max(common, 1), common / g.indices.size
    cosines = np.maximum(g.similarities, 0)
    s_plus, s_minus = float(cosines[same].mean()), float(cosines[~same].mean())
    means = s_plus * s_minus + alpha * s_plus**2 + (1 - alpha) * s_minus**2
    soft = (m * means + s_plus + s_minus) / 2 / (g.k + 1)
    one_test = Errors(g.k * noise * q, g.k * (1 - noise) * (1 - p))
    tests = round(m)
    holds = alpha > 0.5 and p > q and tests >= 1
    if not holds:
        return Estimate(cosine, p, q, alpha, m, soft, holds, None, None, None, one_test, None, None)
    cut = best_cut(p, q, alpha, tests)
    rates = exact_error_rates(p, q, alpha, tests, cut)
    scores = sim_m(g, tests="binary", threshold=cosine, candidates="neighbors", normalize="common")
    kept = scores >= cut - 1e-6
    measured = Errors(float((kept & ~same).sum(axis=1).mean()), float((~kept & same).sum(axis=1).mean()))
    predicted = Errors(g.k * noise * rates.noisy, g.k * (1 - noise) * rates.missing)
    one_sided = min((1 - alpha) * q, alpha * (1 - p)) <= 0
    return Estimate(
        threshold=cosine,
        p=p,
        q=q,
        alpha=alpha,
        m=m,
        soft_threshold=soft,
        holds=holds,
        needed=None if one_sided else min_tests(p, q, alpha),
        needed_exact=None if one_sided else min_tests(p, q, alpha, exact=True),
        cut=cut,
        one_test=one_test,
        predicted=predicted,
        measured=measured,
    )


def _best_cosine(g: NeighborGraph, labels: NDArray) -> float:
    curve = roc(g, g.similarities, labels)
    return float(curve.thresholds[int(np.argmax(curve.tpr - curve.fpr))])


def _count_common(indices: NDArray[np.integer], labels: NDArray) -> tuple[int, int]:
    """Count over all edges (i, j) the common neighbours of i and j, and those of i's class."""
    arrays = read_only(indices), labels.astype(np.int64)
    counts = over_spans(lambda first, last: _count_span(first, last, *arrays), len(indices))
    common, of_own_class = np.sum(counts, axis=0).tolist()
    return common, of_own_class


@kernel()
def _count_span(first: int, last: int, indices: NDArray[np.int32], labels: NDArray[np.int64]) -> tuple[int, int]:
    n, k = indices.shape
    owner = np.full(n, -1, dtype=np.int64)
    common, of_own_class = 0, 0
    for i in range(first, last):
        for a in range(k):
            owner[indices[i, a]] = i
        for a in range(k):
            j = indices[i, a]
            for b in range(k):
                c = indices[j, b]
                if owner[c] == i:
                    common += 1
                    of_own_class += labels[c] == labels[i] and labels[i] >= 0
    return common, of_own_class


def labelled_threshold(g: NeighborGraph, y: ArrayLike) -> float:
    """Return the Sim-M threshold halfway between what the theory expects of both kinds of edges, for `kf.prune`.

    S_t = (m (mu_- + mu_+) / 2 + (s_+ + s_-) / 2) / (k + 1),   s_+, s_-, alpha and m from the labels (`estimate`)

    Parameters
    ----------
    g : a NeighborGraph (n, k).
    y : labels (n,); -1: unknown, of no class.

    Returns
    -------
    float

    Examples
    --------
    >>> import kinfolk as kf
    >>> digits = kf.datasets.digits()
    >>> g = kf.knn_graph(digits, k=20)
    >>> kf.prune(g, kf.theory.labelled_threshold(g, digits.labels)).keep.any()
    np.True_
    """
    return estimate(g, y).soft_threshold
