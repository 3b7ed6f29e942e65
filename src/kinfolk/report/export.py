"""The figures and tables of a run as files: .svg, .png and .pdf, .md and .tex."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from kinfolk._core.files import adding, record, replacing, unchanged
from kinfolk._core.targets import refuse_existing
from kinfolk.experiments.markdown import markdown, without_html
from kinfolk.experiments.results import ExperimentResult, Table
from kinfolk.report.charts import draw_chart
from kinfolk.report.checks import refuse_misfits
from kinfolk.report.figures import FIGURE_SUFFIXES, save_figure
from kinfolk.report.run import is_best

LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    "→": r"$\rightarrow$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "α": r"$\alpha$",
    "γ": r"$\gamma$",
    "θ": r"$\theta$",
}

Write = Callable[[Path], object]
LONGEST_STEM = 100  # characters: with suffix and the name of a temporary file within the 143 that some systems take
KIND = "figures"  # in the manifest of the folder


def export_run(results: Iterable[ExperimentResult], folder: str | os.PathLike[str], force: bool = False) -> list[Path]:
    """Write every chart and table of a run into a folder and return the files; other files there are left alone.

    What an earlier call has written there and nobody has changed since is replaced: the manifest of the folder tells.

    >>> import tempfile
    >>> table = Table(data="digits", head=("", "mAP"), rows=(("raw", "**66.0**"),))
    >>> result = ExperimentResult(name="table2", title="", about="", tables=(table,))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [file.name for file in export_run([result], folder)]
    ['table2-digits.md', 'table2-digits.tex']
    """
    writes: dict[Path, Write] = {}
    for result in results:
        refuse_misfits(result)
        for stem, suffixes, write in _parts(result):
            free = _free_stem(Path(folder) / stem, suffixes, writes)
            writes |= {free.with_name(free.name + suffix): write for suffix in suffixes}
    with adding(folder, KIND) as place:
        ours = unchanged(place, KIND)
        for file in writes:
            refuse_existing(file, force or file.name in ours)
        for file, write in writes.items():
            write(file)
        record(place, KIND, [file.name for file in writes])
    return list(writes)


def latex_table(table: Table, title: str) -> str:
    r"""Return a table for LaTeX with booktabs: the best in bold, a rule where a group begins.

    >>> print(latex_table(Table(data="a_b", head=("", "F_P"), rows=(("50%", "**1**"), ("x", "2")), rules=(1,)), "T"))
    % T; data: a_b
    % needs \usepackage{booktabs}
    \begin{tabular}{lr}
    \toprule
     & F\_P \\
    \midrule
    50\% & \textbf{1} \\
    \midrule
    x & 2 \\
    \bottomrule
    \end{tabular}
    """
    facts = "; ".join(filter(None, [title, f"data: {table.data}", table.made]))
    lines = [f"% {' '.join(facts.split())}", r"% needs \usepackage{booktabs}"]
    lines += [rf"\begin{{tabular}}{{l{'r' * (len(table.head) - 1)}}}", r"\toprule", _latex_row(table.head), r"\midrule"]
    for number, row in enumerate(table.rows):
        if number in table.rules and number > 0:
            lines.append(r"\midrule")
        lines.append(_latex_row(row))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def latex(text: str) -> str:
    r"""Return a text that LaTeX prints as it is written here.

    >>> latex("a_b & 50% ± 1 \\ {x}")
    'a\\_b \\& 50\\% $\\pm$ 1 \\textbackslash{} \\{x\\}'
    """
    return "".join(LATEX.get(sign, sign) for sign in text)


def markdown_table(table: Table, title: str) -> str:
    """Return a table for a Markdown page, with its title and its origin."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (table.head, *table.rows)]
    name, made, heading = map(without_html, (table.data, table.made, title))
    parts = [f"## {heading}" if heading else "", f"**{name}**", markdown(cells[0], cells[1:]), made]
    return "\n\n".join(filter(None, parts)) + "\n"


def _parts(result: ExperimentResult) -> Iterable[tuple[str, tuple[str, ...], Write]]:
    """Yield the name of each part, the suffixes of its files, and what writes one of them."""
    for table in result.tables:
        yield _slug(f"{result.name}-{table.data}"), (".md", ".tex"), partial(_write_table, table, result.title)
    for chart in result.charts:
        yield _slug(chart.name), FIGURE_SUFFIXES, partial(save_figure, draw_chart(chart), force=True)


def _write_table(table: Table, title: str, file: Path) -> None:
    text = latex_table(table, title) if file.suffix == ".tex" else markdown_table(table, title)
    with replacing(file, force=True) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _latex_row(cells: Iterable[str]) -> str:
    shown = (rf"\textbf{{{latex(cell.strip('*'))}}}" if is_best(cell) else latex(cell) for cell in cells)
    return " & ".join(shown) + r" \\"


def _slug(name: str) -> str:
    """Return a name that is safe in every folder; of a long one the beginning, and a hash of the whole.

    >>> _slug("table3-celeb_like (generated)"), _slug("../../etc"), _slug("…")
    ('table3-celeb_like-generated', 'etc', 'unnamed')
    >>> len(_slug("a" * 300)), _slug("a" * 300) == _slug("a" * 301)
    (100, False)
    """
    slug = re.sub(r"\W+", "-", name, flags=re.ASCII).strip("-") or "unnamed"
    if len(slug) <= LONGEST_STEM:
        return slug
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{slug[: LONGEST_STEM - len(digest) - 1]}-{digest}"


def _free_stem(stem: Path, suffixes: tuple[str, ...], taken: Iterable[Path]) -> Path:
    """Return the stem, or with a number where two parts of the run have the same name."""
    names, free, number = {path.name.lower() for path in taken}, stem, 1
    while any(f"{free.name}{suffix}".lower() in names for suffix in suffixes):
        number += 1
        free = stem.with_name(f"{stem.name}-{number}")
    return free
