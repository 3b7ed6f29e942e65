"""Names of the columns, and helpers of the readers and writers: errors, conversions, text files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.columns import integer_labels
from kinfolk._core.errors import InputError, MissingExtraError
from kinfolk._core.files import existing_file
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk.features import FeatureSet

# the name of a column on disk -> the field of FeatureSet
COLUMNS = {"labels": "labels", "cameras": "cameras", "query": "query", "part": "part_index", "names": "names"}
NAME_LISTS = ("part_names", "label_names")  # texts of the whole set, beside the columns


@contextmanager
def reading(file: Path, kind: str) -> Iterator[None]:
    """Turn every exception of the block into an InputError of one sentence that names the file.

    >>> with reading(Path("a.npz"), "a .npz file"):
    ...     raise EOFError("no more data")
    Traceback (most recent call last):
    kinfolk.InputError: a.npz cannot be read as a .npz file, it may be damaged or truncated: no more data
    """
    try:
        yield
    except MissingExtraError:
        raise
    except InputError as error:
        # what a message quotes of a damaged file may have any number of lines
        raise InputError(f"{file}: {' '.join(str(error).splitlines())}") from error
    except PermissionError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
    except MemoryError as error:
        raise InputError(f"{file} does not fit into the memory that is free, or is damaged") from error
    except Exception as error:  # the libraries raise many kinds of errors on damaged files
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"{file} cannot be read as {kind}, it may be damaged or truncated: {reason}") from error


def columns(fs: FeatureSet) -> dict[str, NDArray[Any]]:
    """Return the columns of a set that are not None, under their names on disk."""
    return {name: getattr(fs, field) for name, field in COLUMNS.items() if getattr(fs, field) is not None}


def assemble(
    features: Any,
    found: Mapping[str, NDArray[Any]],
    part_names: Sequence[str] = (),
    label_names: Sequence[str] = (),
    enhanced: Any = False,
) -> FeatureSet:
    """Make a FeatureSet of columns under their names on disk; labels may be texts, `enhanced` any form of one value."""
    fields: dict[str, Any] = {COLUMNS[name]: column for name, column in found.items()}
    labels = fields.get("labels")
    if labels is not None and labels.dtype.kind == "U":
        fields["labels"], label_names = labels_from_texts(labels.tolist())
    twice = [name for name, count in Counter(part_names).items() if count > 1]
    if twice:
        raise InputError(f"the part {twice[0]!r} is named twice in part_names; a name is of one part")
    return FeatureSet(
        features,
        **fields,
        part_names=tuple(part_names),
        label_names=tuple(label_names),
        enhanced=one_truth_value("enhanced", enhanced),
    )


def labels_from_texts(texts: Sequence[str]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Number the labels of a text column; an empty text means unknown (-1).

    >>> labels_from_texts(["dog", "", "cat"])
    (array([ 1, -1,  0]), ('cat', 'dog'))
    """
    known = np.array([bool(text) for text in texts], dtype=np.bool_)
    labels = np.full(len(texts), -1, dtype=np.int64)
    labels[known], names = integer_labels([text for text in texts if text])
    return labels, names


def number_parts(words: Sequence[str], order: Sequence[str] = ()) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Number the parts of a text column: those of `order` first, then the others in the order they appear.

    >>> number_parts(["train", "test", "train"])
    (array([0, 1, 0]), ('train', 'test'))
    """
    names = tuple(dict.fromkeys([*order, *words]))
    position = {name: number for number, name in enumerate(names)}
    return np.array([position[word] for word in words], dtype=np.int64), names


def as_vector(field: str, array: NDArray[Any]) -> NDArray[Any]:
    """Flatten (n, 1) and (1, n) to (n,); raise InputError for other shapes.

    >>> as_vector("labels", np.array([[1, 2, 3]]))
    array([1, 2, 3])
    """
    if array.ndim == 2 and 1 in array.shape:
        return array.ravel()
    if array.ndim != 1:
        raise InputError(f"{field} must be one value a row, not of the shape {array.shape}")
    return array


def one_truth_value(field: str, value: Any) -> bool:
    """Return true or false from a truth value, a 0 or 1, or an array that holds the same one throughout.

    >>> one_truth_value("enhanced", np.array([[1.0]])), one_truth_value("enhanced", [False, False])
    (True, False)
    """
    found = set(np.asarray(value).ravel().tolist())
    if len(found) != 1 or not found <= {0, 1}:  # True == 1
        raise InputError(f"{field} must be true or false, the same for the whole set")
    return bool(found.pop())


def texts(field: str, value: Any) -> tuple[str, ...]:
    """Return the texts of an array or of parsed JSON; raise InputError if it is no list of texts."""
    items = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise InputError(f"{field} must be a list of texts")
    return tuple(items)


def text_array(items: Sequence[str]) -> NDArray[np.str_]:
    """Return texts as an array, in which each takes as much as the longest; refused where memory is too small.

    >>> text_array(["a", "bc"])
    array(['a', 'bc'], dtype='<U2')
    """
    refuse_more_than_memory(4 * len(items) * max(map(len, items), default=0), "the names")
    return np.array(items, dtype=np.str_)


def read_lines(file: Path) -> list[str]:
    """Return the lines of a UTF-8 text file, stripped; blank lines are allowed only at its end."""
    with reading(existing_file(file), "UTF-8 text"):
        lines = [line.strip() for line in file.read_text(encoding="utf-8-sig").rstrip().split("\n")]
        if "" in lines:
            raise InputError(f"line {lines.index('') + 1} is empty, a value was expected")
    return lines
