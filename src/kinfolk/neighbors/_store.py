"""Graphs on disk: one `.npz`, a folder that opens memory-mapped, and work that can be taken up again.

A folder holds indices.npy, similarities.npy and graph.json. While a graph is computed the folder has a hidden name
beside its final one; progress.json there holds how many rows are done, and the same call continues behind them.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import refuse_existing, replacing

VERSION = 1  # of the format; a file with a higher one is refused
FACTS = ("n_targets", "method", "recall", "square", "version")


class GraphFields(TypedDict):
    """What a file holds: the arguments of `NeighborGraph`."""

    indices: NDArray[np.int32]
    similarities: NDArray[np.float32]
    n_targets: int
    method: str
    recall: float | None
    square: bool


def check_target(path: Path, force: bool) -> None:
    """Refuse a place where a graph cannot or may not be written, before any work is done."""
    if path.suffix not in ("", ".npz"):
        raise InputError(f"{path}: a graph is written as .npz, or as a folder under a name without a suffix")
    if path.suffix == "" and path.is_file():
        raise InputError(f"{path} is a file: choose another name for the folder of the graph")
    refuse_existing(path, force)


def write_graph(fields: GraphFields, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write a graph to `path`: an `.npz` file, or a folder under a name without a suffix."""
    check_target(Path(path), force)
    with replacing(path, force) as temporary:
        if Path(path).suffix == ".npz":
            np.savez(temporary, indices=fields["indices"], similarities=fields["similarities"], **_facts(fields))
        else:
            temporary.mkdir()
            np.save(temporary / "indices.npy", fields["indices"])
            np.save(temporary / "similarities.npy", fields["similarities"])
            (temporary / "graph.json").write_text(json.dumps(_facts(fields)))


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
    def open(
        cls, target: str | os.PathLike[str], order: NDArray[np.int64], k: int, fingerprint: str, force: bool
    ) -> PartialGraph:
        """Start, or take up what an interrupted run with the same fingerprint left."""
        path = Path(target)
        refuse_existing(path, force)
        folder = path.with_name(f".{path.name}.partial")
        state = folder / "progress.json"
        done = 0
        if state.exists():
            saved = json.loads(state.read_text())
            done = saved["done"] if saved["fingerprint"] == fingerprint else 0
        folder.mkdir(parents=True, exist_ok=True)
        mode = "r+" if done else "w+"
        if done:
            order = np.load(folder / "order.npy")
        else:
            np.save(folder / "order.npy", order)
        arrays = [
            np.lib.format.open_memmap(folder / f"{name}.npy", mode=mode, dtype=dtype, shape=(len(order), k))
            for name, dtype in (("indices", np.int32), ("similarities", np.float32))
        ]
        return cls(folder, path, arrays[0], arrays[1], order, fingerprint, done)

    def write(self, indices: NDArray[np.int32], similarities: NDArray[np.float32]) -> None:
        """Add the next rows and note that they are safe."""
        rows = self.order[self.done : self.done + len(indices)]
        self.indices[rows], self.similarities[rows] = indices, similarities
        self.indices.flush()
        self.similarities.flush()
        self.done += len(indices)
        with replacing(self.folder / "progress.json", force=True) as temporary:
            temporary.write_text(json.dumps(dict(done=self.done, fingerprint=self.fingerprint)))

    def finish(self, fields: GraphFields, force: bool) -> None:
        """Give the graph its final name and remove the working files."""
        if self.target.suffix == ".npz":
            write_graph(fields, self.target, force=force)
        else:
            self._rename(fields, force)
        for leftover in self.folder.glob("*"):
            leftover.unlink()
        if self.folder.exists():
            self.folder.rmdir()

    def _rename(self, fields: GraphFields, force: bool) -> None:
        (self.folder / "graph.json").write_text(json.dumps(_facts(fields)))
        with replacing(self.target, force=force) as temporary:
            self.folder.replace(temporary)
            for working_file in ("progress.json", "order.npy"):
                (temporary / working_file).unlink()
