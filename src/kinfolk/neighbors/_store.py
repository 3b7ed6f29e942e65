"""Graphs on disk: one `.npz`, a folder that opens memory-mapped, and work that can be taken up again.

A folder holds indices.npy, similarities.npy and graph.json. While a graph is computed the folder has a hidden name
beside its final one; progress.json there holds how many rows are done, and the same call continues behind them.
"""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file, refuse_existing, replacing

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


def read_graph(path: str | os.PathLike[str]) -> GraphFields:
    """Read a graph that kinfolk or learn-to-cluster wrote; `NeighborGraph.validate` checks its rows."""
    if Path(path).is_dir():
        return _read_folder(Path(path))
    file = existing_file(path)
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            if "data" in arrays and "indices" not in arrays:
                return _from_distances(arrays["data"], file)
            missing = {"indices", "similarities", "n_targets"} - set(arrays)
            if missing:
                raise InputError(f"{file} is not a graph: {', '.join(sorted(missing))} is missing")
            facts = {name: arrays[name].item() for name in FACTS if name in arrays}
            return _fields(arrays["indices"], arrays["similarities"], facts, file)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        raise _damaged(file, error) from error


def _read_folder(folder: Path) -> GraphFields:
    facts_file = folder / "graph.json"
    if not facts_file.exists():
        raise InputError(f"{folder} is not a graph folder: graph.json is missing")
    try:
        facts = json.loads(facts_file.read_text())
        indices, similarities = (
            np.load(existing_file(folder / f"{name}.npy"), mmap_mode="r") for name in ("indices", "similarities")
        )
        return _fields(indices, similarities, facts, folder)
    except (ValueError, OSError, EOFError, TypeError, AttributeError, KeyError) as error:
        raise _damaged(folder, error) from error


def _damaged(source: Path, error: Exception) -> InputError:
    if isinstance(error, InputError):
        return error
    # numpy takes any other file for a pickle, and its advice on pickles is unsafe
    why = "" if "pickle" in str(error) else f": {error}"
    return InputError(f"{source} is damaged or not a graph, such as kinfolk knn writes{why}")


def _fields(indices: NDArray[Any], similarities: NDArray[Any], facts: dict[str, Any], source: Path) -> GraphFields:
    if facts.get("version", VERSION) > VERSION:
        raise InputError(f"{source} was written by a newer kinfolk (format {facts['version']}): upgrade to read it")
    if indices.dtype.kind not in "iu" or similarities.dtype.kind != "f":
        raise InputError(
            f"{source}: whole-number indices and real similarities were expected, not "
            f"{indices.dtype} and {similarities.dtype}"
        )
    recall = facts.get("recall")
    return GraphFields(
        indices=indices if isinstance(indices, np.memmap) else indices.astype(np.int32, copy=False),
        similarities=similarities
        if isinstance(similarities, np.memmap)
        else similarities.astype(np.float32, copy=False),
        n_targets=int(facts["n_targets"]),
        method=str(facts.get("method", "given")),
        recall=None if recall is None else float(recall),
        square=bool(facts.get("square", True)),
    )


def _from_distances(data: NDArray[Any], file: Path) -> GraphFields:
    """Turn learn-to-cluster's (n, 2, k) array (neighbours, 1 - cosine; usually self first) into a graph."""
    if data.ndim != 3 or data.shape[1] != 2 or data.dtype.kind not in "fiu":
        raise InputError(f"{file}: 'data' must be numbers of the shape (n, 2, k), not {data.dtype} {data.shape}")
    neighbors, similarities = data[:, 0].astype(np.int64), 1.0 - data[:, 1].astype(np.float32)
    is_self = neighbors == np.arange(len(data))[:, None]
    if is_self.any():
        # one column is dropped: self where it is listed, the last neighbour in rows without it
        is_self[~is_self.any(axis=1), -1] = True
        if (is_self.sum(axis=1) != 1).any():
            raise InputError(f"{file}: row {int(np.argmax(is_self.sum(axis=1) != 1))} lists itself twice")
        shape = (len(data), data.shape[2] - 1)
        neighbors, similarities = neighbors[~is_self].reshape(shape), similarities[~is_self].reshape(shape)
    if neighbors.min(initial=0) < 0 or neighbors.max(initial=0) >= len(data):
        raise InputError(f"{file}: a neighbour outside 0..{len(data) - 1}, the rows of the file")
    order = np.argsort(-similarities, axis=1, kind="stable")
    return GraphFields(
        indices=np.take_along_axis(neighbors, order, axis=1).astype(np.int32),
        similarities=np.take_along_axis(np.clip(similarities, -1, 1), order, axis=1),
        n_targets=len(data),
        method="given",
        recall=None,
        square=True,
    )


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
