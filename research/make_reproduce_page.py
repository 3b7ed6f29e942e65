"""Measure the tables and figures of the paper, on generated and on real sets, and write them into docs/reproduce.md.

    python -m research.make_reproduce_page                          # all of them: hours
    python -m research.make_reproduce_page table1 figure3 --sets generated
    python -m research.make_reproduce_page table2 --sets market1501 --seeds 1
    python -m research.make_reproduce_page --no-run                 # write the page from the cells that are finished

Finished cells are kept in research/results; the same command goes on where it was stopped. After a change of the
program remove the lines it concerns, or the file. Tables 3, 4, 10 and 11 are measured by make_task_tables.py;
their claims are on this page.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import kinfolk as kf
from kinfolk.experiments.catalogue import EXPERIMENT_NAMES, SINGLES, STUDIES
from kinfolk.experiments.generated_sets import generated_set
from kinfolk.experiments.markdown import markdown
from kinfolk.experiments.results import Claim, ExperimentResult, read_result
from kinfolk.experiments.resume import CellStore, Data, finished_cells
from kinfolk.experiments.task_cells import ScoredCell
from kinfolk.report.charts import draw_chart
from kinfolk.report.figures import to_svg
from research._page import DOCS, RESULTS, put, write

PERSONS_AND_LETTERS = ("market1501", "omniglot")
REAL = ("clinc150", "banking77", *PERSONS_AND_LETTERS)
SETS = {
    "table1": REAL,
    "figure3": PERSONS_AND_LETTERS,
    "table2": REAL,
    "figure4": REAL,
    "table3": ("clinc150", "banking77"),
    "table10": PERSONS_AND_LETTERS,
}
ELSEWHERE = {
    **dict.fromkeys(("table3", "table10"), ("clustering.jsonl", "clustering-tables.md")),
    **dict.fromkeys(("table4", "table11"), ("reid.jsonl", "reid.md")),
}


def section(name: str, result: ExperimentResult) -> str:
    """Return the section of the page about a table or a figure."""
    if name in ELSEWHERE:
        return f"The tables are on [their own page]({ELSEWHERE[name][1]})."
    parts = []
    for chart in result.charts:
        image = f"images/reproduce-{chart.name}.svg"
        write(DOCS / image, to_svg(draw_chart(chart)))
        parts += [f"![{chart.title}]({image})", f"*{chart.title}.* {chart.text}"]
    for table in result.tables:
        parts += [f"**{table.data}**", table.markdown, table.made]
    return "\n\n".join(parts) or "*Not measured yet.*"


SIGNS = {"holds": "✓", "does not hold": "✗", "undecided": "?"}


def claims_table(claims: Sequence[Claim]) -> str:
    """Return all claims with a sign for each set, and folded below it their figures."""
    counts = {verdict: sum(c.verdict == verdict for c in claims) for verdict in SIGNS}
    counted = ", ".join(f"{count} {verdict} ({SIGNS[verdict]})" for verdict, count in counts.items())
    sets = list(dict.fromkeys(c.data for c in claims))
    signs: dict[tuple[str, str], dict[str, str]] = {}
    for c in claims:
        signs.setdefault((c.where, c.claim), {})[c.data] = SIGNS[c.verdict]
    glance = [(claim, *(found.get(name, "") for name in sets), where) for (where, claim), found in signs.items()]
    heads = [name.removesuffix(" (generated)") for name in sets]
    rows = [(c.claim, c.data, f"**{c.verdict}**", c.figures, c.where) for c in claims]
    seen = markdown(("claim", *heads, "in the paper"), glance)
    listed = markdown(("claim", "data", "verdict", "measured", "in the paper"), rows)
    return (
        f"{len(claims)} claims, each on one set: {counted}.\n\n{seen}\n\n"
        f'<details markdown="1"><summary>All {len(claims)} with their figures</summary>\n\n{listed}\n\n</details>'
    )


def single(name: str, options: argparse.Namespace, load: Callable[[str], Data]) -> ExperimentResult:
    """Measure what is measured in one go, or read it; what shows single rows of real sets is left to the report."""
    measure, generated = SINGLES[name]
    file = RESULTS / f"{name}.json"
    if not options.no_run and name in (options.names or EXPERIMENT_NAMES):
        sets = {each: generated_set(each, 0, "usual") for each in generated} | {"market1501": load("market1501")}
        result = measure(sets, 0, False, partial(print, flush=True))
        charts = tuple(c for c in result.charts if not c.name.startswith("look-map") or "generated" in c.title)
        result.model_copy(update=dict(cases=(), charts=charts)).save(file.parent)
    return read_result(file) if file.exists() else ExperimentResult(name=name, title=name, about="")


def study(name: str, options: argparse.Namespace, load: Callable[[str], Data]) -> ExperimentResult:
    """Measure the cells that are requested, and return what is finished."""
    one = STUDIES[name]
    file = ELSEWHERE[name][0] if name in ELSEWHERE else "cells.jsonl"
    store = CellStore(RESULTS / file, ScoredCell)
    given = {real: load(real) for real in SETS.get(name, PERSONS_AND_LETTERS if name != "table5" else ())}
    if not options.no_run and name not in ELSEWHERE and name in (options.names or EXPERIMENT_NAMES):
        wanted = {real: data for real, data in given.items() if not options.sets or real in options.sets}
        generated = not options.sets or "generated" in options.sets
        if wanted or generated:
            one.run(store, range(options.seeds), wanted, echo=partial(print, flush=True), also_generated=generated)
    cells, made = one.plan(range(options.seeds), given, methods=["all"], also_generated=True)
    return one.result(name, finished_cells(cells, made, store))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(EXPERIMENT_NAMES)}; without any, all")
    parser.add_argument("--sets", nargs="*", help="'generated' and names of real sets; without any, all of the table")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the real sets")
    parser.add_argument("--no-run", action="store_true", help="measure nothing, write what there is")
    options = parser.parse_args()
    if wrong := set(options.names) - set(EXPERIMENT_NAMES):
        parser.error(f"there is no {', '.join(wrong)}: choose from {', '.join(EXPERIMENT_NAMES)}")
    load = cache(lambda name: Data.of(kf.load(options.data / f"{name}.npz")))
    page, claims = (DOCS / "reproduce.md").read_text(encoding="utf-8"), []
    for name in EXPERIMENT_NAMES:
        result = (single if name in SINGLES else study)(name, options, load)
        claims += result.claims
        page = put(page, name, section(name, result))
    page = put(page, "claims", claims_table(claims))
    write(DOCS / "reproduce.md", page)


if __name__ == "__main__":
    main()
