"""kinfolk doctor: what this machine has, and what to do about what it lacks."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
from importlib import metadata
from typing import Any, NamedTuple

import typer
from rich.markup import escape

from kinfolk._core.errors import MissingExtraError
from kinfolk._core.memory import GIB, available_memory_gib, total_memory_gib
from kinfolk._core.threads import thread_count
from kinfolk._core.version import __version__
from kinfolk.cli import options

# what each extra is for; its packages are read from the installed kinfolk
USES = {
    "train": "fit(X, y), the networks of the paper, kf.cluster.AdaNets, StarFC and Clusformer",
    "report": "figures and HTML reports",
    "parquet": "reading and writing .parquet, reading .arrow and .feather",
    "hdf5": "reading and writing .h5 and .hdf5",
    "pyg": "NeighborGraph.to_pyg",
    "networkx": "NeighborGraph.to_networkx",
    "pandas": "FeatureSet.to_pandas",
    "tensorboard": "GraphEnhancer(tensorboard=True)",
    "infomap": "kf.cluster.Infomap (GPL)",
    "leiden": "kf.cluster.Leiden and NeighborGraph.to_igraph (GPL)",
    "bench": "the benchmarks",
    "docs": "building the documentation",
    "dev": "linting and tests",
}
NAME = re.compile(r"[A-Za-z0-9._-]+")
EXTRA = re.compile(r"""extra == ["']([^"']+)["']""")
COMFORTABLE_GIB = 4.0  # enough for about a million rows


class Requirement(NamedTuple):
    """A line of pyproject.toml: the package, the whole text for pip, and the extra it belongs to (None: always)."""

    package: str
    text: str
    extra: str | None


def doctor(as_json: options.Json = False) -> None:
    """Check versions, threads, memory and extras, with advice on what is missing.

    [bold]Example:[/bold]  kinfolk doctor
    """
    checks = [*_packages(), *_machine(), *_extras()]
    if as_json:
        options.say(json.dumps(dict(checks=checks)))
    else:
        marks = {"ok": "[green]ok     [/green]", "missing": "[red]missing[/red]", "note": "[yellow]note   [/yellow]"}
        for check in checks:
            advice = f"  [dim]-> {escape(check['advice'])}[/dim]" if check["advice"] else ""
            text = escape(f"{check['name']:<16} {check['value']}")
            options.console().print(f"{marks[check['state']]} {text}{advice}", soft_wrap=True)  # one line a check
    if any(check["state"] == "missing" for check in checks):
        raise typer.Exit(1)


def _check(name: str, value: str, state: str = "ok", advice: str = "") -> dict[str, Any]:
    return dict(name=name, value=value, state=state, advice=advice)


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def requirements() -> list[Requirement]:
    """Return what the installed kinfolk needs, always and for its extras; other extras of its own are left out.

    >>> "numpy" in [requirement.package for requirement in requirements() if requirement.extra is None]
    True
    """
    found = []
    for line in metadata.requires("kinfolk") or []:
        text, _, condition = line.partition(";")
        package, extra = NAME.match(text), EXTRA.search(condition)
        if package is not None and package[0] != "kinfolk":
            found.append(Requirement(package[0], text.strip(), extra[1] if extra else None))
    return found


def _packages() -> list[dict[str, Any]]:
    checks = [_check("kinfolk", __version__), _check("python", platform.python_version())]
    for package, text, extra in requirements():
        if extra is None:
            version = _installed(package)
            checks.append(
                _check(package, version)
                if version
                else _check(package, "not installed", "missing", f'pip install "{text}"')
            )
    return checks


def _machine() -> list[dict[str, Any]]:
    cores, threads = os.cpu_count() or 1, thread_count()
    free, total = available_memory_gib(), total_memory_gib()
    disk = shutil.disk_usage(".").free / GIB
    load = os.getloadavg()[0]
    memory = f"{total:.1f} GiB" if free is None else f"{free:.1f} GiB free of {total:.1f}"
    return [
        _check("threads", f"{threads} of {cores} cores")
        if threads == cores
        else _check("threads", f"{threads} of {cores} cores", "note", "OMP_NUM_THREADS limits them"),
        _check("load", f"{load:.1f}")
        if load < cores * 0.8
        else _check("load", f"{load:.1f}", "note", "other work is running: two busy thread pools slow each other down"),
        _check("memory", memory)
        if (total if free is None else free) >= COMFORTABLE_GIB
        else _check("memory", memory, "note", "close other programs before clustering a million rows"),
        _check("disk", f"{disk:.0f} GiB free here"),
        _check("gpu", _gpu()),
    ]


def _gpu() -> str:
    try:
        from kinfolk.nn.device import best_device
    except MissingExtraError:
        return "not looked for: torch is not installed"
    return "used by fit(X, y)" if best_device().type == "cuda" else "none, the processor is used"


def _extras() -> list[dict[str, Any]]:
    checks = []
    for extra in dict.fromkeys(r.extra for r in requirements() if r.extra is not None):
        versions = {r.package: _installed(r.package) for r in requirements() if r.extra == extra}
        value = ", ".join(f"{package} {version or 'is not installed'}" for package, version in versions.items())
        advice = f'for {USES.get(extra, extra)}: pip install "kinfolk[{extra}]"'
        checks.append(_check(f"[{extra}]", value, *(() if all(versions.values()) else ("note", advice))))
    return checks
