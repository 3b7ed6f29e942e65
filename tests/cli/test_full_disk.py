"""A full disk, a real one: exit code 1, one sentence, the old output as it was, and nothing beside it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.experiments.results import ExperimentResult, Table

LEFT = 16 << 10  # bytes on the disk: a few blocks can be written, but not the outputs of the large set
# a name for each command, and its arguments; {set} and {out} are replaced
COMMANDS = {
    "knn file": "knn {set} -k 20 -o {out}/g.npz",
    "knn folder": "knn {set} -k 20 -o {out}/g",
    "similarity": "similarity {set} -k 20 --threshold 0 -o {out}/s.npz",
    "enhance": "enhance {set} -k 20 -o {out}/e.npz",
    "cluster csv": "cluster {set} -m finch -o {out}/c.csv",
    "cluster npy": "cluster {set} -m finch -o {out}/c.npy",
    "rerank": "rerank {set} {set} -m cosine --top 20 -o {out}/r.csv",
    "report": "report {run} -o {out}/report.html",
    "figures": "report {run} -o {run}/report.html --figures {out}/figures",
    "train": "train {set} -k 5 --recipe paper --steps 2 -o {out}/model",
    "checkpoints": "train {set} -k 5 --recipe paper --steps 2 -o {out}/model --checkpoint-dir {out}/{size}",
    "theory": "theory --plot {out}/t.png",
    "generate": "generate celeb_like {out}/n.kf --identities {identities}",
    **{
        f"convert {suffix}": f"convert {{set}} {{out}}/x.{suffix}"
        for suffix in ("npz", "npy", "bin", "mat", "csv", "safetensors", "parquet", "kf")
    },
}


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory):
    """A disk of 2 MB."""
    folder = tmp_path_factory.mktemp("disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A small set, a large one, and a run of experiments."""
    folder, random = tmp_path_factory.mktemp("inputs"), np.random.default_rng(0)
    for name, rows in (("small", 60), ("large", 3000)):
        features = random.standard_normal((rows, 16)) + 3 * np.eye(16)[np.arange(rows) % 16]
        kf.FeatureSet(
            features, labels=np.arange(rows) % 16, cameras=np.arange(rows) % 3, query=np.arange(rows) % 5 == 0
        ).save(folder / f"{name}.npz")
    for name, rows in (("small", 1), ("large", 2000)):
        table = Table(data="digits", head=("", "mAP"), rows=(("raw", "66.0"),) * rows)
        ExperimentResult(name="table2", title="Table 2", about="", tables=(table,)).save(folder / f"{name}-run")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Return everything below a folder, hidden ones and folders too."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() if p.is_file() else b"" for p in folder.rglob("*")}


def arguments(command: str, inputs: Path, size: str, out: Path) -> list[str]:
    facts = dict(size=size, set=inputs / f"{size}.npz", run=inputs / f"{size}-run", out=out)
    return command.format(**facts, identities=3 if size == "small" else 300).split()


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_full_disk(kinfolk, small_disk, inputs, command):
    for entry in small_disk.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    code, _, err = kinfolk(*arguments(command, inputs, "small", small_disk))
    assert code == 0, err
    old = contents(small_disk)
    left = (
        LEFT if command.startswith(("knn", "convert", "generate", "enhance", "similarity", "rerank", "cluster")) else 0
    )
    with (small_disk / "filler").open("wb") as filler:
        filler.write(bytes(shutil.disk_usage(small_disk).free - left))
    code, out, err = kinfolk(*arguments(command, inputs, "large", small_disk), "--force")
    (small_disk / "filler").unlink()
    assert (code, out) == (1, "")
    assert "the disk is full" in err
    assert err.startswith("kinfolk: ") and len(err.splitlines()) == 1
    assert contents(small_disk) == old
