"""Measure Tables 3, 10 (clusters), 4 and 11 (re-identification) and write them into their pages.

    python docs/make/task_tables.py                        # all of them, on generated and on real sets: hours
    python docs/make/task_tables.py table3 --sets generated
    python docs/make/task_tables.py table10 --sets market1501 omniglot
    python docs/make/task_tables.py table3 --rows Ada-NETS STAR-FC Clusformer
    python docs/make/task_tables.py --no-run               # write the pages from the cells that are finished

Finished cells are kept in docs/make/results; the same command goes on where it was stopped. After a change of the
program remove the lines it concerns, or the file.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import NamedTuple

import kinfolk as kf
from kinfolk._core.files import replacing
from kinfolk.experiments import clustering_tables, reid_tables
from kinfolk.experiments.markdown import put
from kinfolk.experiments.resume import Data, Results, finished_cells, made_by
from kinfolk.experiments.task_cells import Scored

DOCS = Path(__file__).parent.parent
SEEDS = range(3)
STUDIES = {**clustering_tables.STUDIES, **reid_tables.STUDIES}


class Place(NamedTuple):
    page: str
    results: str
    real: tuple[str, ...]


PLACES = {
    "table3": Place("clustering-tables.md", "clustering.jsonl", ("clinc150", "banking77")),
    "table10": Place("clustering-tables.md", "clustering.jsonl", ("market1501", "omniglot")),
    "table4": Place("reid.md", "reid.jsonl", ("market1501", "omniglot")),
    "table11": Place("reid.md", "reid.jsonl", ("market1501", "omniglot")),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help=f"of {', '.join(PLACES)}; without any, all")
    parser.add_argument("--sets", nargs="*", help="'generated' and names of real sets; without any, all of the table")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the real sets")
    parser.add_argument("--results", type=Path, default=DOCS / "make" / "results", help="folder of the finished cells")
    parser.add_argument("--pages", type=Path, default=DOCS, help="folder of the pages with marked places")
    parser.add_argument("--rows", nargs="*", default=["all"], help="measure only these; without any, all")
    parser.add_argument("--no-run", action="store_true", help="measure nothing, write what there is")
    asked = parser.parse_args()
    if wrong := set(asked.tables) - set(PLACES):
        parser.error(f"there is no {', '.join(wrong)}: choose from {', '.join(PLACES)}")
    for table in asked.tables or PLACES:
        study, place = STUDIES[table], PLACES[table]
        results = Results(asked.results / place.results, Scored)
        text = []
        for name in ("generated", *place.real):
            given = None if name == "generated" else {name: Data.of(kf.load(asked.data / f"{name}.npz"))}
            if not asked.no_run and (not asked.sets or name in asked.sets):
                study.run(results, SEEDS, given, say=partial(print, flush=True), methods=asked.rows)
            cells, load = study.plan(SEEDS, given, methods=["all"])
            found = finished_cells(cells, load, results)
            for table_of_set in study.tables(found):
                made = made_by(row for cell, row in found if cell.data == table_of_set.data)
                text += [f"**{table_of_set.data}**", table_of_set.markdown, made]
        page = asked.pages / place.page
        written = put(page.read_text(encoding="utf-8"), table, "\n\n".join(text) or "*Not measured yet.*")
        with replacing(page, force=True) as temporary:
            temporary.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
