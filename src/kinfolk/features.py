"""FeatureSet: feature vectors with labels, cameras, names, parts; and rows of length one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Protocol, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.columns import checked_column, refuse_half_characters
from kinfolk._core.errors import InputError
from kinfolk._core.frames import is_frame, is_series, matrix_of, pandas_frame, values_of
from kinfolk._core.rows import CACHED_BYTES, blocks, check_rows, normalise


class Tensor(Protocol):
    """A torch tensor, described without importing torch."""

    def detach(self) -> Any:
        """Return it without its history of gradients."""


Matrix = Union[NDArray[Any], Tensor, "FeatureSet", "UnitRows"]
Rows = slice | NDArray[np.bool_] | NDArray[np.integer]

# the function behind FeatureSet.save, registered by `kinfolk.formats`, a layer above this module
_save: list[Callable[[FeatureSet, str | os.PathLike[str], bool], None]] = []
_from_table: list[Callable[..., FeatureSet]] = []  # likewise behind FeatureSet.from_table
ROWS_SHOWN, COLUMNS_SHOWN = 5, 4  # in a notebook
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
                object.__setattr__(self, name, checked_column(name, value, dtype, len(features)))
        object.__setattr__(self, "part_names", tuple(self.part_names))
        object.__setattr__(self, "label_names", tuple(self.label_names))
        for name in ("part_names", "label_names"):
            if getattr(self, name):
                refuse_half_characters(name, np.array(getattr(self, name), dtype=np.str_))
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

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        name_column: str | None = None,
        label_column: str | None = None,
        feature_columns: str | Sequence[str] | None = None,
    ) -> FeatureSet:
        """Return the set of a table of pandas, polars or pyarrow: names, labels and so on are told by their titles.

        The features are a column of vectors, or the columns of numbers that are left; `taken_from` says what was taken
        for what. The index of a pandas table is the names, unless a column has them or it only counts the rows.

        Parameters
        ----------
        table : a DataFrame or a pyarrow Table.
        name_column, label_column : titles of these columns, where they are not recognised (docs/formats.md).
        feature_columns : titles, globs such as "f*" and ranges such as "f0:f127".
        """
        return _from_table[0](table, name_column, label_column, feature_columns)

    @staticmethod
    def concat(sets: Sequence[FeatureSet]) -> FeatureSet:
        """Return one set of the rows of several, in their order.

        Labels and parts are the same where their names are, or where the sets have no names of labels, their numbers;
        sets of the same names keep their numbers. Rows of a set without labels have the label -1, unknown. Cameras,
        names, queries and parts must be known in all sets or in none.

        Parameters
        ----------
        sets : with vectors of the same dimension.

        Examples
        --------
        >>> a = FeatureSet(np.eye(2), labels=[0, 1], label_names=("ann", "bob"))
        >>> b = FeatureSet(np.eye(2), labels=[0, 1], label_names=("bob", "cid"))
        >>> both = FeatureSet.concat([a, b])
        >>> both.labels, both.label_names
        (array([0, 1, 1, 2]), ('ann', 'bob', 'cid'))
        """
        return _concat(list(sets))

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, rows: int | Sequence[int] | Rows) -> FeatureSet:
        """Return the chosen rows as a set: a slice, a mask, row numbers, or one of them.

        >>> fs = FeatureSet(np.eye(3), labels=[5, 6, 7])
        >>> fs[1:].labels, fs[fs.labels != 6].labels, fs[[2, 0]].labels, fs[-1].labels
        (array([6, 7]), array([5, 7]), array([7, 5]), array([7]))
        """
        if isinstance(rows, slice):
            return self.take(rows)
        chosen = np.asarray(rows)
        if chosen.dtype.kind not in "biu" or chosen.ndim > 1:
            raise InputError("rows are chosen by a slice, a mask or row numbers; fs.part(name) returns a part")
        if chosen.dtype.kind == "b" and chosen.shape != (len(self),):
            raise InputError(f"a mask of {len(self)} rows was expected, the shape is {chosen.shape}")
        return self.take(np.atleast_1d(np.arange(len(self))[chosen]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.features, dtype=dtype, copy=copy)

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

    def to_pandas(self) -> Any:
        """Return the set as a DataFrame with the names as its index; `from_table` gives the set back.

        The columns are label, camera, query, part, enhanced where known, then f0, f1, ... It needs pandas
        (`pip install "kinfolk[pandas]"`).
        """
        known = self._readable()
        index = known.pop("name", None)
        features = np.asarray(self.features)
        columns = known | {f"f{number}": features[:, number] for number in range(self.dim)}
        return pandas_frame(columns, None if index is None else index.tolist())

    def _readable(self) -> dict[str, NDArray[Any]]:
        """Return the known columns as people read them: texts for labels that have names, and for parts."""
        labels: NDArray[Any] | None = self.labels
        if labels is not None and self.label_names:
            labels = np.array([*self.label_names, None], dtype=object)[labels]  # -1, unknown, is the None at the end
        parts = None if self.part_index is None else np.array(self.part_names, dtype=np.str_)[self.part_index]
        marked = np.full(len(self), True) if self.enhanced else None
        known = dict(label=labels, camera=self.cameras, query=self.query, part=parts, enhanced=marked, name=self.names)
        return {title: column for title, column in known.items() if column is not None}

    def _repr_html_(self) -> str:
        """Return the first rows as HTML, for notebooks; every text is escaped."""
        shown = self[:ROWS_SHOWN]
        known = shown._readable()
        known |= {f"f{number}": shown.features[:, number].round(4) for number in range(min(self.dim, COLUMNS_SHOWN))}
        head = "".join(f"<th>{title}</th>" for title in ("", *known)) + "<th>...</th>" * (self.dim > COLUMNS_SHOWN)
        rows = [
            "".join(f"<td>{escape(str(cell))}</td>" for cell in (number, *cells))
            for number, cells in enumerate(zip(*known.values(), strict=True))
        ]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><caption>{escape(repr(self))}</caption><tr>{head}</tr>{body}</table>"

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


def register_from_table(from_table: Callable[..., FeatureSet]) -> None:
    """Make `from_table` the function behind `FeatureSet.from_table`."""
    _from_table[:] = [from_table]


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
    if is_frame(X):
        matrix = matrix_of(X)
    elif is_series(X):
        matrix = values_of(X, getattr(X, "name", "features"))
    else:
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
        normalise(block, unit[start : start + len(block)])
    return unit


def _concat(sets: list[FeatureSet]) -> FeatureSet:
    if not sets:
        raise InputError("no sets to join: at least one is needed")
    first = sets[0]
    for number, other in enumerate(sets):
        if other.dim != first.dim:
            raise InputError(f"set {number} has {other.dim} dimensions, set 0 has {first.dim}: they cannot be joined")
        if other.enhanced != first.enhanced:
            raise InputError(f"of set {number} and set 0 only one is enhanced: they cannot be joined")
        for field in ROW_FIELDS[1:]:
            if (getattr(other, field) is None) != (getattr(first, field) is None):
                without, having = (number, 0) if getattr(other, field) is None else (0, number)
                raise InputError(f"set {having} has {field}, set {without} has none: add or remove them first")
    columns: dict[str, Any] = {
        field: np.concatenate([getattr(one, field) for one in sets])
        for field in ("cameras", "names", "query")
        if getattr(first, field) is not None
    }
    if first.part_index is not None:
        names = tuple(dict.fromkeys(name for one in sets for name in one.part_names))
        numbers = [_renumbered(one.part_index, one.part_names, names) for one in sets if one.part_index is not None]
        columns |= dict(part_index=np.concatenate(numbers), part_names=names)
    if all(one.taken_from == first.taken_from for one in sets):
        columns["taken_from"] = first.taken_from
    return FeatureSet(
        np.concatenate([one.features for one in sets]), **columns, **_joined_labels(sets), enhanced=first.enhanced
    )


def _joined_labels(sets: list[FeatureSet]) -> dict[str, Any]:
    """Return labels and their names: the same name is the same label, and without names the same number."""
    known = [one for one in sets if one.labels is not None and (one.labels >= 0).any()]
    if all(one.labels is None for one in sets):
        return {}
    if len({bool(one.label_names) for one in known}) > 1:
        raise InputError("the labels of some sets are texts, those of others numbers: they cannot be told apart")
    lists = {one.label_names for one in known}
    names = lists.pop() if len(lists) == 1 else tuple(sorted({name for each in lists for name in each}))
    labels = [
        np.full(len(one), -1) if one.labels is None else _renumbered(one.labels, one.label_names, names) for one in sets
    ]
    return dict(labels=np.concatenate(labels), label_names=names)


def _renumbered(numbers: NDArray[np.int64], old: tuple[str, ...], new: tuple[str, ...]) -> NDArray[np.int64]:
    """Return numbers of old names as numbers of new ones; -1 stays, and without names every number does."""
    if not old or not new:
        return numbers
    places = {name: place for place, name in enumerate(new)}
    return np.array([*(places.get(name, -1) for name in old), -1])[numbers]
