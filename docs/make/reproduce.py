"""Measure the tables and figures of the paper, on generated and on real sets, and write them into docs/reproduce.md.

    python docs/make/reproduce.py                          # all of them: hours
    python docs/make/reproduce.py table1 figure3 --sets generated
    python docs/make/reproduce.py table2 --sets market1501 --seeds 1
    python docs/make/reproduce.py --no-run                 # write the page from the cells that are finished

Finished cells are kept in docs/make/results; the same command goes on where it was stopped. After a change of the
program remove the lines it concerns, or the file. Tables 3, 4, 10 and 11 are measured by task_tables.py; their claims
stand here.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import kinfolk as kf
from kinfolk._core.files import replacing
from kinfolk.experiments.catalogue import NAMES, SINGLES, STUDIES
from kinfolk.experiments.generated_sets import stand_in
from kinfolk.experiments.markdown import markdown, put
from kinfolk.experiments.results import Claim, Outcome, read_outcome
from kinfolk.experiments.resume import Data, Results, finished_cells
from kinfolk.experiments.task_cells import Scored
from kinfolk.report.charts import draw_chart
from kinfolk.report.figures import to_svg

DOCS = Path(__file__).parent.parent
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


def section(name: str, outcome: Outcome) -> str:
    """Return what the page says of a table or a figure."""
    if name in ELSEWHERE:
        return f"The tables are on [their own page]({ELSEWHERE[name][1]})."
    parts = []
    for chart in outcome.charts:
        image = f"images/reproduce-{chart.name}.svg"
        with replacing(DOCS / image, force=True) as temporary:
            temporary.write_text(to_svg(draw_chart(chart)), encoding="utf-8")
        parts += [f"![{chart.title}]({image})", f"*{chart.title}.* {chart.text}"]
    for table in outcome.tables:
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


def single(name: str, asked: argparse.Namespace, load: Callable[[str], Data]) -> Outcome:
    """Measure what is measured in one go, or read it; what shows single rows of real sets is left to the report."""
    measure, generated = SINGLES[name]
    file = DOCS / "make" / "results" / f"{name}.json"
    if not asked.no_run and name in (asked.names or NAMES):
        sets = {each: stand_in(each, 0, "usual") for each in generated} | {"market1501": load("market1501")}
        outcome = measure(sets, 0, False, partial(print, flush=True))
        charts = tuple(c for c in outcome.charts if not c.name.startswith("look-map") or "generated" in c.title)
        outcome.model_copy(update=dict(cases=(), charts=charts)).save(file.parent)
    return read_outcome(file) if file.exists() else Outcome(name=name, title=name, about="")


def study(name: str, asked: argparse.Namespace, load: Callable[[str], Data]) -> Outcome:
    """Measure the cells that are asked for, and return what is finished."""
    one = STUDIES[name]
    file = ELSEWHERE[name][0] if name in ELSEWHERE else "cells.jsonl"
    results = Results(DOCS / "make" / "results" / file, Scored)
    given = {real: load(real) for real in SETS.get(name, PERSONS_AND_LETTERS if name != "table5" else ())}
    if not asked.no_run and name not in ELSEWHERE and name in (asked.names or NAMES):
        wanted = {real: data for real, data in given.items() if not asked.sets or real in asked.sets}
        generated = not asked.sets or "generated" in asked.sets
        if wanted or generated:
            say = partial(print, flush=True)
            one.run(results, range(asked.seeds), wanted, say=say, also_generated=generated)
    cells, made = one.plan(range(asked.seeds), given, methods=["all"], also_generated=True)
    return one.outcome(name, finished_cells(cells, made, results))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)}; without any, all")
    parser.add_argument("--sets", nargs="*", help="'generated' and names of real sets; without any, all of the table")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the real sets")
    parser.add_argument("--no-run", action="store_true", help="measure nothing, write what there is")
    asked = parser.parse_args()
    if wrong := set(asked.names) - set(NAMES):
        parser.error(f"there is no {', '.join(wrong)}: choose from {', '.join(NAMES)}")
    load = cache(lambda name: Data.of(kf.load(asked.data / f"{name}.npz")))
    page, claims = (DOCS / "reproduce.md").read_text(encoding="utf-8"), []
    for name in NAMES:
        outcome = (single if name in SINGLES else study)(name, asked, load)
        claims += outcome.claims
        page = put(page, name, section(name, outcome))
    page = put(page, "claims", claims_table(claims))
    with replacing(DOCS / "reproduce.md", force=True) as temporary:
        temporary.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
