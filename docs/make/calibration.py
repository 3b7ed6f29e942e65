"""Measure the generated regimes beside the paper and write docs/generated-data.md: python docs/make/calibration.py."""

from pathlib import Path

import numpy as np

import kinfolk as kf
from kinfolk._core.files import replacing
from kinfolk.experiments.edge_noise import EdgeNoise, edge_noise_over_k, paper_edge_noise
from kinfolk.report.figures import over_k

DOCS = Path(__file__).parent.parent
SEEDS = (0, 1, 2)
REGIMES = {
    "celeb_like": ("ms-celeb", "MS-Celeb part 1 (Table 1)", 1000),
    "person_like": ("msmt17", "MSMT17 (Table 5)", 1000),
    "vehicle_like": ("veri-776", "VeRi-776 (Table 5)", 200),
}


def measure(name: str, identities: int, ks: list[int]) -> np.ndarray:
    """Return (seeds, ks, columns of EdgeNoise)."""
    make = getattr(kf.datasets, name)
    return np.array([edge_noise_over_k(make(identities, seed=seed), ks) for seed in SEEDS])


def table(paper: list[EdgeNoise], measured: np.ndarray) -> list[str]:
    lines = [
        "| k | ENR | paper | AUC one test | paper | AUC many tests | paper | difference | paper |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    mean, spread = measured.mean(axis=0), measured.std(axis=0, ddof=1)
    gains = measured[:, :, 3] - measured[:, :, 2]
    for row, (theirs, m, s) in enumerate(zip(paper, mean, spread, strict=True)):
        cells = [f"{theirs.k}", f"{m[1]:.3f} ± {s[1]:.3f}", f"{theirs.enr:.2f}"]
        cells += [f"{m[2]:.2f} ± {s[2]:.2f}", f"{theirs.auc_s:.2f}", f"{m[3]:.2f} ± {s[3]:.2f}", f"{theirs.auc_m:.2f}"]
        gain = gains[:, row]
        cells += [f"{gain.mean():+.2f} ± {gain.std(ddof=1):.2f}", f"{theirs.auc_m - theirs.auc_s:+.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    sections = []
    for name, (data, title, identities) in REGIMES.items():
        paper = paper_edge_noise(data)
        ks = [row.k for row in paper]
        measured = measure(name, identities, ks)
        mean = measured.mean(axis=0)
        lines = {
            "noise": {"edge noise rate": mean[:, 1]},
            "AUC": {"Sim-S": mean[:, 2], "Sim-M": mean[:, 3]},
        }
        theirs = {
            "noise": {"edge noise rate": [row.enr for row in paper]},
            "AUC": {"Sim-S": [row.auc_s for row in paper], "Sim-M": [row.auc_m for row in paper]},
        }
        figure = over_k(lines, theirs, ks, {"noise": "edge noise rate", "AUC": "AUC × 100"})
        figure.suptitle(f"{name} (generated) beside {title}")
        figure.savefig(DOCS / "images" / f"{name}.png", dpi=110)
        off = np.abs(mean[:, 1] - [row.enr for row in paper]).max()
        off_auc = np.abs(mean[:, 2] - [row.auc_s for row in paper]).max()
        sections += [
            f"## `{name}` beside {title}",
            "",
            f"{identities:,} identities, seeds {', '.join(map(str, SEEDS))}: mean ± standard deviation. Largest "
            f"distance to the paper: {off:.3f} in ENR, {off_auc:.2f} points in the AUC of one test.",
            "",
            *table(paper, measured),
            "",
            f"![{name} beside the paper](images/{name}.png)",
            "",
        ]
    text = (DOCS / "make" / "generated-data.md").read_text()
    with replacing(DOCS / "generated-data.md", force=True) as temporary:
        temporary.write_text(text.replace("{{ calibration }}", "\n".join(sections).rstrip()))


if __name__ == "__main__":
    main()
