"""Measure the attention study and write its tables and figures into docs/attention.md.

    python docs/make/attention.py                      # all sections, about two and a half hours
    python docs/make/attention.py over-k served        # some of them
    python docs/make/attention.py --no-run             # write the page from the cells that are finished

Finished cells are kept in docs/make/results/attention.jsonl; the same command goes on where it was stopped. After a
change of the program remove the lines it concerns, or the file.
"""

import argparse
from functools import partial
from pathlib import Path

from kinfolk._core.files import replacing
from kinfolk.experiments.attention_study import SECTIONS, TABLES, study_data
from kinfolk.experiments.cells import Results, run_cells
from kinfolk.experiments.markdown import put
from kinfolk.experiments.resume import finished_cells, made_by
from kinfolk.report.attention_study import Panel, draw, noise_panels, over_k_panels
from kinfolk.report.figures import to_svg

DOCS = Path(__file__).parent.parent
FIGURES = {
    "over-k": (over_k_panels, 4, "mAP over k of the forms that need no labels, a panel for each set"),
    "noise": (noise_panels, 3, "mAP of trained encoders over k, a panel for each regime"),
}


def write_figure(path: Path, panels: list[Panel], columns: int) -> None:
    with replacing(path, force=True) as temporary:
        temporary.write_text(to_svg(draw(panels, columns)), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; without any, all")
    parser.add_argument("--results", default=DOCS / "make" / "results" / "attention.jsonl", help="the finished cells")
    parser.add_argument("--data", default="../shared/data", help="folder of the real sets")
    parser.add_argument(
        "--page", type=Path, default=DOCS / "attention.md", help="the page with marked places; images/ beside it"
    )
    parser.add_argument("--no-run", action="store_true", help="measure nothing, write what there is")
    asked = parser.parse_args()
    if wrong := set(asked.sections) - set(SECTIONS):
        parser.error(f"there is no section {', '.join(wrong)}: choose from {', '.join(SECTIONS)}")
    load, results = partial(study_data, folder=asked.data), Results(asked.results)
    for section in asked.sections or SECTIONS:
        cells = SECTIONS[section]()
        if not asked.no_run:
            print(f"{section}: {len(cells)} cells", flush=True)
            run_cells(cells, load, results, say=partial(print, flush=True))
        found = finished_cells(cells, load, results)
        parts = [TABLES[section](found), made_by(row for _, row in found)]
        if section in FIGURES and found:
            make_panels, columns, caption = FIGURES[section]
            image = f"images/attention-{section}.svg"
            write_figure(asked.page.parent / image, make_panels(found), columns)
            parts.insert(0, f"![{caption}]({image})")
        page = put(asked.page.read_text(encoding="utf-8"), section, "\n\n".join(parts))
        with replacing(asked.page, force=True) as temporary:
            temporary.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
