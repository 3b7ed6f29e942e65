"""kinfolk doctor: what this machine has, and what to do about what it lacks."""

from __future__ import annotations

import json
import os
import platform
import shutil
from importlib import metadata
from typing import Any

import psutil
import typer
from rich.markup import escape

from kinfolk._core.threads import thread_count
from kinfolk._core.version import __version__
from kinfolk.cli import options

NEEDED = (
    *("faiss-cpu", "jinja2", "matplotlib", "numba", "numpy", "psutil", "rich", "safetensors", "scikit-learn", "scipy"),
    *("threadpoolctl", "torch", "typer"),
)
EXTRAS = {
    "parquet": ("pyarrow", "reading and writing .parquet"),
    "pyg": ("torch-geometric", "NeighborGraph.to_pyg"),
    "networkx": ("networkx", "NeighborGraph.to_networkx"),
    "igraph": ("igraph", "NeighborGraph.to_igraph (GPL)"),
    "infomap": ("infomap", "kf.cluster.Infomap (GPL)"),
    "leiden": ("leidenalg", "kf.cluster.Leiden (GPL)"),
    "tensorboard": ("tensorboard", "GraphEnhancer(tensorboard=True)"),
    "bench": ("pynndescent", "the neighbour benchmark"),
    "docs": ("mkdocs-material", "building the documentation"),
}
COMFORTABLE_GIB = 4.0


def doctor(as_json: options.Json = False) -> None:
    """Check versions, threads, memory and extras, and say what to do about what is missing.

    [bold]Example:[/bold]  kinfolk doctor
    """
    checks = [*_packages(), *_machine(), *_extras()]
    if as_json:
        typer.echo(json.dumps(dict(checks=checks)))
    else:
        marks = {"ok": "[green]ok     [/green]", "missing": "[red]missing[/red]", "note": "[yellow]note   [/yellow]"}
        for check in checks:
            advice = f"  [dim]-> {escape(check['advice'])}[/dim]" if check["advice"] else ""
            # a long line is cut by nobody: one check stays one line
            text = escape(f"{check['name']:<16} {check['value']}")
            options.console().print(f"{marks[check['state']]} {text}{advice}", soft_wrap=True)
    if any(check["state"] == "missing" for check in checks):
        raise typer.Exit(1)


def _check(name: str, value: str, state: str = "ok", advice: str = "") -> dict[str, Any]:
    return dict(name=name, value=value, state=state, advice=advice)


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _packages() -> list[dict[str, Any]]:
    checks = [_check("kinfolk", __version__), _check("python", platform.python_version())]
    for package in NEEDED:
        version = _installed(package)
        checks.append(
            _check(package, version)
            if version
            else _check(package, "not installed", "missing", "pip install -c constraints.txt -e .")
        )
    return checks


def _machine() -> list[dict[str, Any]]:
    cores, threads = os.cpu_count() or 1, thread_count()
    free = psutil.virtual_memory().available / (1 << 30)
    total = psutil.virtual_memory().total / (1 << 30)
    disk = shutil.disk_usage(".").free / (1 << 30)
    load = psutil.getloadavg()[0]
    return [
        _check("threads", f"{threads} of {cores} cores")
        if threads == cores
        else _check("threads", f"{threads} of {cores} cores", "note", "OMP_NUM_THREADS limits them"),
        _check("load", f"{load:.1f}")
        if load < cores * 0.8
        else _check("load", f"{load:.1f}", "note", "other work is running: two busy thread pools slow each other down"),
        _check("memory", f"{free:.1f} GiB free of {total:.1f}")
        if free >= COMFORTABLE_GIB
        else _check(
            "memory", f"{free:.1f} GiB free of {total:.1f}", "note", "enough for about a million rows; free some"
        ),
        _check("disk", f"{disk:.0f} GiB free here"),
        _gpu(),
    ]


def _gpu() -> dict[str, Any]:
    try:
        import torch

        name = torch.cuda.get_device_name(0) if torch.cuda.is_available() else ""
    except (ImportError, OSError) as error:
        return _check("gpu", f"torch does not load: {error}", "missing", "pip install torch==2.13.0")
    return _check("gpu", name or "none, the CPU is used")


def _extras() -> list[dict[str, Any]]:
    checks = []
    for extra, (package, use) in EXTRAS.items():
        version = _installed(package)
        checks.append(
            _check(f"[{extra}]", f"{package} {version}")
            if version
            else _check(
                f"[{extra}]", f"{package} is not installed", "note", f"for {use}: pip install 'kinfolk[{extra}]'"
            )
        )
    return checks
