"""Graphs written to disk: one `.npz`, a folder that opens memory-mapped, and work that can be taken up again.

A folder holds indices.npy, similarities.npy, graph.json and a manifest. While a graph is computed its files are in the
work folder of the output (`kinfolk._core.outputs`); progress.json there holds how many rows are done and of which data,
and the same call continues behind them.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from kinfolk._core.commit import temporary_name
from kinfolk._core.disk import refuse_full_disk, reserve, writing
from kinfolk._core.errors import InputError
from kinfolk._core.files import replacing, replacing_folder
from kinfolk._core.json_file import read_json
from kinfolk._core.outputs import claim
from kinfolk._core.targets import check_target
from kinfolk.formats._arrays import map_file, read_file

log = logging.getLogger(__name__)
KIND = "graph"  # in the manifest
VERSION = 1  # of the format; a file with a higher one is refused
FACTS = ("n_targets", "method", "recall", "square", "version")
ARRAYS = {"indices": np.int32, "similarities": np.float32}
PROGRESS, ORDER = "progress.json", "order.npy"


class GraphFields(TypedDict):
    """What a file holds: the arguments of `NeighborGraph`."""

    indices: NDArray[np.int32]
    similarities: NDArray[np.float32]
    n_targets: int
    method: str
    recall: float | None
    square: bool


def graph_kind(path: str | os.PathLike[str]) -> str | None:
    """Return the kind of folder that a graph under this name is, None for an `.npz`; other suffixes are refused.

    >>> graph_kind("graph"), graph_kind("graph.npz")
    ('graph', None)
    """
    if Path(path).suffix not in ("", ".npz"):
        raise InputError(f"{path}: a graph is written as .npz, or as a folder under a name without a suffix")
    return None if Path(path).suffix else KIND


def write_graph(fields: GraphFields, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write a graph to `path`: an `.npz` file, or a folder under a name without a suffix."""
    if graph_kind(path) is None:
        with replacing(path, force) as file:
            _write_npz(file, fields)
        return
    with replacing_folder(path, KIND, VERSION, force) as folder:
        for name in ARRAYS:
            np.save(folder / f"{name}.npy", fields[name])  # type: ignore[literal-required]
        (folder / "graph.json").write_text(json.dumps(_facts(fields)))


def _write_npz(file: Path, fields: GraphFields) -> None:
    np.savez(file, **{name: fields[name] for name in ARRAYS}, **_facts(fields))  # type: ignore[literal-required]


def _facts(fields: GraphFields) -> dict[str, Any]:
    facts = dict(n_targets=fields["n_targets"], method=fields["method"], square=fields["square"], version=VERSION)
    return facts if fields["recall"] is None else facts | dict(recall=fields["recall"])


@dataclass
class PartialGraph:
    """A graph that grows on disk, row block by row block; a later run of the same work continues it.

    `order` is the order in which rows are written. It is kept on disk, so that a later run cannot miss any.
    """

    folder: Path
    target: Path
    indices: np.memmap
    similarities: np.memmap
    order: NDArray[np.int64]
    fingerprint: str
    done: int

    @classmethod
    @contextmanager
    def open(
        cls,
        target: str | os.PathLike[str],
        order: NDArray[np.int64],
        k: int,
        fingerprint: str,
        force: bool,
        inputs: Iterable[str | os.PathLike[str]] = (),
    ) -> Iterator[PartialGraph]:
        """Start, or take up what an interrupted run with the same fingerprint left; others wait until the block ends.

        The space of all rows is reserved here, and an `.npz`, which is a second copy, must have space beside it: a disk
        that is too small is refused before the work.
        """
        with claim(target, force=force, kind=graph_kind(target), inputs=inputs) as work:
            folder = work / "partial"
            done = _done(folder, len(order), k, fingerprint)
            if done:
                log.info("%s: %d of %d rows are there already", target, done, len(order))
                order = np.load(folder / ORDER)
            else:
                _begin(folder, order, k, copies=1 if graph_kind(target) else 2)
            arrays = [np.load(folder / f"{name}.npy", mmap_mode="r+") for name in ARRAYS]
            yield cls(folder, Path(target), arrays[0], arrays[1], order, fingerprint, done)

    def write(self, indices: NDArray[np.int32], similarities: NDArray[np.float32]) -> None:
        """Add the next rows and note that they are safe."""
        rows = self.order[self.done : self.done + len(indices)]
        self.indices[rows], self.similarities[rows] = indices, similarities
        self.indices.flush()
        self.similarities.flush()
        self.done += len(indices)
        with replacing(self.folder / PROGRESS, force=True) as temporary:
            temporary.write_text(json.dumps(dict(done=self.done, fingerprint=self.fingerprint)))

    def finish(self, fields: GraphFields, force: bool) -> None:
        """Give the graph its final name and remove the working files."""
        # refused now, the finished rows stay for the next run
        check_target(self.target, force=force, kind=graph_kind(self.target), checksums=True)
        rubbish = self.folder.with_name(temporary_name("new"))  # the next run removes it, should this one be killed
        if graph_kind(self.target) is None:
            with replacing(self.target, force) as file:
                _write_npz(file, fields)
                self.folder.rename(rubbish)
        else:
            with replacing_folder(self.target, KIND, VERSION, force) as folder:
                (folder / "graph.json").write_text(json.dumps(_facts(fields)))
                for name in ARRAYS:
                    (self.folder / f"{name}.npy").rename(folder / f"{name}.npy")
                self.folder.rename(rubbish)
        shutil.rmtree(rubbish)


def _begin(folder: Path, order: NDArray[np.int64], k: int, copies: int) -> None:
    """Make the files of a new graph, their space reserved."""
    _clear(folder)
    bytes_of_an_edge = sum(np.dtype(dtype).itemsize for dtype in ARRAYS.values())
    refuse_full_disk(folder.parent, copies * len(order) * k * bytes_of_an_edge)
    try:
        with writing(folder):
            folder.mkdir()
            np.save(folder / ORDER, order)
        for name, dtype in ARRAYS.items():
            _reserve_array(folder / f"{name}.npy", (len(order), k), np.dtype(dtype))
    except BaseException:
        _clear(folder)
        raise


def _clear(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


def _reserve_array(file: Path, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    header = {"descr": npy_format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    with writing(file), file.open("wb") as stream:
        npy_format.write_array_header_1_0(stream, header)
        start = stream.tell()
    first = file.read_bytes()
    file.unlink()
    reserve(file, start + shape[0] * shape[1] * dtype.itemsize)
    with file.open("rb+") as stream:
        stream.write(first)


def _done(folder: Path, rows: int, k: int, fingerprint: str) -> int:
    """Return how many rows of this very work are done; 0 where any of its files is missing, a link or damaged."""
    names = (PROGRESS, ORDER, *(f"{name}.npy" for name in ARRAYS))
    if folder.is_symlink() or any((folder / name).is_symlink() or not (folder / name).is_file() for name in names):
        return 0
    try:
        saved = read_json(folder / PROGRESS)
        order = read_file(folder / ORDER, ORDER)
        arrays = {name: map_file(folder / f"{name}.npy", name) for name in ARRAYS}
    except (ValueError, OSError):  # an InputError is a ValueError
        return 0
    fits = all(array.shape == (rows, k) and array.dtype == ARRAYS[name] for name, array in arrays.items())
    fits = fits and order.shape == (rows,) and order.dtype == np.int64
    fits = fits and np.array_equal(np.sort(order), np.arange(rows))
    if not fits or not isinstance(saved, dict) or saved.get("fingerprint") != fingerprint:
        return 0
    done = saved.get("done")
    return done if type(done) is int and 0 <= done <= rows else 0
