"""Build the wheel, install it without torch into a new environment outside the tree, and use it there.

    python tools/check_wheel.py [--python python3.13]

The path that needs no labels must work without torch, and `fit(X, y)` must say what to install. Prints the size of the
installation.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PIP = ("-m", "pip", "install", "-qq", "--disable-pip-version-check")

WITHOUT_LABELS = """
import importlib.util

import numpy as np

import kinfolk as kf

assert importlib.util.find_spec("torch") is None, "torch is installed: this check means nothing"
fs = kf.datasets.celeb_like(n_identities=40, seed=0)
X, y = fs.features, fs.labels

g = kf.knn_graph(X, k=20)
assert kf.sim_s(g).shape == kf.sim_m(g).shape == (len(X), 20)
assert kf.metrics.pair_auc(g, kf.sim_m(g), y) > 0.7
assert kf.theory.estimate(g, y).p > 0

Z = kf.GraphEnhancer().fit(X).transform(X)
before, after = (kf.metrics.mean_average_precision(rows, y) for rows in (X, Z))
assert after > before, (before, after)

labels = kf.cluster.Kin().fit_predict(X)
assert kf.metrics.pairwise(y, labels).f > 0.5
query = np.arange(len(X)) % 5 == 0
ranking = kf.rerank.k_reciprocal(X[query], X[~query], top=10)
assert ranking.indices.shape == (query.sum(), 10)

for needs_torch in (lambda: kf.GraphEnhancer().fit(X, y), lambda: kf.cluster.AdaNets().fit(X, y)):
    try:
        needs_torch()
    except kf.MissingExtraError as error:
        sentence = str(error)
        assert 'pip install "kinfolk[train]"' in sentence, sentence
    else:
        raise AssertionError("trained without torch")
fs.save("celeb.npz")
print(f"without torch: mAP {before:.3f} -> {after:.3f}, {len(set(labels))} clusters; {sentence}")
"""


def run(*command: str | Path, cwd: Path) -> None:
    """Run a command in the clean environment: nothing of the tree is on the path."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    subprocess.run([str(word) for word in command], cwd=cwd, env=environment, check=True)


def size_mb(folder: Path) -> float:
    """Return what the files in `folder` take, in MB."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def main() -> None:
    """Build, install, use."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="interpreter of the new environment")
    python = parser.parse_args().python
    with tempfile.TemporaryDirectory(prefix="kinfolk-wheel-") as temporary:
        folder = Path(temporary)
        copy = folder / "source"  # built from a copy: setuptools puts what it finds in an old build/ into the wheel
        shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, copy)
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, copy, cwd=folder)
        (wheel,) = folder.glob("kinfolk-*.whl")
        run(python, "-m", "venv", "env", cwd=folder)
        inside = folder / "env" / "bin"
        empty = size_mb(folder / "env")
        run(inside / "python", *PIP, "-c", ROOT / "constraints.txt", wheel, cwd=folder)
        installed = size_mb(folder / "env") - empty
        run(inside / "python", "-c", WITHOUT_LABELS, cwd=folder)
        run(inside / "kinfolk", "cluster", "celeb.npz", "-o", "clusters.csv", cwd=folder)
        lines = (folder / "clusters.csv").read_text().splitlines()
        assert len(lines) > 1, "kinfolk cluster wrote no rows"
        version = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        print(f"{version}: {wheel.name} ({wheel.stat().st_size / 1e6:.1f} MB) works without torch;", end=" ")
        print(f"the installation takes {installed:.0f} MB")


if __name__ == "__main__":
    main()
