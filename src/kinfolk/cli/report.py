"""kinfolk report: an HTML page of everything kinfolk reproduce measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinfolk._core.errors import InputError
from kinfolk._core.progress import stage
from kinfolk.cli import options


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that kinfolk reproduce --out has filled.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The page; RUN/report.html by default.")] = None,
    figures: Annotated[
        Path | None,
        typer.Option(help="Folder for the figures (.svg, .png, .pdf) and tables (.md, .tex), one file each."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Make one HTML page of a run: tables beside the paper's, figures, claims, and attention in sub-graphs.

    Nothing is measured. The page in the folder of the run is replaced if this command made it and nobody has changed it
    since; any other file only with --force.

    [bold]Example:[/bold]  kinfolk report RUN --figures RUN/figures
    """
    with stage("loading"):
        from kinfolk._core.files import added, existing_folder, record, unchanged
        from kinfolk.experiments.results import RUN_KIND, read_results
        from kinfolk.report.export import KIND as FIGURES_KIND
        from kinfolk.report.export import export_run
        from kinfolk.report.page import write_page
        from kinfolk.report.run import claim_counts, in_paper_order, run_page

    page = out or run / "report.html"
    if page.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{page}: a report is written as .html")
    if existing_folder(run, "the folder of a run, made by kinfolk reproduce --out").is_file():
        raise InputError(f"{run} is a file: the folder of a run, made by kinfolk reproduce --out, was expected")
    replace = force or (page.parent == run and page.name in unchanged(run, RUN_KIND))
    options.output(page, replace)
    options.output_folder(figures, FIGURES_KIND)
    with options.timed() as took:
        results = in_paper_order(read_results(run))
        with stage("figures"):
            exported = export_run(results, figures, force) if figures is not None else []
        write_page(run_page(results, show_progress=True), page, replace)
        if page.parent == run and added(run, RUN_KIND):
            record(run, RUN_KIND, [page.name])
    claims = claim_counts(results)
    if as_json:
        names = [result.name for result in results]
        options.print_facts(dict(report=page, results=names, claims=claims, figures=exported, **took), as_json=True)
        return
    facts = dict(report=page.resolve(), shows=", ".join(result.name for result in results))
    if any(claims.values()):
        facts["claims"] = "{holds} hold, {does not hold} do not, {undecided} undecided".format_map(claims)
    if figures is not None:
        facts["figures"] = f"{len(exported)} files in {figures}"
    options.print_facts(facts, as_json=False)
