"""Experiments in cells: each number of a study is measured once and kept as one line of JSON.

A cell is one data set, one method, one k and one seed. Its key is the hash of its settings and of the data's bytes, so
that a study which was killed goes on where it stopped, and a number is never taken for one of other data.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kinfolk.enhance import GraphEnhancer, KeptTrainingFreeWarning
from kinfolk.errors import InputError
from kinfolk.features import FeatureSet
from kinfolk.metrics import edge_noise_rate, mean_average_precision
from kinfolk.neighbors import knn_graph

QUERIES = 3000
LARGEST_KIN_K = 40
PACKAGES = ("kinfolk", "torch", "numpy", "numba", "faiss-cpu", "scikit-learn")


@dataclass(frozen=True)
class Data:
    """The two parts of a labelled set, which have no class in common.

    >>> import kinfolk as kf
    >>> Data.of(kf.datasets.digits()).test
    FeatureSet(896 x 64, 5 classes, parts test 896)
    """

    train: FeatureSet
    test: FeatureSet

    @classmethod
    def of(cls, fs: FeatureSet) -> Data:
        """Split a set by its parts "train" and "test"."""
        return cls(fs.part("train"), fs.part("test"))

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all features and labels."""
        digest = hashlib.sha256()
        for part in (self.train, self.test):
            digest.update(repr(part.features.shape).encode())
            digest.update(np.ascontiguousarray(part.features).tobytes())
            digest.update(labels_of(part).tobytes())
        return digest.hexdigest()

    @cached_property
    def kin_k(self) -> int:
        """The k that fits the classes of the training part, chosen without labels; at most 40."""
        return min(GraphEnhancer(show_progress=False).fit(self.train).k_, LARGEST_KIN_K)


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
        text = json.dumps(chosen | dict(queries=QUERIES, fingerprint=data.fingerprint), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Measured:
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


class Results:
    """The finished cells of a file, one line of JSON each.

    A line that was cut off by a power failure is ignored, and measured again.

    >>> import tempfile
    >>> len(Results(tempfile.mkdtemp() + "/none-yet.jsonl"))
    0
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Read what is there."""
        self.path = Path(path)
        self._text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        lines = self._text.splitlines()
        self._rows: dict[str, Measured] = {}
        for number, line in enumerate(lines, start=1):
            try:
                row = Measured(**json.loads(line))
            except (ValueError, TypeError):
                if number == len(lines) and not self._text.endswith("\n"):
                    continue
                raise InputError(f"{self.path}, line {number} is not a finished cell: remove the line") from None
            self._rows[row.key] = row

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: str) -> Measured | None:
        """Return the cell with this key where it is finished."""
        return self._rows.get(key)

    def append(self, row: Measured) -> None:
        """Write one more cell to the end of the file, whole and on the disk before this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            if self._text and not self._text.endswith("\n"):
                file.truncate(len(self._text[: self._text.rfind("\n") + 1].encode()))
            self._text = "\n"
            file.write(json.dumps(asdict(row)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._rows[row.key] = row


def run_cells(
    cells: Sequence[Cell],
    load: Callable[[str, int], Data],
    results: Results,
    say: Callable[[str], object] = print,
) -> list[Measured]:
    """Measure the cells that are not in the results yet, one after another, and return all of them in order.

    load(name, seed) gives the data; one line is said for each cell. Cells which differ in `served_k` only and follow
    each other share one fit.

    >>> import tempfile, kinfolk as kf
    >>> results = Results(tempfile.mkdtemp() + "/results.jsonl")
    >>> rows = run_cells([Cell("digits", "raw", None)], lambda name, seed: Data.of(kf.datasets.digits()), results)
    1/1  digits      raw                               seed 0   mAP 74.20 ...
    """
    bench, rows = _Bench(), []
    for number, cell in enumerate(cells, start=1):
        data = load(cell.data, cell.seed)
        key = cell.key(data)
        row = results.get(key)
        note = "as measured before"
        if row is None:
            row = bench.measure(cell, data, key)
            results.append(row)
            note = f"{row.seconds:.1f} s, {row.cpu_seconds:.1f} s of them ours"
        rows.append(row)
        at = "" if row.k is None else f"k {row.k}" if row.served_k is None else f"k {row.k} at {row.served_k}"
        title = f"{cell.data:<11} {cell.method:<24} {at:<8} seed {cell.seed}"
        say(f"{number}/{len(cells)}  {title}   mAP {row.map:.2f}   {note}")
    return rows


def finished_cells(
    cells: Sequence[Cell], load: Callable[[str, int], Data], results: Results
) -> list[tuple[Cell, Measured]]:
    """Return the cells that are finished, and nothing is measured.

    >>> finished_cells([], lambda name, seed: None, Results("nowhere.jsonl"))
    []
    """
    found = [(cell, results.get(cell.key(load(cell.data, cell.seed)))) for cell in cells]
    return [(cell, row) for cell, row in found if row is not None]


def labels_of(fs: FeatureSet) -> NDArray[np.int64]:
    """Return the labels of a set that must have some.

    >>> import kinfolk as kf
    >>> labels_of(kf.FeatureSet(np.eye(2)))
    Traceback (most recent call last):
    kinfolk.errors.InputError: an experiment needs labels: this set has none
    """
    if fs.labels is None:
        raise InputError("an experiment needs labels: this set has none")
    return np.asarray(fs.labels, dtype=np.int64)


class _Bench:
    """Fits and scores; the last fit is kept for the next cell."""

    def __init__(self) -> None:
        self.fitted: tuple[str, GraphEnhancer, float, float] | None = None

    def measure(self, cell: Cell, data: Data, key: str) -> Measured:
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
    return 100 * mean_average_precision(Z, labels, n_queries=QUERIES)


def _measured(cell: Cell, key: str, score: float, k: int | None, **more: Any) -> Measured:
    how: dict[str, Any] = dict(enr=None, trained=False, seconds=0.0, cpu_seconds=0.0) | more
    names: dict[str, Any] = dict(
        key=key, data=cell.data, method=cell.method, k=k, served_k=cell.served_k, seed=cell.seed
    )
    return Measured(**names, map=score, **how, commit=_commit(), versions=_versions())


@cache
def _commit() -> str:
    """Return the commit this program runs from, with "-dirty" where files were changed since."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in PACKAGES}
