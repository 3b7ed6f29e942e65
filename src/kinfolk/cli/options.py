"""Options that several commands share, and their output."""

from __future__ import annotations

import functools
import inspect
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from kinfolk._core.checks import check_number, check_whole
from kinfolk._core.errors import InputError
from kinfolk._core.progress import clear, log_lines, stage
from kinfolk._core.text import printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kinfolk.features import FeatureSet

ALL = "all"  # as a part: every row; for a number: all there are
MOST_DIGITS = 18  # of a number: more do not fit into 64 bits, and Python converts no more than 4,300
Check = Callable[[typer.CallbackParam, Any], Any]


def whole(least: int = 1) -> Check:
    """Return the check of an option that takes a whole number from `least` on."""

    def check(param: typer.CallbackParam, value: Any) -> Any:
        if value is not None:
            check_whole(_option(param), value, least)
        return value

    return check


def number(least: float = -math.inf, most: float = math.inf) -> Check:
    """Return the check of an option that takes a finite number from `least` to `most`."""

    def check(param: typer.CallbackParam, value: Any) -> Any:
        if value is not None:
            check_number(_option(param), value, least, most)
        return value

    return check


def number_or_all(option: str, text: str) -> int | None:
    """Return the number of an option that takes a whole number from 1 on, or all: None.

    >>> number_or_all("--top", "100"), number_or_all("--top", "all")
    (100, None)
    """
    if text == ALL:
        return None
    if not text.isdecimal() or len(text) > MOST_DIGITS:
        raise InputError(f"{option} must be a whole number from 1 on, or all, not {text[:40]!r}")
    check_whole(option, int(text))
    return int(text)


def _option(param: typer.CallbackParam) -> str:
    return f"--{(param.name or '').replace('_', '-')}"


Input = Annotated[Path, typer.Argument(metavar="INPUT", help="Feature file or folder; see docs/formats.md.")]
Part = Annotated[str | None, typer.Option(help="Use only this part of the set, such as train or test; all: every row.")]
Labels = Annotated[Path | None, typer.Option(help="Label file (.npy, .txt, .meta), if not beside the features.")]
Dim = Annotated[int | None, typer.Option(help="Dimensions of a raw .bin file (default: 256).", callback=whole())]
Names = Annotated[
    Path | None, typer.Option(help="Names of the rows: a .txt with one a line, a .csv with a column, .npy.")
]
NameColumn = Annotated[str | None, typer.Option(help="Column of a table that holds the names.")]
LabelColumn = Annotated[str | None, typer.Option(help="Column of a table that holds the labels.")]
FeatureColumns = Annotated[
    str | None, typer.Option(help="Columns of a table that are features: titles, f* or f0:f127, commas between them.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace what exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.", callback=whole(0))]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say on standard error what is done, and how long.")]
FIGURES = (".svg", ".png", ".pdf")  # as in kinfolk.report.figures, which needs an extra
SafeCells = Annotated[
    bool,
    typer.Option(
        "--safe-cells",
        help="For spreadsheets: an apostrophe before cells of a .csv that begin with = + - @, a tab or a return.",
    ),
]

COLUMN_OPTIONS = {
    "names": Names,
    "name_column": NameColumn,
    "label_column": LabelColumn,
    "feature_columns": FeatureColumns,
}

_outputs: ContextVar[ExitStack] = ContextVar("outputs")  # of the command that runs
_targets: ContextVar[dict[Path, bool]] = ContextVar("targets")  # its outputs; True: a folder, replaced with all in it
_asked: ContextVar[dict[str, Any]] = ContextVar("asked")  # its column options
_taken: ContextVar[dict[Path, str]] = ContextVar("taken")  # what the columns of its inputs were taken for


def read(path: Path, part: str | None, labels: Path | None, dim: int | None) -> FeatureSet:
    """Load a feature set the way every command does, and say what the columns of a table were taken for.

    The part "all" is every row, unless a part has that name. The names of --names are those of the first set that a
    command reads; columns are chosen in every table.
    """
    from kinfolk.formats import format_of, load

    asked, taken = _asked.get({}), _taken.get({})
    if taken and path not in taken:
        asked = {name: value for name, value in asked.items() if name != "names" and format_of(path).wants_columns}
    with stage("reading"):
        features = load(path, labels=labels, dim=dim, part=None if part == ALL else part, **asked)
    if features.taken_from and path not in taken:
        say(f"{path}: {features.taken_from}", err=True)
    taken[path] = features.taken_from
    return features.part(ALL) if part == ALL and ALL in features.part_names else features


def given_names(rows: int) -> NDArray[np.str_] | None:
    """Return the names of --names for rows that come without features, None if it was not given."""
    from kinfolk.formats._names import read_names

    asked = _asked.get({})
    if asked.get("names") is None:
        return None
    names = read_names(asked["names"], asked["name_column"])
    if len(names) != rows:
        raise InputError(f"{asked['names']}: {len(names):,} names for {rows:,} rows")
    return names


def taken_columns() -> dict[str, str]:
    """Return the facts about the columns of the tables that were read: nothing, or one line for each table."""
    said = [said for said in _taken.get({}).values() if said]
    return dict(columns="; ".join(said)) if said else {}


def choosing_columns(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that reads features the options --names, --name-column, --label-column, --feature-columns.

    They are what `read` asks for, and are the same everywhere, so that no command has to pass them on.
    """
    signature = inspect.signature(command, eval_str=True)
    if "part" not in signature.parameters:
        return command

    @functools.wraps(command)
    def run(*arguments: Any, **named: Any) -> None:
        asked = _asked.set({name: named.pop(name, None) for name in COLUMN_OPTIONS})
        taken = _taken.set({})
        try:
            command(*arguments, **named)
        finally:
            _asked.reset(asked)
            _taken.reset(taken)

    own = list(signature.parameters.values())
    place = max(number for number, known in enumerate(own) if known.name in ("part", "labels", "dim")) + 1
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in COLUMN_OPTIONS.items()
    ]
    keyword_only = [known.replace(kind=inspect.Parameter.KEYWORD_ONLY) for known in own[place:]]
    run.__signature__ = signature.replace(parameters=[*own[:place], *added, *keyword_only])  # type: ignore[attr-defined]
    run.__annotations__ = command.__annotations__ | COLUMN_OPTIONS
    return run


def parts_of(features: FeatureSet) -> list[str]:
    """Return the names of the parts that the rows are of."""
    if features.part_index is None:
        return []
    present = set(features.part_index.tolist())
    return [name for number, name in enumerate(features.part_names) if number in present]


def check_one_part(features: FeatureSet, source: Path, part: str | None) -> None:
    """Refuse rows of several parts if no part was named: training rows in a gallery change its scores silently."""
    parts = parts_of(features)
    if part is None and len(parts) > 1:
        raise InputError(
            f"{source} has the parts {', '.join(parts)}: name one with --part, or all of them with --part all"
        )


def sides(
    features: FeatureSet, gallery: FeatureSet | None, source: Path, part: str | None, how: str
) -> tuple[FeatureSet, FeatureSet]:
    """Return queries and gallery: of two files, or of one that marks its queries; how: a second file is named."""
    from kinfolk.metrics.feature_scores import marks_queries

    check_one_part(features, source, part)
    if gallery is not None:
        return features, gallery
    if features.query is None or not marks_queries(features):
        raise InputError(f"{source} does not mark which rows are queries: name a second file {how}")
    return features.take(features.query), features.take(~features.query)


def rows_used(features: FeatureSet, source: Path) -> str:
    """Return the file and the parts that rows are of, for the output.

    >>> from kinfolk.features import FeatureSet
    >>> rows_used(FeatureSet([[1.0], [1.0]], part_index=[0, 1], part_names=("train", "test")), Path("x.npz"))
    'x.npz, parts train + test'
    """
    parts = parts_of(features)
    return f"{source}, part{'s' * (len(parts) > 1)} {' + '.join(parts)}" if parts else str(source)


class Share(float):
    """A share from 0 to 1: people see it x 100 with two decimals, --json has it as it is."""


class Score(float):
    """A score from 0 to 1: people see it x 100 with two decimals, and --json has it x 100 too, as it always had."""

    def __new__(cls, value: float) -> Score:
        """Keep it x 100.

        >>> Score(0.80196)
        80.2
        """
        return super().__new__(cls, round(100 * value, 2))


def exists(*inputs: Path | None) -> None:
    """Refuse inputs that are not there, before anything takes time."""
    for path in inputs:
        if path is not None and not os.path.lexists(path):
            raise InputError(f"{path} does not exist")


def fewer_than_rows(k: int | None, rows: int, itself: bool = True) -> None:
    """Refuse more neighbours than there are other rows; without `itself`, than there are rows."""
    most = rows - itself
    if k is not None and k > most:
        raise InputError(f"--k {k} is too large: each row has {most:,} {'others' if itself else 'to choose from'}")


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command: its name is shown while it runs, its outputs are locked until it ends, -v logs.

    typer has no public place for what every command does.
    """

    @functools.wraps(function)
    def run(*arguments: Any, verbose: bool = False, **named: Any) -> None:
        with log_lines(verbose), stage(f"kinfolk {function.__name__}"), ExitStack() as stack:
            _outputs.set(stack)
            _targets.set({})
            function(*arguments, **named)

    parameters = inspect.signature(function, eval_str=True).parameters
    added = inspect.Parameter("verbose", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Verbose)
    run.__signature__ = inspect.Signature([*parameters.values(), added])  # type: ignore[attr-defined]
    run.__annotations__ = {name: each.annotation for name, each in parameters.items()} | {"verbose": Verbose}
    return run


def output(
    path: Path | None, force: bool, kind: str | None = None, inputs: Iterable[str | os.PathLike[str] | None] = ()
) -> None:
    """Check an output before the work, and keep it locked until the command ends; see `kinfolk._core.outputs.claim`."""
    from kinfolk._core.outputs import claim

    if path is not None:
        _refuse_two_in_one(path, replaced=kind is not None)
        _outputs.get().enter_context(claim(path, force=force, kind=kind, inputs=_all_read(inputs)))


def output_features(path: Path, force: bool, inputs: Iterable[str | os.PathLike[str] | None] = ()) -> None:
    """Check an output of features as `output` does, and that the files beside it replace nothing that is read."""
    from kinfolk._core.targets import refuse_inputs
    from kinfolk.formats import written_beside

    kind, known = feature_kind(path), list(inputs)
    for file in written_beside(path):
        refuse_inputs(file, _all_read(known))
    output(path, force, kind, inputs=known)


def _all_read(inputs: Iterable[str | os.PathLike[str] | None]) -> list[str | os.PathLike[str] | None]:
    """Return the inputs, the files that are read beside them, and those of the column options."""
    from kinfolk.formats import read_beside

    given = [*inputs, _asked.get({}).get("names")]
    return [*given, *(file for each in given if each is not None for file in read_beside(each))]


def output_folder(path: Path | None, kind: str) -> None:
    """Check a folder to which files are added before the work, and keep it locked; see `kinfolk._core.files.adding`."""
    from kinfolk._core.files import adding

    if path is not None:
        _refuse_two_in_one(path, replaced=False)
        _outputs.get().enter_context(adding(path, kind))


def _refuse_two_in_one(path: Path, replaced: bool) -> None:
    """Raise InputError where two outputs of a command have one name, or one lies in a folder that is another."""
    from kinfolk._core.targets import absolute

    target, others = absolute(path), _targets.get()
    for other, is_folder in others.items():
        if other == target or (is_folder and other in target.parents) or (replaced and target in other.parents):
            raise InputError(f"{path} and {other} are two outputs in one place: choose other names")
    others[target] = replaced


def feature_kind(path: Path) -> str | None:
    """Return the kind of folder that features under this name are, None for a file; unknown suffixes are refused.

    >>> feature_kind(Path("photos.npz")), feature_kind(Path("photos.kf"))
    (None, 'features')
    """
    from kinfolk.formats import format_to_write

    return format_to_write(path).folder_kind


def figure(path: Path | None, force: bool, inputs: Iterable[str | os.PathLike[str] | None] = ()) -> None:
    """Check the file of a figure before the work, as `output` does; unknown suffixes are refused."""
    if path is not None and path.suffix.lower() not in FIGURES:
        raise InputError(f"{path}: a figure is written as {', '.join(FIGURES[:-1])} or {FIGURES[-1]}")
    output(path, force, inputs=inputs)


class _Screen(Console):
    """Standard output, before which the display of stages goes."""

    def print(self, *objects: Any, **options: Any) -> None:
        clear()
        super().print(*objects, **options)


def console(width: int = 100) -> Console:
    """Return standard output for a person: as wide as the terminal, or `width` characters in a file."""
    return _Screen(width=None if os.isatty(1) else width, highlight=False)


def print_facts(facts: Mapping[str, Any], as_json: bool) -> None:
    """Print facts as aligned lines, or as one JSON object."""
    if as_json:
        say(json.dumps({**facts, **taken_columns()}, default=str))
        return
    lines = dict(spelled(name, value) for name, value in facts.items())
    width = max(map(len, lines))
    for name, text in lines.items():
        say(f"{name:<{width}}  {text}")


def spelled(name: str, value: Any) -> tuple[str, str]:
    """Return the name and the value of a fact as people read them.

    >>> spelled("edge_noise_rate", Share(0.125)), spelled("k", 20)
    (('edge noise rate x 100', '12.50'), ('k', '20'))
    """
    words = name.replace("_", " ")
    if isinstance(value, Share | Score):
        return f"{words} x 100", f"{value if isinstance(value, Score) else 100 * value:.2f}"
    return words, printable(value)


def say(text: object, err: bool = False) -> None:
    """Print a line on which nothing acts on the terminal."""
    clear()
    print(printable(text), file=sys.stderr if err else sys.stdout, flush=True)


def say_notes(caught: Sequence[warnings.WarningMessage]) -> None:
    """Print the warnings of a command, one line each."""
    for warning in caught:
        say(f"note: {warning.message}", err=True)


def plain(text: object) -> str:
    r"""Return a user's text for rich, where brackets would be markup and codes would act on the terminal.

    >>> plain("[red]\x1b[0m")
    '\\[red]\\x1b[0m'
    """
    return escape(printable(text))


@contextmanager
def timed() -> Iterator[dict[str, float]]:
    """Measure the seconds of a block."""
    start = time.perf_counter()
    facts: dict[str, float] = {}
    yield facts
    facts["seconds"] = round(time.perf_counter() - start, 2)
