"""Absurd calls: every command and option with values that nobody should give.

A call may do its work (exit code 0), fail (1) or be refused (2) in one sentence; it may not end in a traceback, change
an input, send codes of a name to the terminal, or leave a file behind when it is refused. Each call runs in a process
of its own, forked from one that has everything imported, with limits of time and memory; what still works when the time
is up was asked for a lot, and is stopped.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import typer

import kinfolk as kf
from kinfolk.cli import app, main
from kinfolk.experiments.results import ExperimentResult, Table

SECONDS = 10  # of a call
MEMORY = 3 << 30  # bytes that a call may hold
NUMBERS = ["0", "-1", "1", "2", "nan", "inf", "-inf", "1e9", str(10**9), str(10**30), "1e400", "0.5", "", "abc", "0x10"]
TEXTS = [
    "",
    " ",
    "[red]x[/",
    "\x1b[31m",
    "田中",
    "\udcff",
    "a" * 300,
    "../..",
    "-",
    "--",
    "=cmd",
    "none",
    "auto",
    "all",
]
PATHS = ["absent.npz", "adir", ".", "..", "/", "/proc/x.npz", "x.npz", "clusters.csv", "graph.npz", "model", "bad.npz"]
PATHS += ["one.npz", "labels.txt", "[red]x[/.npz", "\udcff.npz", "a" * 300 + ".npz", "", "/dev/null", "new/er.npz"]
OUTPUTS = [
    "out.csv",
    "out.npz",
    "out.kf",
    "out",
    "out.zzz",
    "out.npy",
    "x.npz",
    "adir",
    ".",
    "[b]o[/.csv",
    "\udcff.csv",
]
SETTINGS = ["k=", "=3", "k=nan", "guard=inf", "eps=-1", "level=9", "n_clusters=0", "threshold=1e400", "enhancer=x"]
CHOICES = {
    "method": ["kin", "gcut", "hac", "finch", "kmeans", "dbscan", "hdbscan", "leiden", "ada-nets", "kr", "band", "ivf"],
    "name": ["table1", "figure4", "theorem", "celeb_like", "digits", "all of it"],
    "attention": ["none", "band", "magic"],
    "base": ["gcn", "transformer", "x"],
    "recipe": ["fast", "paper", "x"],
    "preset": ["paper", "x"],
    "part": ["train", "test", "all"],
    "threshold": ["auto", "theory", *NUMBERS],
    "top": ["all", *NUMBERS],
}
# what a command is called with when nothing is absurd; demo and reproduce alone take minutes
USUAL = {
    "generate": ["celeb_like", "out.npz", "--identities", "4"],
    "knn": ["x.npz", "-o", "out.npz", "-k", "5"],
    "similarity": ["x.npz", "-k", "5", "-o", "out.npz"],
    "train": ["x.npz", "-o", "out"],
    "enhance": ["x.npz", "-o", "out.npz"],
    "cluster": ["x.npz", "-o", "out.csv"],
    "rerank": ["x.npz", "--part", "test", "-o", "out.npz"],
    "evaluate": ["x.npz", "--part", "all"],
    "reproduce": ["table5", "--quick", "-o", "out"],
    "theory": [],
    "report": ["run", "-o", "out.html"],
    "convert": ["x.npz", "out.csv"],
    "doctor": [],
}


def run(count: int, seed: int) -> dict[str, int]:
    """Make `count` calls and count how they ended."""
    rng = random.Random(seed)
    warm()
    counts = Counter(ran=0, done=0, failed=0, refused=0, stopped=0, wrong=0, lost=0, left_over=0)
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs"
        make_inputs(inputs)
        for number, arguments in enumerate(itertools.islice(absurd_calls(rng), count)):
            for outcome, said in ask(inputs, Path(folder) / "work", arguments).items():
                counts[outcome] += 1
                if outcome in ("wrong", "lost", "left_over", "stopped", "failed"):
                    print(f"{number} {outcome}: kinfolk {arguments!r}\n{said}", file=sys.stderr)
            counts["ran"] += 1
    return dict(counts)


def absurd_calls(rng: random.Random) -> Iterator[list[str]]:
    """Yield calls for ever, each with a value of an option that was not there before, some with more absurd values."""
    commands = {command.name: command.callback for command in app.registered_commands}
    params = {name: list(inspect.signature(commands[name], eval_str=True).parameters.values()) for name in USUAL}
    while True:
        every = [(name, param, value) for name in USUAL for param in params[name] for value in values_of(param)]
        for name, param, value in rng.sample(every, len(every)):
            arguments = with_value(list(USUAL[name]), param, value)
            for other in rng.sample(params[name], min(len(params[name]), rng.choice([0, 0, 1, 2]))):
                arguments = with_value(arguments, other, rng.choice(values_of(other)))
            yield [name, *arguments]


def with_value(arguments: list[str], param: inspect.Parameter, value: str) -> list[str]:
    """Return the arguments with another one."""
    kind, about = get_args(param.annotation)[:2]
    if isinstance(about, typer.models.ArgumentInfo):
        return [value, *arguments[1:]]
    option = f"--{param.name.replace('_', '-')}"
    option = next((text for text in about.param_decls or () if text.startswith("--")), option)
    return [*arguments, option] + ([] if kind is bool else [value] * (2 if "tuple" in str(kind) else 1))


def values_of(param: inspect.Parameter) -> list[str]:
    """Return absurd values for an option, and a few sensible ones where others depend on it."""
    name, kind = param.name, str(get_args(param.annotation)[0])
    if kind == str(bool):
        return [""]
    if name in ("out", "target", "save_model", "plot", "curves", "figures", "checkpoint_dir"):
        return OUTPUTS + PATHS
    if "Path" in kind or name == "data":
        return PATHS
    if "int" in kind or "float" in kind:
        return NUMBERS
    if name == "settings":
        return SETTINGS + TEXTS
    return CHOICES.get(name, []) + TEXTS


def ask(inputs: Path, work: Path, arguments: list[str]) -> dict[str, str]:
    """Make one call in a copy of the inputs; return its outcome and what was wrong with it, with what it said."""
    shutil.rmtree(work, ignore_errors=True)
    place = work / "here" / "here"  # ".." is ours too
    shutil.copytree(inputs, place)
    before = contents(work)
    said = work.parent / "said.txt"
    code = forked(place, arguments, said)
    text = said.read_text(errors="replace")
    outcomes = {0: "done", 1: "failed", 2: "refused", None: "stopped"}
    found = {outcomes.get(code, "wrong"): text}
    if "Traceback" in text or "\x1b" in text or (code in (1, 2) and not is_sentence(text)):
        found["wrong"] = f"exit code {code}\n{text}"
    after = contents(work)
    replaced = {name for name, mark in before.items() if after.get(name) != mark}
    if replaced - ({f"here/here/{name}" for name in to_replace(arguments)} if code == 0 else set()):
        found["lost"] = text
    if code in (1, 2) and arguments[0] != "reproduce" and after.keys() - before.keys():
        found["left_over"] = f"{sorted(after.keys() - before.keys())}\n{text}"
    return found


def to_replace(arguments: list[str]) -> set[str]:
    """Return the files that a call may replace: its outputs with --force, unless it also reads them.

    >>> [to_replace(["rerank", "x.npz", "-o", out, "--force"]) for out in ("bad.npz", "x.npz")]
    [{'bad.npz'}, set()]
    """
    if "--force" not in arguments:
        return set()
    outputs = {
        text for option, text in itertools.pairwise(arguments) if option in ("-o", "--out", "--plot", "--curves")
    }
    outputs |= set(arguments[2:3]) if arguments[0] in ("convert", "generate") else set()
    return {text for text in outputs if arguments.count(text) == 1}


def is_sentence(text: str) -> bool:
    """Return whether what was said is one sentence of kinfolk, typer's box around one, or doctor's list."""
    lines = [line for line in text.splitlines() if line.startswith("kinfolk: ")]
    return len(lines) == 1 or "Usage: " in text or "missing" in text


def forked(place: Path, arguments: list[str], said: Path) -> int | None:
    """Run a call in a forked process; return its exit code, below zero for a signal, None if it was stopped."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.chdir(place)
        stream = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(stream, 1)
        os.dup2(stream, 2)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        sys.argv = ["kinfolk", *arguments]
        code = 70  # neither of ours: a traceback
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def contents(folder: Path) -> dict[str, str]:
    """Return every file under a folder with its hash; folders without one."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in folder.rglob("*")
    }


def make_inputs(folder: Path) -> None:
    """Write one of each kind of input."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 6)
    X = np.eye(12)[labels] + 0.2 * rng.standard_normal((len(labels), 12))
    names = [f"=cmd {row}" if row % 2 else f"[red]{row}\x1b[31m" for row in range(len(labels))]
    columns = dict(
        labels=labels, cameras=np.arange(len(labels)) % 3, names=names, query=np.arange(len(labels)) % 6 == 0
    )
    fs = kf.FeatureSet(X, part_index=labels % 2, part_names=("train", "test"), **columns)
    folder.mkdir()
    fs.save(folder / "x.npz")
    fs.save(folder / "[red]x[.npz")
    kf.FeatureSet(X[:1]).save(folder / "one.npz")
    kf.knn_graph(fs, 5, out=folder / "graph.npz")
    kf.GraphEnhancer(k=5).fit(fs).save(folder / "model")
    table = Table(data="[red]<b>x", head=("", "mAP"), rows=(("raw", "**66.0**"),))
    ExperimentResult(name="table2", title="T", about="", tables=(table,)).save(folder / "run")
    (folder / "labels.txt").write_text("\n".join(map(str, labels)))
    (folder / "clusters.csv").write_text("row,cluster\n" + "".join(f"{row},{c}\n" for row, c in enumerate(labels)))
    (folder / "bad.npz").write_bytes(rng.bytes(500))
    (folder / "adir").mkdir()
    (folder / "adir" / "mine.txt").write_text("of the user")


def warm() -> None:
    """Import and compile what the calls need, before they are forked."""
    import kinfolk.experiments.catalogue
    import kinfolk.report.export
    import kinfolk.report.run  # noqa: F401

    for name in kf.cluster.__all__:
        getattr(kf.cluster, name)
    for name in kf.__all__:
        getattr(kf, name)
