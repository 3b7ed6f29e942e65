"""A labelled fit, a label-free transform and Kin: this commit and the one before the layers were put in order."""

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.page import ROOT, Section

BEFORE = "c42d673"  # kinfolk 0.1
SETS = ("omniglot", "market1501", "clinc150", "banking77")
PROGRAM = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
import kinfolk as kf
z = np.load(sys.argv[1])
X, y, part = z["features"].astype(np.float32), z["labels"], z["part"]
small = kf.datasets.celeb_like(n_identities=12)  # compiles what there is to compile
warm = kf.GraphEnhancer(show_progress=False).fit(small, small.labels)
kf.cluster.Kin(warm).fit(small)
def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
print(json.dumps([
    seconds(lambda: kf.GraphEnhancer(show_progress=False).fit(X[part == 0], y[part == 0])),
    seconds(lambda: kf.GraphEnhancer(show_progress=False).fit(X[part == 1]).transform(X[part == 1])),
    seconds(lambda: kf.cluster.Kin().fit(X[part == 1])),
]))
"""


def before_and_after(folder: str) -> Section:
    old = Path(folder) / "before"
    old.mkdir()
    archive = subprocess.run(["git", "archive", BEFORE, "src"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(old)], input=archive, check=True)
    rows = []
    for name in SETS:
        file = ROOT.parent / "shared" / "data" / f"{name}.npz"
        pairs = zip(_measured(old / "src", file), _measured(ROOT / "src", file), strict=True)
        rows.append([name, *(f"{a:.1f} → {b:.1f} s ({a / b:.1f} times)" for a, b in pairs)])
        print(*rows[-1], sep="  ", flush=True)
    return Section(
        "A fit, before and after",
        f"kinfolk 0.1 (commit {BEFORE}) and this one in turns, each in its own process, compiled code at "
        "hand: `fit(X, y)` on the training part, `fit(X)` with `transform(X)` and `Kin().fit(X)` on the "
        "test part.",
        ["set", "fit(X, y)", "fit(X), transform(X)", "Kin"],
        rows,
    )


def _measured(source: Path, file: Path) -> list[float]:
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(file)], env=environment, check=True, capture_output=True)
    return json.loads(done.stdout.splitlines()[-1])
