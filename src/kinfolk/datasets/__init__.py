"""Data that is always there: generated regimes calibrated against the paper, and scikit-learn's digits.

`celeb_like`, `person_like` and `vehicle_like` are GENERATED: no vector is made from a photograph. Their graphs are as
noisy as those of MS-Celeb part 1, MSMT17 and VeRi-776 (measured side by side in docs/generated-data.md).
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from kinfolk._core.checks import check_seed, check_whole
from kinfolk._core.disk import refuse_full_disk
from kinfolk._core.errors import InputError
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk._core.progress import progress
from kinfolk._core.targets import absolute
from kinfolk.datasets.generator import Block, Regime, generate_blocks, item_counts
from kinfolk.features import FeatureSet
from kinfolk.formats import FolderWriter, load

__all__ = ["REGIMES", "Regime", "celeb_like", "digits", "person_like", "vehicle_like", "write"]

PARTS = ("train", "test")

# calibrated so that edge noise and AUC over k agree with Table 1 of the paper (docs/generated-data.md)
CELEB = Regime(
    items_mean=68.0,
    items_spread=0.4,
    family_size=6,
    family_share=0.43,
    views=8,
    views_per_identity=8,
    recorded=False,
    view_share=0.28,
    view_global=0.53,
    view_family=0.27,
    noise=1.15,
    identity_spread=0.62,
    item_spread=0.47,
)
PERSON = Regime(
    items_mean=30.0,
    items_spread=0.4,
    family_size=5,
    family_share=0.58,
    views=15,
    views_per_identity=5,
    recorded=True,
    view_share=0.25,
    view_global=0.19,
    view_family=0.46,
    noise=1.35,
    identity_spread=0.55,
    item_spread=0.54,
)
VEHICLE = Regime(
    items_mean=66.3,
    items_spread=0.4,
    family_size=3,
    family_share=0.74,
    views=20,
    views_per_identity=8,
    recorded=True,
    view_share=0.26,
    view_global=0.14,
    view_family=0.41,
    noise=0.86,
    identity_spread=0.38,
    item_spread=0.44,
)
REGIMES = {"celeb_like": CELEB, "person_like": PERSON, "vehicle_like": VEHICLE}


def celeb_like(n_identities: int = 300, seed: int = 0, *, dim: int = 256, test_fraction: float = 0.5) -> FeatureSet:
    """Return generated features whose graph behaves like that of MS-Celeb part 1: 68 items an identity, look-alikes.

    Parameters
    ----------
    n_identities : number of classes.
    seed : seed of the random numbers; the same seed gives the same rows for the first identities, whatever
        `n_identities` is.
    dim : dimensions of a vector.
    test_fraction : share of the identities in the part "test", the last ones; the others are the part "train". No
        identity and no family of look-alikes is in both.

    Returns
    -------
    FeatureSet with labels and parts.

    Examples
    --------
    >>> celeb_like(n_identities=12, seed=0)
    FeatureSet(808 x 256, 12 classes, parts train 408 + test 400)
    """
    return _generate(CELEB, n_identities, seed, dim, test_fraction)


def person_like(n_identities: int = 300, seed: int = 0, *, dim: int = 256, test_fraction: float = 0.5) -> FeatureSet:
    """Return generated features whose graph behaves like that of MSMT17: 30 items an identity, 15 cameras.

    Parameters
    ----------
    n_identities, seed, dim, test_fraction : as for `celeb_like`.

    Returns
    -------
    FeatureSet with labels, parts, cameras and queries: the first item of each identity in each camera, in "test".

    Examples
    --------
    >>> person_like(n_identities=10, seed=0).cameras.max() < 15
    np.True_
    """
    return _generate(PERSON, n_identities, seed, dim, test_fraction)


def vehicle_like(n_identities: int = 200, seed: int = 0, *, dim: int = 256, test_fraction: float = 0.5) -> FeatureSet:
    """Return generated features whose graph behaves like that of VeRi-776: 66 items an identity, 20 cameras.

    Parameters
    ----------
    n_identities, seed, dim, test_fraction : as for `celeb_like`.

    Returns
    -------
    FeatureSet with labels, parts, cameras and queries: the first item of each identity in each camera, in "test".

    Examples
    --------
    >>> vehicle_like(n_identities=18, seed=0).part("test").query.any()
    np.True_
    """
    return _generate(VEHICLE, n_identities, seed, dim, test_fraction)


def digits() -> FeatureSet:
    """Return scikit-learn's handwritten digits: 1,797 real images of 8 x 8 pixels, ten classes.

    Returns
    -------
    FeatureSet; the digits 0 to 4 are the part "train", 5 to 9 "test".

    Examples
    --------
    >>> digits()
    FeatureSet(1,797 x 64, 10 classes, parts train 901 + test 896)
    """
    images = load_digits()
    return FeatureSet(images.data, labels=images.target, part_index=(images.target >= 5).astype(int), part_names=PARTS)


def write(
    regime: Regime,
    path: str | os.PathLike[str],
    n_identities: int,
    seed: int = 0,
    *,
    dim: int = 256,
    test_fraction: float = 0.5,
    force: bool = False,
) -> FeatureSet:
    """Write a generated set to disk and open it.

    Parameters
    ----------
    regime : one of `REGIMES`, or a `Regime` of your own.
    path : where to write; a `.kf` folder is written in bounded memory, so that it can be of any size.
    n_identities, seed, dim, test_fraction : as for `celeb_like`.
    force : replace what is there.

    Returns
    -------
    FeatureSet as read from `path`.

    Examples
    --------
    >>> import tempfile
    >>> write(REGIMES["celeb_like"], Path(tempfile.mkdtemp()) / "celeb.kf", n_identities=12)
    FeatureSet(808 x 256, 12 classes, parts train 408 + test 400, memory-mapped)
    """
    if Path(path).suffix != ".kf":
        _generate(regime, n_identities, seed, dim, test_fraction).save(path, force=force)
        return load(path)
    _check(n_identities, seed, dim, test_fraction)
    place = next(folder for folder in absolute(path).parents if folder.exists())
    refuse_full_disk(place, _expected_bytes(regime, n_identities, dim))  # before the items are counted one by one
    rows = int(item_counts(regime, n_identities, seed).sum())
    names = ("labels", "part", "cameras", "query") if regime.recorded else ("labels", "part")
    with (
        FolderWriter(path, rows, dim, columns=names, part_names=PARTS, force=force) as folder,
        progress("generating", rows) as advance,
    ):
        for block in generate_blocks(regime, n_identities, seed, dim):
            folder.append(block.features, **_columns(regime, block, n_identities, test_fraction))
            advance(len(block.labels))
    return load(path)


def _generate(regime: Regime, identities: int, seed: int, dim: int, test_fraction: float) -> FeatureSet:
    _check(identities, seed, dim, test_fraction)
    refuse_more_than_memory(2 * _expected_bytes(regime, identities, dim), "the set")  # its blocks, and the whole
    blocks = list(generate_blocks(regime, identities, seed, dim))
    whole = Block(*(np.concatenate(column) for column in zip(*blocks, strict=True)))
    columns = _columns(regime, whole, identities, test_fraction)
    part = columns.pop("part")
    return FeatureSet(whole.features, part_index=part, part_names=PARTS, **columns)  # type: ignore[arg-type]


def _expected_bytes(regime: Regime, identities: int, dim: int) -> int:
    """Return what the vectors take, by the mean number of items."""
    return round(identities * regime.items_mean) * dim * np.dtype(np.float32).itemsize


def _columns(regime: Regime, block: Block, identities: int, test_fraction: float) -> dict[str, NDArray]:
    part = (block.labels >= _first_test_identity(regime, identities, test_fraction)).astype(np.int64)
    columns: dict[str, NDArray] = dict(labels=block.labels, part=part)
    if regime.recorded:
        pairs = block.labels * regime.views + block.cameras
        first = np.zeros(len(pairs), dtype=bool)
        first[np.unique(pairs, return_index=True)[1]] = True
        columns |= dict(cameras=block.cameras, query=first & (part == 1))
    return columns


def _first_test_identity(regime: Regime, identities: int, test_fraction: float) -> int:
    """Return the first identity of "test": the first of a family, so that no family is split, if there are several."""
    wanted = identities * (1 - test_fraction)
    whole = round(wanted / regime.family_size) * regime.family_size
    return whole if 0 < whole < identities or test_fraction in (0, 1) else round(wanted)


def _check(identities: int, seed: int, dim: int, test_fraction: float) -> None:
    check_whole("n_identities", identities)
    check_seed(seed)
    check_whole("dim", dim)
    if not 0 <= test_fraction <= 1:
        raise InputError(f"test_fraction must be a number from 0 to 1, not {test_fraction!r}")
