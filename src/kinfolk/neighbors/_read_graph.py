"""Reads graphs: one `.npz` or a folder that kinfolk wrote, or the `.npz` of learn-to-cluster."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file
from kinfolk.neighbors._store import FACTS, VERSION, GraphFields


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
