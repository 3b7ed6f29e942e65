"""Experiments in cells: each number of a study is measured once and kept as one line of JSON.

A cell is one data set, one method and one seed. Its key is the hash of its settings and of the data's bytes, so that a
study which was killed goes on where it stopped, and a number is never taken for one of other data.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import added, record
from kinfolk.enhance import GraphEnhancer
from kinfolk.experiments.results import RUN_KIND
from kinfolk.features import FeatureSet
from kinfolk.formats import load, parts
from kinfolk.formats._common import reading

LARGEST_KIN_K = 40  # the memory and time of a sub-graph encoder grow with k^2
LARGEST_PART = 9  # the paper's largest scale is part 9, its smallest part 1
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

    @classmethod
    def read(cls, path: Path, learns: bool = True) -> Data:
        """Read a set with the parts train and test, or a folder of MS-Celeb: part 0 to learn from, part 1 to test.

        learns=False: a set without parts is allowed, and is tested whole.
        """
        if path.is_dir() and parts.matches(path):
            return MsCeleb(load(path, part="part0"), load(path, part="part1"), path)
        fs = load(path)
        return cls(fs, fs) if not fs.part_names and not learns else cls.of(fs)

    def grown(self, part: int) -> FeatureSet:
        """Return the test part at the scale of part 1, 3, 5, 7 or 9: that many ninths of its identities, nested.

        >>> import kinfolk as kf
        >>> data = Data.of(kf.datasets.person_like(36, dim=16))
        >>> [len(np.unique(data.grown(part).labels)) for part in (1, 3, 9)]
        [2, 5, 16]
        """
        labels = labels_of(self.test)
        identities = np.random.default_rng(0).permutation(np.unique(labels))
        return self.test.take(np.isin(labels, identities[: max(2, len(identities) * part // LARGEST_PART)]))

    def part_facts(self, part: int) -> Any:
        """Return what distinguishes this scale from others, beyond the fingerprint."""
        return part

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
class MsCeleb(Data):
    """MS-Celeb as published: part 0 and part 1, and the larger test parts in the same folder."""

    folder: Path

    def grown(self, part: int) -> FeatureSet:
        """Return that test part, from its own file."""
        return self.test if part == 1 else load(self.folder, part=f"part{part}")

    def part_facts(self, part: int) -> Any:
        """Return the part and a hash of its labels: the fingerprint is of parts 0 and 1."""
        return part, hashlib.sha256(labels_of(self.grown(part)).tobytes()).hexdigest()[:16]


class AnyCell(Protocol):
    """What every cell has: the name of its set, its seed, and a key."""

    @property
    def data(self) -> str:
        """Name of the set, for the loader."""

    @property
    def seed(self) -> int:
        """Seed of the method, and of the data where they are generated."""

    def key(self, data: Data) -> str:
        """Return the hash of everything the number depends on, the program apart."""


class AnyFinishedCell(Protocol):
    """What every finished cell has: the key of its cell and the commit that made it."""

    @property
    def key(self) -> str:
        """Key of the cell."""

    @property
    def commit(self) -> str:
        """Commit of the program that measured it."""


Cell = TypeVar("Cell", bound=AnyCell)
Finished = TypeVar("Finished", bound=AnyFinishedCell)
Load = Callable[[str, int], Data]


class CellStore(Generic[Finished]):
    """The finished cells of a file, one line of JSON each; `kind` is the dataclass of a row.

    A line that was cut off by a power failure is ignored, and measured again.
    """

    def __init__(self, path: str | os.PathLike[str], kind: Callable[..., Finished]) -> None:
        """Read what is there."""
        self.path = Path(path)
        with reading(self.path, "finished cells"):
            self._text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        lines = self._text.splitlines()
        self._rows: dict[str, Finished] = {}
        for number, line in enumerate(lines, start=1):
            try:
                row = kind(**json.loads(line))  # a cell may be NaN
                self._rows[row.key] = row
            except (ValueError, TypeError, RecursionError):
                if number == len(lines) and not self._text.endswith("\n"):
                    continue
                raise InputError(f"{self.path}, line {number} is not a finished cell: remove the line") from None

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: str) -> Finished | None:
        """Return the cell with this key where it is finished."""
        return self._rows.get(key)

    def append(self, row: Finished) -> None:
        """Write one more cell to the end of the file, whole and on the disk before this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            if self._text and not self._text.endswith("\n"):
                file.truncate(len(self._text[: self._text.rfind("\n") + 1].encode()))
            self._text = "\n"
            file.write(json.dumps(asdict(cast("Any", row))) + "\n")
            file.flush()
            os.fsync(file.fileno())
        if self.path.name not in added(self.path.parent, RUN_KIND):
            record(self.path.parent, RUN_KIND, [], growing=[self.path.name])
        self._rows[row.key] = row


def resume(
    cells: Sequence[Cell],
    load: Load,
    store: CellStore[Finished],
    measure: Callable[[Cell, Data, str], Finished],
    progress_line: Callable[[Cell, Finished, bool], str],
    echo: Callable[[str], object] = print,
) -> list[Finished]:
    """Measure the cells that are not in the store yet, one after another, and return all of them in order.

    load(name, seed) gives the data; measure(cell, data, key) a row; progress_line(cell, row, new) the line about it.
    """
    rows = []
    for number, cell in enumerate(cells, start=1):
        data = load(cell.data, cell.seed)
        key = cell.key(data)
        row, new = store.get(key), False
        if row is None:
            row, new = measure(cell, data, key), True
            store.append(row)
        rows.append(row)
        echo(f"{number}/{len(cells)}  {progress_line(cell, row, new)}")
    return rows


def finished_cells(cells: Sequence[Cell], load: Load, store: CellStore[Finished]) -> list[tuple[Cell, Finished]]:
    """Return the cells that are finished, and nothing is measured."""
    found = [(cell, store.get(cell.key(load(cell.data, cell.seed)))) for cell in cells]
    return [(cell, row) for cell, row in found if row is not None]


def made_by(rows: Iterable[AnyFinishedCell]) -> str:
    """Return a sentence with the commits of the program that made the numbers, so that a mixture is seen.

    >>> made_by([])
    ''
    """
    commits = Counter(row.commit for row in rows)
    cells = ", ".join(f"{count} by commit {commit}" for commit, count in commits.most_common())
    return f"{commits.total()} cells: {cells}." if commits else ""


def hashed(facts: Mapping[str, Any]) -> str:
    """Return a short hash of facts that JSON can hold.

    >>> len(hashed({"k": 5}))
    24
    """
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:24]


def labels_of(fs: FeatureSet) -> NDArray[np.int64]:
    """Return the labels of a set that must have some.

    >>> import kinfolk as kf
    >>> labels_of(kf.FeatureSet(np.eye(2)))
    Traceback (most recent call last):
    kinfolk.InputError: an experiment needs labels: this set has none
    """
    if fs.labels is None:
        raise InputError("an experiment needs labels: this set has none")
    return np.asarray(fs.labels, dtype=np.int64)


@cache
def commit() -> str:
    """Return the commit this program runs from, with "-dirty" where files were changed since."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


@cache
def versions() -> dict[str, str]:
    """Return the versions of the packages a number depends on, of those that are installed."""
    found = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
