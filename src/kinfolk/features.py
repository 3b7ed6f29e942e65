"""FeatureSet: feature vectors with labels, cameras, names, parts; and rows of length one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.errors import InputError


class Tensor(Protocol):
    """A torch tensor, described without importing torch."""

    def detach(self) -> Any:
        """Return it without its history of gradients."""


Matrix = Union[NDArray[Any], Tensor, "FeatureSet", "UnitRows"]
Rows = slice | NDArray[np.bool_] | NDArray[np.integer]

CACHED_BYTES = 1 << 20  # size of a block that stays in the processor's cache while it is checked and normalised
BLOCK_BYTES = 64 << 20  # size of the blocks in which memory-mapped features are read: little beside their gigabytes
INTEGER = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")
# the function behind FeatureSet.save, registered by `kinfolk.formats`, a layer above this module
_save: list[Callable[[FeatureSet, str | os.PathLike[str], bool], None]] = []
ROW_FIELDS = ("labels", "cameras", "names", "query", "part_index")


@dataclass(frozen=True, eq=False, repr=False)
class FeatureSet:
    """Feature vectors with what is known about each row.

    Parameters
    ----------
    features : (n, d) numbers, in memory or memory-mapped; kept as float32. Zero or non-finite rows are refused where
        the features are used (`validate`).
    labels : (n,) int64, the identity or class of each row; -1 means unknown. None: not known, as for the other columns.
    cameras : (n,) int64, the camera of each row.
    names : (n,) str, the file name or another text of each row.
    query : (n,) bool, True for the queries of a re-identification test.
    part_index : (n,) int64, the part of each row as a position in `part_names`.
    part_names : names of the parts, such as ("train", "test").
    label_names : `label_names[label]` is the text of a label where the file had texts instead of numbers.
    enhanced : True if the features have been enhanced (`kinfolk.GraphEnhancer`): `kinfolk.cluster.Kin` does not enhance
        them again.
    taken_from : what the columns of a table were taken for, such as "128 features (f0 ... f127), names from id"; empty
        where the format has fixed fields.

    Examples
    --------
    >>> fs = FeatureSet(np.eye(4), labels=[0, 0, 1, 1], part_index=[0, 0, 1, 1], part_names=("train", "test"))
    >>> fs
    FeatureSet(4 x 4, 2 classes, parts train 2 + test 2)
    >>> fs.part("test").labels
    array([1, 1])
    """

    features: NDArray[np.float32]
    labels: NDArray[np.int64] | None = None
    cameras: NDArray[np.int64] | None = None
    names: NDArray[np.str_] | None = None
    query: NDArray[np.bool_] | None = None
    part_index: NDArray[np.int64] | None = None
    part_names: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()
    enhanced: bool = False
    taken_from: str = ""

    def __post_init__(self) -> None:
        features = as_matrix(self.features)
        if features.dtype != np.float32:
            # what does not fit into float32 becomes infinite, which `validate` reports by row
            with np.errstate(over="ignore", invalid="ignore"):
                features = features.astype(np.float32, subok=False)
        object.__setattr__(self, "features", features)
        for name, dtype in zip(ROW_FIELDS, (np.int64, np.int64, np.str_, np.bool_, np.int64), strict=True):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _column(name, value, dtype, len(features)))
        object.__setattr__(self, "part_names", tuple(self.part_names))
        object.__setattr__(self, "label_names", tuple(self.label_names))
        for name in ("part_names", "label_names"):
            if getattr(self, name):
                _refuse_half_characters(name, np.array(getattr(self, name), dtype=np.str_))
        object.__setattr__(self, "enhanced", bool(self.enhanced))
        self._check_names("part_index", self.part_names, lowest=0)
        if self.label_names:
            self._check_names("labels", self.label_names, lowest=-1)

    def _check_names(self, field: str, names: tuple[str, ...], lowest: int) -> None:
        numbers = getattr(self, field)
        if numbers is None or len(numbers) == 0:
            return
        bad = np.flatnonzero((numbers < lowest) | (numbers >= len(names)))
        if len(bad):
            raise InputError(
                f"{field}: row {bad[0]} is {numbers[bad[0]]}, but there are only {len(names)} names for it"
            )

    def __len__(self) -> int:
        return len(self.features)

    @property
    def dim(self) -> int:
        """Number of dimensions of a vector."""
        return int(self.features.shape[1])

    def part(self, name: str) -> FeatureSet:
        """Return the rows of one part; where they are consecutive as a view, which reads nothing from a memory map.

        >>> fs = FeatureSet(np.eye(3), part_index=[0, 1, 1], part_names=("train", "test"))
        >>> len(fs.part("test"))
        2
        """
        if name not in self.part_names or self.part_index is None:
            have = ", ".join(self.part_names) or "none"
            raise InputError(f"unknown part {name!r}; parts of this set: {have}")
        chosen = np.flatnonzero(self.part_index == self.part_names.index(name))
        if len(chosen) and chosen[-1] - chosen[0] + 1 == len(chosen):
            return self.take(slice(int(chosen[0]), int(chosen[-1]) + 1))
        return self.take(chosen)

    def take(self, rows: Rows) -> FeatureSet:
        """Return the chosen rows, in that order.

        >>> FeatureSet(np.eye(3), labels=[5, 6, 7]).take(np.array([2, 0])).labels
        array([7, 5])
        """
        columns = {f: getattr(self, f)[rows] for f in ROW_FIELDS if getattr(self, f) is not None}
        return replace(self, features=self.features[rows], **columns)

    def validate(self) -> FeatureSet:
        """Return the set itself after reading every row once; a zero or non-finite row raises InputError.

        >>> FeatureSet([[1.0, 0.0], [0.0, 0.0]]).validate()
        Traceback (most recent call last):
        kinfolk.InputError: features: row 1 is a zero vector, which has no direction to compare; remove such rows
        """
        for start, block in blocks(self.features):
            check_rows(block, start)
        return self

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write the set in the format of the suffix of `path`: see `kinfolk.formats.save`."""
        _save[0](self, path, force)

    def __repr__(self) -> str:
        facts = [f"{len(self):,} x {self.dim}"]
        if self.labels is not None:
            facts.append(f"{len(np.unique(self.labels[self.labels >= 0])):,} classes")
        if self.cameras is not None:
            facts.append(f"{len(np.unique(self.cameras))} cameras")
        if self.query is not None:
            facts.append(f"{int(self.query.sum()):,} queries")
        if self.part_index is not None:
            counts = np.bincount(self.part_index, minlength=len(self.part_names))
            parts = " + ".join(f"{n} {c:,}" for n, c in zip(self.part_names, counts, strict=True) if c)
            facts.append(f"parts {parts}")
        if self.enhanced:
            facts.append("enhanced")
        if isinstance(self.features, np.memmap):
            facts.append("memory-mapped")
        return f"FeatureSet({', '.join(facts)})"


def register_save(save: Callable[[FeatureSet, str | os.PathLike[str], bool], None]) -> None:
    """Make `save` the function behind `FeatureSet.save`."""
    _save[:] = [save]


def as_matrix(X: Matrix | ArrayLike) -> NDArray[Any]:
    """Return features as an (n, d) array of real numbers, without a copy where possible.

    >>> as_matrix([[1, 2], [3, 4]]).shape
    (2, 2)
    >>> as_matrix(np.zeros(3))
    Traceback (most recent call last):
    kinfolk.InputError: features must have the shape (n, d), not (3,)
    """
    if isinstance(X, FeatureSet):
        return X.features
    if isinstance(X, UnitRows):
        return X.values
    if isinstance(X, str | os.PathLike):
        raise InputError(f"features are expected, not a path: load the file first, kf.load({os.fspath(X)!r})")
    if hasattr(X, "detach"):  # a torch tensor, without importing torch
        tensor: Any = X.detach().cpu()
        X = (tensor.float() if not tensor.dtype.is_floating_point or tensor.dtype.itemsize == 2 else tensor).numpy()
    matrix = X if isinstance(X, np.ndarray) else np.asarray(X)
    if matrix.dtype.kind not in "fiu":
        raise InputError(
            f"features must be real numbers, not {matrix.dtype} (object arrays and pickles are never loaded)"
        )
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InputError(f"features must have the shape (n, d), not {matrix.shape}")
    if len(matrix) == 0:
        raise InputError("features hold no rows")
    return matrix


def blocks(matrix: NDArray[Any], block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield (first row, block of rows) of a matrix that may be larger than memory.

    >>> [(start, len(block)) for start, block in blocks(np.ones((5, 2)), block_bytes=16)]
    [(0, 2), (2, 2), (4, 1)]
    """
    rows = max(1, block_bytes // (4 * matrix.shape[1]))
    for start in range(0, len(matrix), rows):
        yield start, matrix[start : start + rows]


def check_rows(block: NDArray[Any], first_row: int = 0) -> None:
    """Raise InputError with the number of the first row that is zero or not finite."""
    finite = np.isfinite(block).all(axis=1)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        kind = "NaN" if np.isnan(block[bad[0]]).any() else "an infinite value"
        raise InputError(f"features: row {first_row + bad[0]} has {kind}{_more(bad)}; remove or repair such rows")
    zero = np.flatnonzero(~block.any(axis=1))
    if len(zero):
        raise InputError(
            f"features: row {first_row + zero[0]} is a zero vector{_more(zero)}, which has no direction to compare;"
            " remove such rows"
        )


SHORT = 1e-6  # rounding error of a row that equals the mean: after subtracting it, such a row has no direction


def refuse_enhanced(X: Matrix) -> None:
    """Refuse a set that has been enhanced: means of means would join what does not belong together.

    >>> refuse_enhanced(FeatureSet(np.eye(2), enhanced=True))
    Traceback (most recent call last):
    kinfolk.InputError: these features are enhanced already (...); in Python, fs.features alone is enhanced again
    """
    if isinstance(X, FeatureSet) and X.enhanced:
        raise InputError(
            "these features are enhanced already (kinfolk cluster, rerank and evaluate take them as they are); "
            "in Python, fs.features alone is enhanced again"
        )


@dataclass(frozen=True)
class UnitRows:
    """Rows (n, d) that are already checked, float32 and of length one, so that they are not normalised again.

    >>> unit_rows(UnitRows(np.eye(2, dtype=np.float32))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    values: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.values)


def unit_rows(X: Matrix, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    """Return the features (n, d) as checked float32 rows of length one, C-contiguous; in `out` if it is given.

    >>> unit_rows(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]], dtype=float32)
    """
    if isinstance(X, UnitRows):
        return X.values
    matrix = as_matrix(X)
    unit = np.empty(matrix.shape, dtype=np.float32) if out is None else out
    for start, block in blocks(matrix, CACHED_BYTES):
        check_rows(block, start)
        _normalise(block, unit[start : start + len(block)])
    return unit


def _normalise(block: NDArray[Any], out: NDArray[np.float32]) -> None:
    values = block if block.dtype in (np.float32, np.float64) else block.astype(np.float32)
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->i", values, values, dtype=np.float64)
    if not (squares.min() > 1e-30 and squares.max() < 1e30):
        # dividing by the largest value first keeps the squares of tiny and of huge numbers inside the range of floats
        values = block / np.abs(block).max(axis=1, keepdims=True).astype(np.float64)
        squares = np.einsum("ij,ij->i", values, values)
    np.divide(values, np.sqrt(squares).astype(values.dtype)[:, None], out=out, casting="same_kind")


def of_length_one(X: NDArray[np.float32], instead: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    """Return the rows divided by their lengths; rows shorter than 1e-6 are replaced by those of `instead`, if given.

    >>> of_length_one(np.array([[0, 2], [0, 0]], dtype=np.float32), instead=np.eye(2, dtype=np.float32)).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    unit = X / np.maximum(lengths, np.finfo(np.float32).tiny)
    return unit if instead is None else np.where(lengths > SHORT, unit, instead)


def integer_labels(texts: Sequence[str]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Turn texts into labels: numbers stay as they are, other texts are numbered in alphabetical order.

    >>> integer_labels(["7", "-1"])
    (array([ 7, -1]), ())
    >>> integer_labels(["cat", "dog", "cat"])
    (array([0, 1, 0]), ('cat', 'dog'))
    """
    # int() alone would take "1_23" and "12_3" for the same number, and numbers longer than 18 digits may not fit
    if all(INTEGER.fullmatch(t) for t in texts):
        return np.array([int(t) for t in texts], dtype=np.int64), ()
    names, numbers = np.unique(np.asarray(texts, dtype=np.str_), return_inverse=True)
    return numbers.astype(np.int64), tuple(str(n) for n in names)


def _column(name: str, value: ArrayLike, dtype: type, rows: int) -> NDArray[Any]:
    column = value if isinstance(value, np.ndarray) else np.asarray(value)
    if column.dtype.kind == "O":
        raise InputError(f"{name} is an object array, which may hold anything: {dtype.__name__} was expected")
    if column.ndim != 1 or len(column) != rows:
        raise InputError(f"{name} must be one value a row: {rows} were expected, the shape is {column.shape}")
    kinds = {np.int64: "iu", np.bool_: "b", np.str_: "U"}[dtype]
    whole = (
        column.dtype.kind == "f"
        and dtype is np.int64
        and bool(np.all(np.isfinite(column) & (column == np.floor(column))))
    )
    if column.dtype.kind not in kinds and not whole:
        raise InputError(f"{name} must be {dtype.__name__}, not {column.dtype}")
    if dtype is np.int64 and column.dtype.kind in "uf" and rows and float(np.abs(column).max()) >= 2.0**63:
        raise InputError(f"{name}: row {np.abs(column).argmax()} is too large for a 64-bit integer")
    if dtype is np.str_:
        _refuse_half_characters(name, column)
    return column.astype(dtype, copy=False)


def _refuse_half_characters(name: str, texts: NDArray[np.str_]) -> None:
    """Refuse texts that no file can hold as UTF-8, such as those of file names in another encoding."""
    letters = np.ascontiguousarray(texts).view(np.uint32) if texts.dtype.itemsize else np.empty(0, dtype=np.uint32)
    halves = np.flatnonzero((letters >= 0xD800) & (letters <= 0xDFFF))
    if len(halves):
        row = halves[0] * len(texts) // len(letters)
        raise InputError(
            f"{name}: row {row} is {str(texts[row])!r}, which is not valid Unicode: it holds half a character"
        )


def _more(bad: NDArray[np.int64]) -> str:
    return f" (and {len(bad) - 1} more in this block)" if len(bad) > 1 else ""
