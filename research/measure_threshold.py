"""Measure the threshold without labels beside the best one with labels.

python -m research.measure_threshold [FOLDER]
"""

import sys
import warnings
from pathlib import Path

import numpy as np

import kinfolk as kf
from kinfolk.kinship import choose_k
from kinfolk.similarity.prune import auto_threshold

KS = (10, 20, 40, 80)


def pair_f(keep: np.ndarray, same: np.ndarray) -> float:
    return 100 * 2 * (keep & same).sum() / (keep.sum() + same.sum())


def best_f(scores: np.ndarray, same: np.ndarray) -> float:
    order = np.argsort(-scores, axis=None)
    hits = np.cumsum(same.ravel()[order])
    return float(100 * (2 * hits / (np.arange(1, len(hits) + 1) + same.sum())).max())


def main(folder: str) -> None:
    warnings.simplefilter("ignore")
    sets = {
        n: kf.load(Path(folder) / f"{n}.npz").part("test") for n in ("clinc150", "banking77", "omniglot", "market1501")
    }
    sets |= {f"{n} (generated)": getattr(kf.datasets, n)(200, seed=7) for n in kf.datasets.REGIMES}
    sets["digits"] = kf.datasets.digits()
    print("| set | k chosen | " + " | ".join(f"k = {k}" for k in KS) + " |")
    print("|---" + "|---:" * (len(KS) + 1) + "|")
    for name, fs in sets.items():
        graph = kf.knn_graph(fs, max(KS))
        cells = []
        for k in KS:
            g = graph.restrict(k)
            same = fs.labels[g.indices] == fs.labels[:, None]
            scores = kf.sim_m(g)
            found, best = pair_f(scores >= auto_threshold(g), same), best_f(scores, same)
            cells.append(f"{found:.1f} of {best:.1f} ({best - found:.1f})")
        print(f"| {name} | {choose_k(graph)} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "../shared/data")
