"""Figure 3: mAP over the noise of the graph."""

import numpy as np
import pytest

from kinfolk.experiments.generated_sets import CELEBRITIES
from kinfolk.experiments.noise_curves import KS, STUDY


def test_every_method_is_trained_and_tested_at_every_k():
    cells = STUDY.cells([CELEBRITIES], [0, 1], "usual")
    assert {cell.task.k for cell in cells} == set(KS["usual"])
    encoders = [cell for cell in cells if cell.method.settings is not None]
    assert all(cell.method.settings["k"] == cell.task.k for cell in encoders)
    assert len(cells) == 2 * 6 * len(KS["usual"])


def test_lines_are_means_over_seeds_at_the_noise_of_each_k(made_up):
    found = made_up(STUDY)
    (panel,) = STUDY.charts(found)[0].panels
    band = next(line for line in panel.lines if line.label == "GCN w/ band")
    for k, x, y in zip(KS["usual"], band.x, band.y, strict=True):
        rows = [row for cell, row in found if cell.row == "GCN w/ band" and cell.task.k == k]
        assert x == pytest.approx(k / 200) and y == pytest.approx(np.mean([row.scores["map"] for row in rows]))


def test_the_last_column_is_the_change_from_the_smallest_k_to_the_largest(made_up):
    (table,) = STUDY.tables(made_up(STUDY, seeds=[0]))
    assert table.head[-2] == "k=160, ENR 0.80"
    row = next(row for row in table.rows if row[0] == "GCN")
    assert float(row[-1]) == pytest.approx(float(row[-2]) - float(row[1]), abs=0.11)
    assert next(row for row in table.rows if row[0] == "original")[-1] == ""
