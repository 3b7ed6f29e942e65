"""Generated sets that look like learned features: what `research.uneven_sets` leaves out.

Neighbours in features of photographs, drawings and sentences stand four to nine spreads above random pairs,
strangers come almost as near as kin, and a class is no ball: its rows form chains and clumps of any size. Both follow
from growth, where each new thing is a changed copy of an earlier one or starts afresh:

    centre of a class    c = rho c' + sqrt(1 - rho^2) u,     c' of an earlier class: families of any depth
    variation of a row   v = rho v' + sqrt(1 - rho^2) u,     v' of an earlier row of its class: clumps of any size
    row                  x = c + w (c'' - c) + s (v + view),     c'' another class of the family, for some rows

u is white in a space with a power-law spectrum; rho, s and w differ by set, by class and by row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from research.uneven_sets import UnevenSet, _between, _class_sizes, _with_bursts

White = Callable[[int], np.ndarray]  # that many vectors (count, d) of expected squared length 1


def learned_set(seed: int, n: int) -> UnevenSet:
    """Return the set of this seed, of about n rows.

    >>> learned_set(0, 500).features.shape[0] >= 300
    True
    """
    rng = np.random.default_rng([seed, 7])
    kind, sizes = _class_sizes(rng, n)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    dim = int(_between(rng, 64, 640))
    spectrum = np.arange(1, dim + 1) ** (-rng.uniform(0, 1.0) / 2)
    spectrum = (spectrum / np.sqrt((spectrum**2).sum())).astype(np.float32)

    def white(count: int) -> np.ndarray:
        return rng.standard_normal((count, dim), dtype=np.float32) * spectrum

    centres, parent = _centres(rng, white, len(sizes), kind == "strangers")
    scale = _between(rng, 0.8, 3.2) * np.exp(rng.uniform(0, 0.35) * rng.standard_normal(len(sizes)))[labels]
    scale = scale * np.exp(rng.uniform(0, 0.3) * rng.standard_normal(len(labels)))
    x = centres[labels] + scale[:, None].astype(np.float32) * _variation(rng, white, labels)
    between = rng.random(len(labels)) < rng.uniform(0, 0.3)
    weight = (between * rng.uniform(0, 0.6, len(labels))).astype(np.float32)
    x += weight[:, None] * (centres[parent[labels]] - centres[labels])
    if rng.random() < 0.5 or kind == "one":
        x = x + white(1) * (_between(rng, 1, 5) if kind == "one" else _between(rng, 0.1, 2))
    if rng.random() < 0.25:
        x, labels = _with_bursts(rng, x, labels)
    order = rng.permutation(len(labels))
    x = x[order].astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True) + 1e-9
    return UnevenSet(kind, x, labels[order])


def _centres(rng: np.random.Generator, white: White, classes: int, strangers: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the centres (classes, d), and a class of the same family for each (classes,)."""
    fresh = 1.0 if strangers and rng.random() < 0.5 else _between(rng, 0.01, 0.5)
    grown, parent = _grown(rng, white(classes), np.zeros(classes, np.int64), fresh, rng.uniform(0.45, 0.97))
    if strangers or rng.random() < 0.25:
        return grown, parent
    share = np.float32(rng.uniform(0, 0.9))
    curved = _curved(rng, white, np.zeros(classes, np.int64), (2, 12), (0.5, 1.5))
    return np.sqrt(1 - share) * grown + np.sqrt(share) * curved, parent


def _variation(rng: np.random.Generator, white: White, labels: np.ndarray) -> np.ndarray:
    """Return what differs between the rows of a class (n, d), of expected squared length 1."""
    everyone = np.zeros_like(labels)
    parts = [
        white(len(labels)),
        _grown(rng, white(len(labels)), labels, _between(rng, 0.01, 0.6), rng.uniform(0.4, 0.97))[0],
        _curved(rng, white, labels, (2, 16), (0.4, 1.2)),
        _curved(rng, white, everyone, (2, 16), (0.4, 1.2)),
    ]
    shares = rng.dirichlet((0.5, 0.8, 1.5, 0.5))
    return sum(np.float32(np.sqrt(share)) * part for share, part in zip(shares, parts, strict=True))


def _curved(
    rng: np.random.Generator,
    white: White,
    group: np.ndarray,
    dimensions: tuple[float, float],
    reach: tuple[float, float],
) -> np.ndarray:
    """Return points (m, d) of a curved surface for each group, of expected squared length 1.

    sqrt(2) cos(t W / l + b): t (m, r) are normal, b is the group's own; the similarity of two points of one group is
    exp(-|t - t'|^2 / 2 l^2).
    """
    r = round(_between(rng, *dimensions))
    t = rng.standard_normal((len(group), r)).astype(np.float32)
    length = np.float32(np.sqrt(r) * _between(rng, *reach))
    scale = np.abs(white(64)).mean(axis=0) * np.float32(np.sqrt(np.pi / 2))
    turns = t @ rng.standard_normal((r, len(scale))).astype(np.float32) / length
    phases = rng.uniform(0, 2 * np.pi, (int(group[-1]) + 1, len(scale))).astype(np.float32)
    return np.float32(np.sqrt(2)) * np.cos(turns + phases[group]) * scale


def _grown(
    rng: np.random.Generator, fresh: np.ndarray, group: np.ndarray, start: float, likeness: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors (m, d) that grew from white ones, and what each is a changed copy of (m,), itself if of nothing.

    group: (m,) sorted; copies are made within a group. start: the probability of a fresh start; likeness: the mean of
    rho, which is of a Beta distribution.
    """
    m = len(fresh)
    first = np.searchsorted(group, group)
    place = np.arange(m) - first
    parent = first + (rng.random(m) * place).astype(np.int64)
    afresh = (place == 0) | (rng.random(m) < start)
    parent[afresh] = np.arange(m)[afresh]
    concentration = _between(rng, 2, 20)
    rho = rng.beta(likeness * concentration, (1 - likeness) * concentration, m).astype(np.float32)
    grown = fresh.copy()
    for i in np.flatnonzero(~afresh):
        grown[i] = rho[i] * grown[parent[i]] + np.sqrt(1 - rho[i] ** 2) * fresh[i]
    return grown, parent
