"""Measure the attention study and write its tables and figures into docs/attention.md.

    python -m research.make_attention_page                      # all sections, about two and a half hours
    python -m research.make_attention_page over-k served        # some of them
    python -m research.make_attention_page --no-run             # write the page from the cells that are finished

Finished cells are kept in research/results/attention.jsonl; the same command goes on where it was stopped. After a
change of the program remove the lines it concerns, or the file.
"""

import argparse
from functools import partial
from pathlib import Path

from kinfolk.experiments.resume import finished_cells, made_by
from kinfolk.report.figures import to_svg
from research._page import DOCS, RESULTS, put, write
from research.attention_cells import attention_store, run_cells
from research.attention_figures import draw, noise_panels, over_k_panels
from research.attention_study import SECTIONS, TABLES, study_data

FIGURES = {
    "over-k": (over_k_panels, 4, "mAP over k of the forms that need no labels, a panel for each set"),
    "noise": (noise_panels, 3, "mAP of trained encoders over k, a panel for each regime"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; without any, all")
    parser.add_argument("--results", default=RESULTS / "attention.jsonl", help="the finished cells")
    parser.add_argument("--data", default="../shared/data", help="folder of the real sets")
    parser.add_argument(
        "--page", type=Path, default=DOCS / "attention.md", help="the page with marked places; images/ beside it"
    )
    parser.add_argument("--no-run", action="store_true", help="measure nothing, write what there is")
    options = parser.parse_args()
    if wrong := set(options.sections) - set(SECTIONS):
        parser.error(f"there is no section {', '.join(wrong)}: choose from {', '.join(SECTIONS)}")
    load, store = partial(study_data, folder=options.data), attention_store(options.results)
    for section in options.sections or SECTIONS:
        cells = SECTIONS[section]()
        if not options.no_run:
            print(f"{section}: {len(cells)} cells", flush=True)
            run_cells(cells, load, store, echo=partial(print, flush=True))
        found = finished_cells(cells, load, store)
        parts = [TABLES[section](found), made_by(row for _, row in found)]
        if section in FIGURES and found:
            make_panels, columns, caption = FIGURES[section]
            image = f"images/attention-{section}.svg"
            write(options.page.parent / image, to_svg(draw(make_panels(found), columns)))
            parts.insert(0, f"![{caption}]({image})")
        write(options.page, put(options.page.read_text(encoding="utf-8"), section, "\n\n".join(parts)))


if __name__ == "__main__":
    main()
