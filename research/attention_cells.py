"""Cells of the attention study: one set, enhanced in one way, at one k, scored by mean average precision."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kinfolk.enhance import GraphEnhancer, KeptTrainingFreeWarning
from kinfolk.experiments.resume import CellStore, Data, commit, hashed, labels_of, resume, versions
from kinfolk.metrics import edge_noise_rate, mean_average_precision
from kinfolk.neighbors import knn_graph

QUERIES = 3000


@dataclass(frozen=True)
class Cell:
    """One number of a study.

    data      name of the set, for the loader
    method    name of the method, for people: not part of the key
    settings  of GraphEnhancer; None: the features as they are
    labelled  whether it is fitted to the training part and its labels, or without labels to the part it is scored on
    k         neighbours; "auto": the enhancer chooses; "kin": see `Data.kin_k`
    seed      of the training, and of the data where they are generated
    served_k  k of the graph it is scored on, where that is not the k it was trained with

    >>> Cell("digits", "label-free", {}, labelled=False, k=10).seed
    0
    """

    data: str
    method: str
    settings: Mapping[str, Any] | None = field(default_factory=dict)
    labelled: bool = True
    k: int | Literal["auto", "kin"] = "auto"
    seed: int = 0
    served_k: int | None = None

    def key(self, data: Data) -> str:
        """Return the hash of everything the number depends on, the program apart."""
        chosen = {name: value for name, value in asdict(self).items() if name not in ("data", "method")}
        return hashed(chosen | dict(queries=QUERIES, fingerprint=data.fingerprint))


@dataclass(frozen=True)
class MeasuredCell:
    """What came out: mean average precision of the test part x 100, the noise of its graph, and how it was made.

    enr is there where the features as they are were measured at some k. trained is False where the fit kept the
    training-free form. seconds: of the clock, fit and transform; cpu_seconds: the share this process had of it.
    """

    key: str
    data: str
    method: str
    k: int | None
    served_k: int | None
    seed: int
    map: float
    enr: float | None
    trained: bool
    seconds: float
    cpu_seconds: float
    commit: str
    versions: Mapping[str, str]


def attention_store(path: str | os.PathLike[str]) -> CellStore[MeasuredCell]:
    """Return the finished cells of a file.

    >>> import tempfile
    >>> len(attention_store(tempfile.mkdtemp() + "/none-yet.jsonl"))
    0
    """
    return CellStore(path, MeasuredCell)


def run_cells(
    cells: Sequence[Cell],
    load: Callable[[str, int], Data],
    store: CellStore[MeasuredCell],
    echo: Callable[[str], object] = print,
) -> list[MeasuredCell]:
    """Measure the cells that are not in the store yet, one after another, and return all of them in order.

    load(name, seed) gives the data; one line is printed for each cell. Cells which differ in `served_k` only and follow
    each other share one fit.

    >>> import tempfile, kinfolk as kf
    >>> store = attention_store(tempfile.mkdtemp() + "/results.jsonl")
    >>> rows = run_cells([Cell("digits", "raw", None)], lambda name, seed: Data.of(kf.datasets.digits()), store)
    1/1  digits      raw                               seed 0   mAP 74.20 ...
    """
    return resume(cells, load, store, _Bench().measure, _progress_line, echo)


def _progress_line(cell: Cell, row: MeasuredCell, new: bool) -> str:
    at = "" if row.k is None else f"k {row.k}" if row.served_k is None else f"k {row.k} at {row.served_k}"
    note = f"{row.seconds:.1f} s, {row.cpu_seconds:.1f} s of them ours" if new else "as measured before"
    return f"{cell.data:<11} {cell.method:<24} {at:<8} seed {cell.seed}   mAP {row.map:.2f}   {note}"


class _Bench:
    """Fits and scores; the last fit is kept for the next cell."""

    def __init__(self) -> None:
        self.fitted: tuple[str, GraphEnhancer, float, float] | None = None

    def measure(self, cell: Cell, data: Data, key: str) -> MeasuredCell:
        labels = labels_of(data.test)
        if cell.settings is None:
            k = None if isinstance(cell.k, str) else cell.k
            enr = None if k is None else edge_noise_rate(knn_graph(data.test, k, show_progress=False), labels)
            return _measured(cell, key, _score(data.test.features, labels), k, enr=enr)
        enhancer, seconds, cpu_seconds = self._fit(cell, data)
        k = int(enhancer.k_)
        clock, cpu = time.perf_counter(), time.process_time()
        enhancer.set_params(k=_asked_k(cell, data) if cell.served_k is None else cell.served_k)
        Z = enhancer.transform(data.test)
        seconds, cpu_seconds = seconds + time.perf_counter() - clock, cpu_seconds + time.process_time() - cpu
        how = dict(trained=enhancer.trained_, seconds=round(seconds, 2), cpu_seconds=round(cpu_seconds, 2))
        return _measured(cell, key, _score(Z, labels), k, **how)

    def _fit(self, cell: Cell, data: Data) -> tuple[GraphEnhancer, float, float]:
        """Return the fitted enhancer and how long the fit took: of the clock, of this process."""
        assert cell.settings is not None
        common: dict[str, Any] = dict(k=_asked_k(cell, data), random_state=cell.seed, show_progress=False)
        enhancer = GraphEnhancer(**common, **cell.settings)
        which = f"{data.fingerprint} {cell.labelled} {enhancer.get_params()}"
        if self.fitted is None or self.fitted[0] != which:
            clock, cpu = time.perf_counter(), time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", KeptTrainingFreeWarning)  # kept as trained=False
                part = data.train if cell.labelled else data.test
                enhancer.fit(part, part.labels if cell.labelled else None)
            self.fitted = which, enhancer, time.perf_counter() - clock, time.process_time() - cpu
        return self.fitted[1:]


def _asked_k(cell: Cell, data: Data) -> int | Literal["auto"]:
    return data.kin_k if cell.k == "kin" else cell.k


def _score(Z: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    return 100 * mean_average_precision(Z, labels, n_queries=min(QUERIES, len(labels)))


def _measured(cell: Cell, key: str, score: float, k: int | None, **more: Any) -> MeasuredCell:
    how: dict[str, Any] = dict(enr=None, trained=False, seconds=0.0, cpu_seconds=0.0) | more
    names: dict[str, Any] = dict(
        key=key, data=cell.data, method=cell.method, k=k, served_k=cell.served_k, seed=cell.seed
    )
    return MeasuredCell(**names, map=score, **how, commit=commit(), versions=versions())
