"""Measure raw, label-free and training-free features on uneven draws of the test parts, and print a table.

    python -m research.make_enhancer_regimes [DRAWS]     # draws 15, 16, ...: two unless told

The regimes are those of ../shared/checks/albums.py. Earlier versions of the rule were looked at on draws 10 to 12 of
the same test parts, so figures are of draws from 15 on; nothing was chosen on those.
"""

from __future__ import annotations

import sys

import numpy as np

import kinfolk as kf
from kinfolk.features import UnitRows, unit_rows
from research.peers_on_albums import load_albums

SETS = ("clinc150", "banking77", "omniglot", "market1501")
REGIMES = ("zipf", "few-large", "loners")
FIRST_DRAW = 15


def points(features: np.ndarray, labels: np.ndarray) -> float:
    """Return mean average precision x 100 of up to 1,000 queries."""
    return 100 * kf.metrics.mean_average_precision(
        UnitRows(unit_rows(features)), labels, n_queries=min(1000, len(labels))
    )


def main() -> None:
    """Print the means over the draws."""
    albums, draws = load_albums(), int(sys.argv[1]) if len(sys.argv) > 1 else 2
    print("| set | regime | raw | label-free | training-free |\n|---|---|---|---|---|")
    for name in SETS:
        X, y = albums.test_part(albums.DATA / f"{name}.npz")
        found: dict[str, list[list[float]]] = {regime: [] for regime in REGIMES}
        for draw in range(FIRST_DRAW, FIRST_DRAW + draws):
            for regime, features, labels in albums.regimes(X, y, draw):
                if regime in REGIMES:
                    forms = (kf.GraphEnhancer(pretrained=p, show_progress=False) for p in (True, False))
                    enhanced = [e.fit_transform(features) for e in forms]
                    found[regime].append([points(Z, labels) for Z in (features, *enhanced)])
        for regime, scores in found.items():
            print(f"| {name} | {regime} |", " | ".join(f"{v:.1f}" for v in np.mean(scores, axis=0)), "|", flush=True)


if __name__ == "__main__":
    main()
