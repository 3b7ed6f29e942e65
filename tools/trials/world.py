"""What the trials of files share: small inputs, every command that writes, and what it writes when left in peace."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import kinfolk as kf
from kinfolk.experiments.results import ExperimentResult, Table

VARIANTS = (5, 6)  # of each command: two outputs that differ
# output, and the command that writes it; {n} is the variant
COMMANDS = {
    "g.npz": "knn x5.npz -k {n} -o {out}",
    "graph": "knn x5.npz -k {n} -o {out}",
    "s.npz": "similarity x5.npz -k {n} -o {out}",
    "e.npz": "enhance x5.npz -k {n} -o {out}",
    "c.csv": "cluster x5.npz -m gcut -k {n} -o {out}",
    "c.npy": "cluster x5.npz -m gcut -k {n} -o {out}",
    "r.csv": "rerank x5.npz x6.npz -m cosine --top {n} -o {out}",
    "n.kf": "generate celeb_like {out} --identities {n}",
    "v.kf": "convert x{n}.npz {out}",
    "v.npz": "convert x{n}.npz {out}",
    "v.npy": "convert x{n}.npz {out}",
    "v.bin": "convert x{n}.npz {out}",
    "v.csv": "convert x{n}.npz {out}",
    "v.parquet": "convert x{n}.npz {out}",
    "v.safetensors": "convert x{n}.npz {out}",
    "report.html": "report run{n} -o {out}",
    "t.svg": "theory --gamma {n} --plot {out}",
    "model": "train x5.npz -k {n} -o {out}",
}
ROWS, DIM = 400, 16
MINE = "mine.txt"  # a file of the user's beside the output
AT_STEP = Path(__file__).with_name("at_step.py")
Tree = dict[str, str]  # path -> hash; folders end with a slash


@dataclass(frozen=True)
class Peaceful:
    """What an undisturbed run does: the files it writes, its seconds, and its steps in the folder."""

    tree: Tree
    seconds: float
    steps: int


class World:
    """A folder with inputs, and a new place for each trial."""

    def __init__(self, folder: Path) -> None:
        """Write the inputs."""
        self.folder, self._places = folder, 0
        os.environ["PYTHONPATH"] = str(Path(kf.__file__).parents[1])  # the same kinfolk for all, in whatever folder
        (folder / "inputs").mkdir()
        random = np.random.default_rng(0)
        for variant in VARIANTS:
            rows = np.arange(ROWS)
            features = random.standard_normal((ROWS, DIM)) + 2 * np.eye(DIM)[rows % DIM]
            fs = kf.FeatureSet(features, labels=rows % DIM, names=[f"{row}.jpg" for row in rows])
            fs.save(folder / "inputs" / f"x{variant}.npz")
            table = Table(data="digits", head=("", "mAP"), rows=(("raw", f"{variant}.0"),))
            result = ExperimentResult(name="table2", title="Table 2", about="", tables=(table,))
            result.save(folder / "inputs" / f"run{variant}")
        self._peaceful: dict[tuple[str, int], Peaceful] = {}

    def place(self) -> Path:
        """Return a new folder with the inputs and a file of the user's."""
        self._places += 1
        place = self.folder / f"place{self._places}"
        shutil.copytree(self.folder / "inputs", place)
        (place / MINE).write_text("mine")
        return place

    def peaceful(self, output: str, variant: int) -> Peaceful:
        """Return what a command does when it is left in peace; measured once."""
        if (output, variant) not in self._peaceful:
            place = self.place()
            begin = time.perf_counter()
            line = command(output, variant)
            done = subprocess.run(line, cwd=place, capture_output=True, text=True, check=False)
            seconds = time.perf_counter() - begin
            if done.returncode:
                raise SystemExit(f"{output}: the undisturbed command failed: {done.stderr}")
            steps = int(done.stderr.splitlines()[-1])
            self._peaceful[output, variant] = Peaceful(written(place), seconds, steps)
            shutil.rmtree(place)
        return self._peaceful[output, variant]


@contextmanager
def new_world() -> Iterator[World]:
    """Yield a world that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="kinfolk-trials-") as folder:
        yield World(Path(folder))


def command(output: str, variant: int, force: bool = False, step: int = 0, signal: int = 9) -> list[str]:
    """Return a command line, which sends itself a signal at its step-th step in the current folder; 0: at none."""
    words = COMMANDS[output].format(n=variant, out=output).split()
    return [sys.executable, str(AT_STEP), str(step), str(signal), *words, *(["--force"] if force else [])]


def tree(place: Path) -> Tree:
    """Return everything below a folder, hidden ones too."""
    found = {}
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if path.is_dir():
            found[f"{name}/"] = ""
        else:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def written(place: Path) -> Tree:
    """Return what is in a place beside the inputs and the file of the user's."""
    return {name: content for name, content in tree(place).items() if not _is_given(name)}


def unharmed(place: Path, world: World) -> bool:
    """Return whether the inputs and the file of the user's are as they were."""
    given = {name: content for name, content in tree(place).items() if _is_given(name) and name != MINE}
    return given == tree(world.folder / "inputs") and (place / MINE).read_text() == "mine"


def visible(found: Tree) -> Tree:
    """Return what is written under its final name."""
    return {name: content for name, content in found.items() if not name.startswith(".")}


def left_over(found: Tree, resumes: bool) -> list[str]:
    """Return what is left of work that has ended; work that can be taken up again may stay where `resumes`."""
    hidden = [name for name in found if name.startswith(".")]
    if resumes and any("/partial/" in name for name in hidden):
        return [name for name in hidden if "/new-" in name or "/old-" in name or name.endswith("/lock")]
    return hidden


def _is_given(name: str) -> bool:
    return name == MINE or name.startswith(tuple(f"{kind}{variant}" for kind in ("x", "run") for variant in VARIANTS))


def harm(world: World, place: Path, about: str, resumes: bool) -> Counter[str]:
    """Count, and tell on standard error, what a trial left over, and what it changed that is not the command's."""
    counts: Counter[str] = Counter()
    if left := left_over(written(place), resumes=resumes):
        counts["left_over"] += 1
        print(f"{about}: left over: {left}", file=sys.stderr)
    if not unharmed(place, world):
        counts["lost"] += 1
        print(f"{about}: an input or a file of the user's has changed", file=sys.stderr)
    return counts
