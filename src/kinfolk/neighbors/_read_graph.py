"""Reads graphs: one `.npz` or a folder that kinfolk wrote, or the `.npz` of learn-to-cluster.

Nothing in a file is trusted: the facts are checked against `GraphFacts`, sizes before they are allocated, whole numbers
before they are cast. `NeighborGraph.validate` then looks at every row once, block after block.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file, steady
from kinfolk._core.json_file import read_json
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk._core.schema import Facts, checked
from kinfolk.formats._arrays import map_file
from kinfolk.formats._common import reading
from kinfolk.formats._npz_archive import open_npz
from kinfolk.neighbors._store import ARRAYS, FACTS, VERSION, GraphFields

MOST_TARGETS = int(np.iinfo(np.int32).max)  # a neighbour is an int32
MOST_FACTS_BYTES = 1 << 16  # graph.json is a line
KIND = "a graph, such as kinfolk knn writes"


class GraphFacts(Facts):
    """What a file states about a graph beside its two arrays; facts of other programs are left alone."""

    model_config = ConfigDict(extra="ignore")

    n_targets: Annotated[int, Field(ge=1, le=MOST_TARGETS)]
    method: Annotated[str, Field(max_length=64)] = "given"
    recall: Annotated[float, Field(gt=0, le=1)] | None = None
    square: bool = True


def read_graph(path: str | os.PathLike[str]) -> GraphFields:
    """Read a graph that kinfolk or learn-to-cluster wrote; `NeighborGraph.validate` checks its rows."""
    if Path(path).is_dir():
        return steady([Path(path)], lambda: _read_folder(Path(path)))
    file = existing_file(path)
    with reading(file, KIND), open_npz(file) as archive:
        if "data" in archive.fields and "indices" not in archive.fields:
            return _from_distances(archive.read(["data"])["data"])
        missing = {*ARRAYS, "n_targets"} - set(archive.fields)
        if missing:
            raise InputError(f"not a graph: {', '.join(sorted(missing))} is missing")
        facts = {name: _one_value(name, value) for name, value in archive.read(FACTS).items()}
        checked_facts = _facts(facts)
        return _fields(**archive.read(ARRAYS), facts=checked_facts)


def _read_folder(folder: Path) -> GraphFields:
    facts_file = folder / "graph.json"
    if not facts_file.is_file():
        raise InputError(f"{folder} is not a graph folder: graph.json is missing")
    with reading(facts_file, KIND):
        facts = _facts(read_json(facts_file, MOST_FACTS_BYTES))
    indices, similarities = (map_file(folder / f"{name}.npy", name) for name in ARRAYS)
    with reading(folder, KIND):
        return _fields(indices, similarities, facts)


def _one_value(name: str, array: NDArray[Any]) -> Any:
    if array.size != 1:
        raise InputError(f"{name} must be one value, not of the shape {array.shape}")
    return array.item()


def _facts(facts: Any) -> GraphFacts:
    version = facts.get("version", VERSION) if isinstance(facts, dict) else VERSION
    if type(version) is int and version > VERSION:
        raise InputError(f"it was written by a newer kinfolk (format {version}): upgrade to read it")
    return checked(GraphFacts, facts, "its facts")


def _fields(indices: NDArray[Any], similarities: NDArray[Any], facts: GraphFacts) -> GraphFields:
    if indices.dtype.kind not in "iu" or similarities.dtype.kind != "f":
        raise InputError(
            f"whole-number indices and real similarities were expected, not {indices.dtype} and {similarities.dtype}"
        )
    if indices.ndim != 2 or indices.shape != similarities.shape or not indices.size:
        raise InputError(
            "indices and similarities must both have the shape (n, k) of one neighbour or more, not "
            f"{indices.shape} and {similarities.shape}"
        )
    if indices.dtype != np.int32:  # a cast of what does not fit would give other neighbours
        _refuse_out_of_range(indices, facts.n_targets)
    return GraphFields(
        indices=indices.astype(np.int32, copy=False),
        similarities=_as_float32(similarities),
        n_targets=facts.n_targets,
        method=facts.method,
        recall=facts.recall,
        square=facts.square,
    )


def _as_float32(similarities: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what does not fit becomes infinite, which `validate` reports by row
        return similarities.astype(np.float32, copy=False)


def _refuse_out_of_range(neighbors: NDArray[Any], n_targets: int) -> None:
    if neighbors.min() < 0 or neighbors.max() >= n_targets:
        row = int(np.argmax(((neighbors < 0) | (neighbors >= n_targets)).any(axis=1)))
        raise InputError(f"row {row} has a neighbour outside 0..{n_targets - 1}")


def _from_distances(data: NDArray[Any]) -> GraphFields:
    """Turn learn-to-cluster's (n, 2, k) array (neighbours, 1 - cosine; usually self first) into a graph."""
    if data.ndim != 3 or data.shape[1] != 2 or data.dtype.kind not in "fiu" or not data.size:
        raise InputError(f"'data' must be numbers of the shape (n, 2, k), not {data.dtype} {data.shape}")
    refuse_more_than_memory(4 * data.nbytes, "the graph")  # copies of both halves, their order, and the result
    named = data[:, 0]
    if not np.isfinite(named).all() or (named != np.trunc(named)).any():
        raise InputError("the neighbours in 'data' must be whole numbers")
    _refuse_out_of_range(named, len(data))
    neighbors, similarities = named.astype(np.int64), 1.0 - _as_float32(data[:, 1])
    is_self = neighbors == np.arange(len(data))[:, None]
    if is_self.any():
        # one column is dropped: self where it is listed, the last neighbour in rows without it
        is_self[~is_self.any(axis=1), -1] = True
        if (is_self.sum(axis=1) != 1).any():
            raise InputError(f"row {int(np.argmax(is_self.sum(axis=1) != 1))} lists itself twice")
        shape = (len(data), data.shape[2] - 1)
        neighbors, similarities = neighbors[~is_self].reshape(shape), similarities[~is_self].reshape(shape)
    if not neighbors.size:
        raise InputError("no row has a neighbour other than itself")
    if not np.isfinite(similarities).all():
        raise InputError("the distances in 'data' must be finite numbers")
    order = np.argsort(-similarities, axis=1, kind="stable")
    return GraphFields(
        indices=np.take_along_axis(neighbors, order, axis=1).astype(np.int32),
        similarities=np.take_along_axis(np.clip(similarities, -1, 1), order, axis=1),
        n_targets=len(data),
        method="given",
        recall=None,
        square=True,
    )
