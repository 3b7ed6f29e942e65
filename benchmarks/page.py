"""docs/benchmarks.md, made from the results that lie in benchmarks/results."""

import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import psutil

from kinfolk._core.files import replacing
from kinfolk._core.threads import thread_count

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Section:
    """A table with a sentence before it and a verdict after it."""

    title: str
    text: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    verdict: str = ""


def save_result(name: str, section: Section) -> None:
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True).strip()
    facts = dict(
        date=datetime.now(UTC).date().isoformat(),
        commit=commit,
        machine=f"{_processor()}, {thread_count()} threads, {psutil.virtual_memory().total / (1 << 30):.0f} GiB",
        section=asdict(section),
    )
    print("\n".join(_section(facts["section"])), flush=True)
    with replacing(RESULTS / f"{name}.json", force=True) as temporary:
        temporary.write_text(json.dumps(facts, indent=1) + "\n")


def write_page(names: Sequence[str]) -> None:
    lines = ["# Benchmarks", ""]
    lines += [
        "Every table was measured in one run, its rows one after the other on the same machine, so the ratios mean",
        "more than the seconds. Made by `make bench`; one part alone by `.venv/bin/python -m benchmarks NAME`.",
        "",
    ]
    for name in names:
        file = RESULTS / f"{name}.json"
        if not file.exists():
            continue
        facts = json.loads(file.read_text())
        lines += _section(facts["section"])
        lines += [f"*`python -m benchmarks {name}`, {facts['date']}, commit {facts['commit']}, {facts['machine']}*", ""]
    with replacing(ROOT / "docs" / "benchmarks.md", force=True) as temporary:
        temporary.write_text("\n".join(lines).rstrip() + "\n")


def draw_lines(image: str, panels: Sequence[tuple[str, Mapping[str, Mapping[int, float]]]]) -> None:
    """Draw docs/images/IMAGE: for each panel (unit, {name: {rows: value}}), both axes by powers of ten."""
    from matplotlib.figure import Figure

    from kinfolk.report.figures import to_svg

    figure = Figure(figsize=(5.5 * len(panels) + 2, 4.2), layout="constrained")
    for ax, (unit, lines) in zip(np.atleast_1d(figure.subplots(1, len(panels))), panels, strict=True):
        for name, values in lines.items():
            ax.plot(list(values), list(values.values()), marker="o", markersize=4, label=name)
        sizes = sorted({rows for values in lines.values() for rows in values})
        ax.set(xlabel="rows", ylabel=unit, xscale="log", yscale="log")
        ax.set_xticks(sizes, [f"{rows:,}" for rows in sizes])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
        if ax is figure.axes[-1] or len(panels) == 1:
            ax.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize=8)
    with replacing(ROOT / "docs" / "images" / image, force=True) as temporary:
        temporary.write_text(to_svg(figure), encoding="utf-8")


def _section(section: dict) -> list[str]:
    rows = ["| " + " | ".join(row) + " |" for row in [section["columns"], *section["rows"]]]
    rows.insert(1, "|---" + "|---:" * (len(section["columns"]) - 1) + "|")
    verdict = [section["verdict"], ""] if section["verdict"] else []
    return [f"## {section['title']}", "", section["text"], "", *rows, "", *verdict]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
