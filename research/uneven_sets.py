"""Generated sets whose classes are as uneven as real ones: from one class for all rows to one row a class.

A row x of class c starts as its class's centre plus noise of its own scale,

    x = centre[c] + scale * variation,

where the centre is a sum over nested families of classes, and the variation a sum of views, modes of modes, a few
directions and white noise. Some sets then get outliers, a power-law spectrum, a mean that all rows share, rectified
values, or bursts of near copies. How much of each is drawn at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

PROBABILITY_OF_KIND = {
    "even": 0.2,
    "lognormal": 0.2,
    "zipf": 0.17,
    "few": 0.13,
    "loners": 0.13,
    "huge": 0.11,
    "one": 0.03,
    "strangers": 0.03,
}


class UnevenSet(NamedTuple):
    """A generated set: how its class sizes were drawn, unit rows (n, d) in float32, and their classes (n,)."""

    kind: str
    features: np.ndarray
    labels: np.ndarray


def uneven_set(seed: int, n: int | None = None) -> UnevenSet:
    """Return the set of this seed, of about `n` rows (150 to 4500 unless told).

    The number of rows is a guide: classes are whole, bursts add rows, and one set in 25 is large whatever `n` says.

    >>> uneven_set(0).kind, uneven_set(0).features.shape
    ('even', (1359, 17))
    """
    rng = np.random.default_rng(seed)
    n = n or int(_between(rng, 150, 4500))
    if rng.random() < 0.04:
        n = int(_between(rng, 4000, 9000))
    kind, sizes = _class_sizes(rng, n)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    source = _Source(rng, _dimensions(rng))
    families, centres = _centres(source, len(sizes), 0.4 if kind == "strangers" else 1.0)
    scale = _noise_scale(rng, labels)
    x = centres[labels] + _variation(source, labels, families) * scale[:, None].astype(np.float32)
    if rng.random() < 0.15:
        x = _with_outliers(source, x)
    x = x * _spectrum(source)
    x /= np.sqrt((x**2).sum(1).mean())
    if rng.random() < 0.5 or kind == "one":
        x = x + source.vectors(1, _between(rng, 0.5, 8) if kind == "one" else _between(rng, 0.05, 3))
    if rng.random() < 0.1:
        x = np.maximum(x, 0) + 1e-4
    if rng.random() < 0.3:
        x, labels = _with_bursts(rng, x, labels)
    order = rng.permutation(len(labels))
    x = x[order].astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True) + 1e-9
    return UnevenSet(kind, x, labels[order])


@dataclass(frozen=True)
class _Source:
    """Random vectors of one dimension."""

    rng: np.random.Generator
    dim: int

    def vectors(self, count: int, share: float) -> np.ndarray:
        """Draw normal vectors (count, d) in float32 whose expected squared length is `share`."""
        scale = np.float32(np.sqrt(max(share, 0) / self.dim))
        return self.rng.standard_normal((count, self.dim), dtype=np.float32) * scale


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _dimensions(rng: np.random.Generator) -> int:
    """Draw 16 to 512 dimensions, seldom fewer."""
    return int(_between(rng, 16, 512)) if rng.random() > 0.06 else int(rng.integers(4, 16))


def _class_sizes(rng: np.random.Generator, n: int) -> tuple[str, np.ndarray]:
    """Draw a kind and the sizes (classes,) of its classes, in random order, at most 1.3 n rows or one class."""
    kind = str(rng.choice(list(PROBABILITY_OF_KIND), p=list(PROBABILITY_OF_KIND.values())))
    if kind == "one":
        return kind, np.array([n])
    if kind == "strangers":
        return kind, np.ones(n, int)
    sizes = np.maximum(1, _wanted_sizes(rng, n, kind).round()).astype(int)
    sizes = rng.permutation(sizes)
    keep = np.cumsum(sizes) <= 1.3 * n
    keep[0] = True
    return kind, sizes[keep]


def _wanted_sizes(rng: np.random.Generator, n: int, kind: str) -> np.ndarray:
    """Draw the sizes (classes,) of a kind, not yet whole, nor cut to the number of rows."""
    mean = _between(rng, 2, 250)
    if kind == "huge":
        mean = _between(rng, 150, 1500)
    if kind in ("even", "huge", "lognormal"):
        low, high = (0.4, 1.3) if kind == "lognormal" else (0, 0.3)
        return mean * _spread(rng, low, high, max(2, int(n / mean)))
    if kind == "zipf":
        return _zipf_sizes(rng, n)
    if kind == "few":
        return _few_large_sizes(rng, n)
    return _sizes_with_loners(rng, n)


def _zipf_sizes(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw sizes that fall by a power law: size of class t = largest * t ** -a."""
    classes = int(_between(rng, 20, 700))
    sizes = np.arange(1, classes + 1) ** -rng.uniform(0.5, 1.4)
    return sizes / sizes[0] * _between(rng, 10, min(1500, n / 2))


def _few_large_sizes(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw a few large classes of one size among many that are 5 to 40 times smaller."""
    large = int(rng.integers(2, 15))
    size = _between(rng, 15, max(20, min(800, n / large)))
    small = int(_between(rng, 20, 500))
    return np.r_[np.full(large, size), np.full(small, max(1, size / _between(rng, 5, 40)))]


def _sizes_with_loners(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw classes of one size among rows that are alone in their class."""
    classes = int(rng.integers(2, 120))
    size = _between(rng, 4, max(5, min(300, n / classes)))
    return np.r_[np.full(classes, size), np.ones(int(_between(rng, 20, 800)))]


def _spread(rng: np.random.Generator, low: float, high: float, count: int) -> np.ndarray:
    """Draw factors (count,) exp(s * normal), with one s between `low` and `high` for all."""
    return np.exp(rng.uniform(low, high) * rng.standard_normal(count))


def _centres(source: _Source, classes: int, kinship: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw the family (classes,) and the centre (classes, d) of each class.

    centre = own + family's + family of families', of expected squared length 1 in all; `kinship` scales the families'
    share. Neighbouring classes are of one family, neighbouring families of one family of families.
    """
    rng = source.rng
    share = rng.uniform(0, 0.75) * kinship if rng.random() > 0.2 else 0.0
    mean_length = _between(rng, 1.5, 25)
    families = _runs(rng.random(classes)[1:], mean_length)
    centres = source.vectors(classes, 1 - share)
    levels = [families]
    if rng.integers(0, 2):
        mean_length = _between(rng, 2, 10)
        levels.append(_runs(rng.random(families[-1]), mean_length)[families])
    for level, weight in zip(levels, rng.dirichlet(np.ones(len(levels))), strict=True):
        centres = centres + source.vectors(level[-1] + 1, share * weight)[level]
    return families, centres


def _runs(draws: np.ndarray, mean_length: float) -> np.ndarray:
    """Return the run (m + 1,) of each of a row of things: a new one starts where a draw (m,) is below 1 / mean."""
    return np.cumsum(np.r_[True, draws < 1 / mean_length]) - 1


def _noise_scale(rng: np.random.Generator, labels: np.ndarray) -> np.ndarray:
    """Draw the length (n,) of each row's variation: the set's, times its class's factor, times its own."""
    easy = rng.random() < 0.18
    noise = _between(rng, 0.15, 0.5) if easy else _between(rng, 0.3, 1.7)
    of_class = noise * _spread(rng, 0, 0.5, labels[-1] + 1)
    return of_class[labels] * _spread(rng, 0, 0.5, len(labels))


def _variation(source: _Source, labels: np.ndarray, families: np.ndarray) -> np.ndarray:
    """Draw what differs between the rows of a class (n, d), of expected squared length 1 in all.

    `labels` (n,) are sorted; `families` (classes,). What views, modes and directions leave is white noise.
    """
    rng = source.rng
    total = np.zeros((len(labels), source.dim), np.float32)
    left = 1.0
    if rng.random() < 0.75:
        left -= _add_views(total, source, labels, families)
    if rng.random() < 0.7:
        left -= _add_modes(total, source, labels, left)
    if rng.random() < 0.5:
        left -= _add_directions(total, source, labels, left)
    total += source.vectors(len(labels), left)
    return total


def _add_views(total: np.ndarray, source: _Source, labels: np.ndarray, families: np.ndarray) -> float:
    """Add each row's view to `total` (n, d) and return the views' share.

    view vector = sqrt(share) * (everybody's + the family's + the class's own vector of that view).
    """
    rng = source.rng
    views = int(rng.integers(2, 20))
    share = rng.uniform(0, 0.55)
    everybody = rng.uniform(0, 0.5)
    family = rng.uniform(0, 0.8) * (1 - everybody)
    views_per_class = int(rng.integers(1, views + 1))
    shared = source.vectors(views, everybody)
    _ = _between(rng, 1, views)  # keeps the numbers of the trained network's sets
    view = _view_of_rows(rng, labels, views, views_per_class)
    pairs, pair = np.unique(labels * views + view, return_inverse=True)
    family_pairs, family_pair = np.unique(families[pairs // views] * views + pairs % views, return_inverse=True)
    of_family = source.vectors(len(family_pairs), family)[family_pair]
    own = source.vectors(len(pairs), 1 - everybody - family)
    total += np.float32(np.sqrt(share)) * (shared[view] + (of_family + own)[pair])
    return share


def _view_of_rows(rng: np.random.Generator, labels: np.ndarray, views: int, views_per_class: int) -> np.ndarray:
    """Draw the view (n,) of each row; in some sets one view of a class has most of its rows."""
    main = labels * 7
    view = (rng.integers(0, views_per_class, len(labels)) + main) % views
    if rng.random() < 0.4:
        view = np.where(rng.random(len(labels)) < rng.uniform(0.2, 0.8), main % views, view)
    return view


def _add_modes(total: np.ndarray, source: _Source, labels: np.ndarray, left: float) -> float:
    """Add modes of modes inside each class to `total` (n, d) and return their share of the `left`.

    Rows are cut into runs at one threshold a level, so that a fine run lies inside a coarse one: a row's nearest are
    far nearer than the rest of its class.
    """
    rng = source.rng
    share = rng.uniform(0.1, 0.9) * left
    levels = int(rng.integers(1, 5))
    draws = rng.random(len(labels))
    first_of_class = np.r_[True, labels[1:] != labels[:-1]]
    _ = rng.random()  # keeps the numbers of the trained network's sets
    mean_lengths = [_between(rng, 1.3, 80) for _ in range(levels)]
    for mean_length, weight in zip(mean_lengths, rng.dirichlet(np.full(levels, 2.0)), strict=True):
        mode = np.cumsum(first_of_class | (draws < 1 / mean_length)) - 1
        total += source.vectors(mode[-1] + 1, share * weight)[mode]
    return share


def _add_directions(total: np.ndarray, source: _Source, labels: np.ndarray, left: float) -> float:
    """Add variation of low rank to `total` (n, d) and return its share of the `left`.

    sum over k of z[k] * direction[k], with 1 to 5 directions, either each class's own or the same for all classes.
    """
    rng = source.rng
    rank = int(rng.integers(1, 6))
    share = rng.uniform(0, 0.6) * left
    owner = np.zeros_like(labels) if rng.random() < 0.5 else labels
    directions = source.vectors((owner[-1] + 1) * rank, 1.0).reshape(-1, rank, source.dim)
    weights = rng.standard_normal((len(labels), rank)).astype(np.float32) * np.float32(np.sqrt(share / rank))
    if weights.size * source.dim < 4e7:  # more would fill the memory of a small machine
        total += np.einsum("nk,nkd->nd", weights, directions[owner])
    return share


def _with_outliers(source: _Source, x: np.ndarray) -> np.ndarray:
    """Replace up to 8% of the rows (n, d) by 0.3 * row + anything."""
    outlier = source.rng.random(len(x)) < source.rng.uniform(0, 0.08)
    x[outlier] = x[outlier] * 0.3 + source.vectors(int(outlier.sum()), 1.0)
    return x


def _spectrum(source: _Source) -> np.ndarray:
    """Draw the weights (d,) of the dimensions: t ** (-a / 2) for dimension t, or all 1."""
    if source.rng.random() < 0.7:
        return (np.arange(1, source.dim + 1) ** (-source.rng.uniform(0, 1.3) / 2)).astype(np.float32)
    return np.ones(source.dim, np.float32)


def _with_bursts(rng: np.random.Generator, x: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Append near copies of a few rows, 2 to 39 of each and at most half as many as there are rows (n, d)."""
    n, dim = x.shape
    limit = int(rng.random() * 0.5 * n) + 1
    originals = rng.choice(n, max(1, int(n * 0.03)))
    copied = np.repeat(originals, rng.integers(2, 40, len(originals)))[:limit]
    noise = rng.standard_normal((len(copied), dim)).astype(np.float32)
    noise *= np.float32(_between(rng, 0.005, 0.12) / np.sqrt(dim))
    return np.r_[x, x[copied] + noise], np.r_[labels, labels[copied]]
