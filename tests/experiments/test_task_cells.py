"""Studies in cells: which are measured, and how their numbers become a table."""

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.experiments.clustering_methods import LEARNED_METHODS
from kinfolk.experiments.clustering_tables import STUDIES
from kinfolk.experiments.feature_methods import BAND, LABEL_FREE, ORIGINAL
from kinfolk.experiments.feature_quality import Quality
from kinfolk.experiments.task_cells import ScoredCell, TaskCell, beside_the_paper, needed_seeds, progress_line

STUDY = STUDIES["table10"]


def scored(row, seed=0, **scores):
    method = next(m for m in (ORIGINAL, LABEL_FREE, BAND) if m.name == row)
    cell = TaskCell("digits", method, Quality(5), seed)
    made = dict(chosen={}, trained=False, seconds=1.0 + seed, fit_seconds=0.5, took=3.0)
    return cell, ScoredCell.of(cell, "", scores=scores, **made)


def test_slow_cells_are_measured_where_all_methods_are_requested(tiny):
    default = {cell.row for cell in STUDY.plan([0], {"tiny": tiny})[0]}
    every = {cell.row for cell in STUDY.plan([0], {"tiny": tiny}, methods=["all"])[0]}
    assert every - default == {method.name for method in LEARNED_METHODS} and default < every


def test_rows_are_requested_by_name(tiny):
    assert [cell.row for cell in STUDY.plan([0], {"tiny": tiny}, methods=["Ada-NETS"])[0]] == ["Ada-NETS"]
    with pytest.raises(InputError, match="no method 'Ada'"):
        STUDY.plan([0], {"tiny": tiny}, methods=["Ada"])


def test_given_sets_are_loaded_and_generated_ones_made(tiny):
    cells, load = STUDY.plan([0], {"tiny": tiny}, "quick", also_generated=True)
    assert {cell.data for cell in cells} == {"tiny", *STUDY.generated}
    assert load("tiny", 0) is tiny
    assert load(STUDY.generated[0], 0).test.dim == 256


def test_the_best_mean_of_a_column_is_bold_and_a_row_without_numbers_is_dashed():
    found = [scored("original", 0, map=60.0), scored("original", 1, map=62.0), scored("band (kinfolk)", 0, map=70.0)]
    rows = ["original", "band (kinfolk)", "GCN"]
    (table,) = beside_the_paper("table2", [rows[:2], rows[2:]], found, {"map": "mAP"}, {"msmt17": "MSMT17"})
    assert table.rows[0] == ("original", f"61.0 ± {np.sqrt(2):.1f}", "1.5", "74.46")
    assert table.rows[1][:3] == ("band (kinfolk)", "**70.0**", "1.0")
    assert table.rows[2][:3] == ("GCN", "–", "–") and table.rules == (2,)


def test_a_result_counts_its_cells_seeds_and_seconds():
    found = [scored("original", seed, map=60.0, fp=1.0, fb=1.0) for seed in (0, 1)]
    result = STUDY.result("table10", found, quick=True)
    assert (result.cells, result.seeds, result.seconds, result.quick) == (2, 2, 6.0, True)


def test_the_progress_line_has_the_scores_and_whether_they_are_new():
    cell, row = scored("original", map=61.23, enr=0.1234)
    assert "map 61.2   enr 0.123   3.0 s" in progress_line(cell, row, new=True)
    assert progress_line(cell, row, new=False).endswith("as measured before")


@pytest.mark.parametrize(
    ("generated", "method", "random", "count"),
    [(True, ORIGINAL, False, 3), (False, ORIGINAL, False, 1), (False, LABEL_FREE, False, 1), (False, BAND, False, 3)],
)
def test_seeds_that_change_nothing_are_left_out(generated, method, random, count):
    assert needed_seeds(generated, method, random, range(3)) == list(range(count))
