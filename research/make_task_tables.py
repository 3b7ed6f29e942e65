"""Measure Tables 3, 10 (clusters), 4 and 11 (re-identification) and write them into their pages.

    python -m research.make_task_tables                        # all of them, on generated and on real sets: hours
    python -m research.make_task_tables table3 --sets generated
    python -m research.make_task_tables table10 --sets market1501 omniglot
    python -m research.make_task_tables table3 --rows Ada-NETS STAR-FC Clusformer
    python -m research.make_task_tables --no-run               # write the pages from the cells that are finished

Finished cells are kept in research/results; the same command goes on where it was stopped. After a change of the
program remove the lines it concerns, or the file.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import NamedTuple

import kinfolk as kf
from kinfolk.experiments import clustering_tables, reid_tables
from kinfolk.experiments.resume import CellStore, Data, finished_cells, made_by
from kinfolk.experiments.task_cells import ScoredCell
from research._page import DOCS, RESULTS, put, write

SEEDS = range(3)
STUDIES = {**clustering_tables.STUDIES, **reid_tables.STUDIES}


class Destination(NamedTuple):
    page: str
    results: str
    real: tuple[str, ...]


DESTINATIONS = {
    "table3": Destination("clustering-tables.md", "clustering.jsonl", ("clinc150", "banking77")),
    "table10": Destination("clustering-tables.md", "clustering.jsonl", ("market1501", "omniglot")),
    "table4": Destination("reid.md", "reid.jsonl", ("market1501", "omniglot")),
    "table11": Destination("reid.md", "reid.jsonl", ("market1501", "omniglot")),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help=f"of {', '.join(DESTINATIONS)}; without any, all")
    parser.add_argument("--sets", nargs="*", help="'generated' and names of real sets; without any, all of the table")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the real sets")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the finished cells")
    parser.add_argument("--pages", type=Path, default=DOCS, help="folder of the pages with marked places")
    parser.add_argument("--rows", nargs="*", default=["all"], help="measure only these; without any, all")
    parser.add_argument("--no-run", action="store_true", help="measure nothing, write what there is")
    options = parser.parse_args()
    if wrong := set(options.tables) - set(DESTINATIONS):
        parser.error(f"there is no {', '.join(wrong)}: choose from {', '.join(DESTINATIONS)}")
    for table in options.tables or DESTINATIONS:
        study, destination = STUDIES[table], DESTINATIONS[table]
        store = CellStore(options.results / destination.results, ScoredCell)
        text = []
        for name in ("generated", *destination.real):
            given = None if name == "generated" else {name: Data.of(kf.load(options.data / f"{name}.npz"))}
            if not options.no_run and (not options.sets or name in options.sets):
                study.run(store, SEEDS, given, echo=partial(print, flush=True), methods=options.rows)
            cells, load = study.plan(SEEDS, given, methods=["all"])
            found = finished_cells(cells, load, store)
            for table_of_set in study.tables(found):
                made = made_by(row for cell, row in found if cell.data == table_of_set.data)
                text += [f"**{table_of_set.data}**", table_of_set.markdown, made]
        page = options.pages / destination.page
        write(page, put(page.read_text(encoding="utf-8"), table, "\n\n".join(text) or "*Not measured yet.*"))


if __name__ == "__main__":
    main()
