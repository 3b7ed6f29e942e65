"""Measure the generated sets beside the paper and write docs/generated-data.md.

python -m research.make_generated_data_page      # four minutes
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kinfolk as kf
from kinfolk.experiments.edge_study import EdgeNoise, edge_noise_over_k, paper_edge_noise
from kinfolk.report.figures import COLORS, panels
from research._page import DOCS, IMAGES, write

TEMPLATE = Path(__file__).with_name("generated-data.template.md")
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


def over_k(
    measured: Mapping[str, Mapping[str, Sequence[float]]],
    paper: Mapping[str, Mapping[str, Sequence[float]]],
    ks: Sequence[int],
    labels: Mapping[str, str],
) -> Figure:
    """Draw measured lines and the paper's dashed ones over k: {panel: {line: values}}."""
    figure, axes = panels(len(measured))
    for ax, (title, lines) in zip(axes, measured.items(), strict=True):
        for color, (name, values) in zip(COLORS, lines.items(), strict=False):
            ax.plot(ks, values, "o-", color=color, label=name, markersize=4)
            if name in paper.get(title, {}):
                ax.plot(ks, paper[title][name], "s--", color=color, alpha=0.6, markersize=4, label=f"{name}, paper")
        ax.set(title=title, xscale="log", xlabel="neighbours k", ylabel=labels[title])
        ax.set_xticks(list(ks), [str(k) for k in ks])
        ax.minorticks_off()
        ax.legend(frameon=False, fontsize=8)
    return figure


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
        figure.savefig(IMAGES / f"{name}.png", dpi=110)
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
    text = TEMPLATE.read_text(encoding="utf-8")
    write(DOCS / "generated-data.md", text.replace("{{ calibration }}", "\n".join(sections).rstrip()))


if __name__ == "__main__":
    main()
