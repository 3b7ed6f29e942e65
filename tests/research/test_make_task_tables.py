"""The tables of tasks are written into their pages from the cells that are finished."""

import sys
from dataclasses import replace

import kinfolk as kf
from kinfolk.experiments.feature_methods import ORIGINAL
from kinfolk.experiments.reid_tables import COSINE_RANKED
from kinfolk.experiments.task_cells import TaskCell
from research import make_task_tables as script


def test_the_pages_are_written_from_finished_cells(tiny, tmp_path, monkeypatch):
    kf.datasets.person_like(30, seed=0, dim=16).save(tmp_path / "tiny.npz")
    cell = TaskCell("tiny", ORIGINAL, COSINE_RANKED)
    cells = lambda names, seeds, size: [cell] if names else []  # noqa: E731
    monkeypatch.setitem(script.STUDIES, "table4", replace(script.STUDIES["table4"], generated=(), cells=cells))
    monkeypatch.setitem(script.DESTINATIONS, "table4", script.Destination("page.md", "r.jsonl", ("tiny",)))
    (tmp_path / "page.md").write_text("# a\n<!-- table4 -->\n<!-- /table4 -->\nb\n")
    places = ["--data", tmp_path, "--results", tmp_path, "--pages", tmp_path]
    monkeypatch.setattr(sys, "argv", ["make_task_tables", "table4", "--no-run", *map(str, places)])
    script.main()
    assert "Not measured yet" in (tmp_path / "page.md").read_text()
    monkeypatch.setattr(sys, "argv", ["make_task_tables", "table4", *map(str, places)])
    script.main()
    page = (tmp_path / "page.md").read_text()
    assert "**tiny**" in page and "1 cells: 1 by commit" in page and page.endswith("<!-- /table4 -->\nb\n")
    test, queries = tiny.test, tiny.test.query
    ranking = kf.metrics.cosine_ranking(test.features[queries], test.features[~queries])
    sides = [column[rows] for column in (test.labels, test.cameras) for rows in (queries, ~queries)]
    assert f"| original | **{100 * kf.metrics.reid(ranking, *sides).map:.1f}** |" in page
