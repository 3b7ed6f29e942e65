"""kf: kinfolk's own folder for sets of any size, one npy file a column, always memory-mapped.

features.npy, and where known labels.npy, cameras.npy, query.npy, part.npy, names.npy; set.json holds the names of the
parts and of the labels, and whether the features have been enhanced. manifest.json names the files that are kinfolk's;
a folder made by hand needs none.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.checks import check_whole
from kinfolk._core.disk import refuse_full_disk
from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file, replacing_folder
from kinfolk._core.json_file import read_json
from kinfolk._core.rows import blocks, check_rows
from kinfolk.features import FeatureSet, as_matrix
from kinfolk.formats._arrays import map_file
from kinfolk.formats._common import COLUMNS, NAME_LISTS, assemble, columns, one_truth_value, reading, texts

KIND = "features"  # in the manifest
FEATURES = "features.npy"
SETTINGS = "set.json"
VERSION = 1
MOST_SETTINGS_BYTES = 1 << 30  # the names of some ten million classes
TYPES = {"labels": np.int64, "cameras": np.int64, "query": np.bool_, "part": np.int64}


def read(folder: Path) -> FeatureSet:
    """Memory-map a folder; a set.json is needed for parts, for labels that are texts, and for enhanced features."""
    features = map_file(folder / FEATURES, "features")
    found = {
        name: np.asarray(map_file(folder / f"{name}.npy", name))
        for name in COLUMNS
        if (folder / f"{name}.npy").is_file()
    }
    settings = _read_settings(folder / SETTINGS)
    with reading(folder, "a folder of features"):
        return assemble(features, found, **settings)


def write(fs: FeatureSet, folder: Path, force: bool) -> None:
    """Write everything the set has, block after block."""
    known = columns(fs)
    width = 0 if fs.names is None else max(1, fs.names.dtype.itemsize // 4)
    with FolderWriter(
        folder,
        len(fs),
        fs.dim,
        columns=tuple(name for name in TYPES if name in known),
        name_length=width,
        part_names=fs.part_names,
        label_names=fs.label_names,
        enhanced=fs.enhanced,
        force=force,
    ) as writer:
        for start, block in blocks(fs.features):
            writer.append(block, **{name: column[start : start + len(block)] for name, column in known.items()})


class FolderWriter:
    """Write a set larger than memory, block after block; the folder appears when all rows are written.

    Parameters
    ----------
    path : the folder to write.
    rows, dim : shape of the features.
    columns : which of labels, cameras, query, part are given with every block.
    name_length : length of the longest name; 0: no names.
    part_names, label_names : texts that the numbers in `part` and `labels` stand for.
    enhanced : whether the features have been enhanced (`kinfolk.GraphEnhancer`).
    force : replace a folder of features that is there.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "small.kf"
    >>> with FolderWriter(path, rows=4, dim=2, columns=("labels", "part"), part_names=("train", "test")) as writer:
    ...     writer.append(np.ones((3, 2)), labels=[0, 0, 1], part="train")
    ...     writer.append(np.ones((1, 2)), labels=[2], part="test")
    >>> read(path)
    FeatureSet(4 x 2, 3 classes, parts train 3 + test 1, memory-mapped)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        rows: int,
        dim: int,
        columns: tuple[str, ...] = (),
        name_length: int = 0,
        part_names: tuple[str, ...] = (),
        label_names: tuple[str, ...] = (),
        enhanced: bool = False,
        force: bool = False,
    ) -> None:
        """Keep what the headers of the files need; nothing is written before the `with` block."""
        unknown = [name for name in columns if name not in TYPES]
        if unknown:
            raise InputError(f"unknown column {unknown[0]!r}; the columns are {', '.join(TYPES)}")
        check_whole("rows", rows)
        check_whole("dim", dim)
        self.path = Path(path)
        self.rows = rows
        self.dim = dim
        self.part_names = tuple(part_names)
        self.label_names = tuple(label_names)
        self.enhanced = enhanced
        self.force = force
        self.types: dict[str, np.dtype[Any]] = {name: np.dtype(TYPES[name]) for name in columns}
        if name_length:
            self.types["names"] = np.dtype(f"<U{name_length}")
        self.written = 0
        self._stack = ExitStack()
        self._streams: dict[str, IO[bytes]] = {}

    def __enter__(self) -> FolderWriter:
        with ExitStack() as stack:
            self._folder = stack.enter_context(replacing_folder(self.path, KIND, VERSION, self.force))
            needed = self.rows * (4 * self.dim + sum(dtype.itemsize for dtype in self.types.values()))
            refuse_full_disk(self._folder, needed)
            self._streams["features"] = self._open(stack, "features", np.dtype(np.float32), (self.rows, self.dim))
            for name, dtype in self.types.items():
                self._streams[name] = self._open(stack, name, dtype, (self.rows,))
            self._stack = stack.pop_all()
        return self

    def _open(self, stack: ExitStack, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> IO[bytes]:
        # not a writable memory map, whose pages would stay in memory
        stream = stack.enter_context((self._folder / f"{name}.npy").open("wb"))
        descr = npy_format.dtype_to_descr(dtype)
        npy_format.write_array_header_1_0(stream, {"descr": descr, "fortran_order": False, "shape": shape})
        return stream

    def append(
        self,
        features: ArrayLike,
        labels: ArrayLike | None = None,
        cameras: ArrayLike | None = None,
        query: ArrayLike | None = None,
        part: ArrayLike | str | None = None,
        names: ArrayLike | None = None,
    ) -> None:
        """Write the next rows, a block of (m, d) features with their columns.

        `part` is the name of one part for all of them, or (m,) positions in `part_names`.
        """
        block = as_matrix(features)
        if block.shape[1] != self.dim:
            raise InputError(f"{self.path}: vectors of {self.dim} values were expected, not of {block.shape[1]}")
        if self.written + len(block) > self.rows:
            raise InputError(f"{self.path}: {self.rows:,} rows were promised, {self.written + len(block):,} came")
        if isinstance(part, str):
            if part not in self.part_names:
                have = ", ".join(self.part_names) or "none"
                raise InputError(f"{self.path}: unknown part {part!r}; the parts are {have}")
            part = np.full(len(block), self.part_names.index(part))
        given = {"labels": labels, "cameras": cameras, "query": query, "part": part, "names": names}
        present = {name: np.asarray(column) for name, column in given.items() if column is not None}
        if set(present) != set(self.types):
            wanted, came = (", ".join(names) or "no columns" for names in (self.types, present))
            raise InputError(f"{self.path}: {wanted} were expected with every block, not {came}")
        # FeatureSet checks types, lengths and names
        fields: dict[str, Any] = {COLUMNS[name]: column for name, column in present.items()}
        checked = FeatureSet(block, **fields, part_names=self.part_names, label_names=self.label_names)
        check_rows(checked.features, self.written)
        if checked.names is not None and checked.names.dtype.itemsize > self.types["names"].itemsize:
            longest = self.types["names"].itemsize // 4
            raise InputError(f"{self.path}: a name is longer than the {longest} characters promised")
        self._write("features", checked.features)
        for name, column in columns(checked).items():
            self._write(name, column.astype(self.types[name], copy=False))
        self.written += len(block)

    def _write(self, name: str, block: NDArray[Any]) -> None:
        self._streams[name].write(np.ascontiguousarray(block).view(np.uint8).data)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._stack.__exit__(kind, error, trace)
            return
        with self._stack:
            if self.written != self.rows:
                raise InputError(f"{self.path}: {self.rows:,} rows were promised, {self.written:,} came")
            content = {
                "format": "kinfolk",
                "version": VERSION,
                "part_names": self.part_names,
                "label_names": self.label_names,
                "enhanced": self.enhanced,
            }
            (self._folder / SETTINGS).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _read_settings(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    with reading(existing_file(file), "JSON"):
        content = read_json(file, MOST_SETTINGS_BYTES)
        if not isinstance(content, dict):
            raise InputError("an object with part_names and label_names was expected")
        if content.get("version", VERSION) != VERSION:
            raise InputError(f"version {content['version']} of the folder format is not known here, only {VERSION}")
        lists = {name: texts(name, content.get(name, [])) for name in NAME_LISTS}
        return {**lists, "enhanced": one_truth_value("enhanced", content.get("enhanced", False))}
