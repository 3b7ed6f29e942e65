"""docs/benchmarks.md, made from the results that lie in benchmarks/results."""

import json
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

from kinfolk.files import replacing
from kinfolk.threads import thread_count

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
