"""Numbers and tables as Markdown."""

import numpy as np
import pytest

from kinfolk.experiments.markdown import NOT_YET, markdown, spread


def test_spread_is_the_sample_standard_deviation():
    values = [1.0, 2.0, 4.0]
    assert spread(values, digits=3) == f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}"
    assert spread(None) == spread([]) == "–"
    assert spread([-0.5, 0.25], sign=True, digits=2) == "-0.12 ± 0.53"


@pytest.mark.parametrize("columns", [1, 3])
def test_every_line_has_as_many_cells_as_the_head(columns):
    lines = markdown(["h"] * columns, [["c"] * columns] * 4).splitlines()
    assert len(lines) == 6 and {line.count("|") for line in lines} == {columns + 1}


def test_a_table_without_rows_is_not_measured_yet():
    assert markdown(["a"], []) == NOT_YET


def test_html_in_a_cell_is_text():
    table = markdown(["<b>set</b>", "mAP"], [["<script>alert(1)</script>\nx & y", "**1**"]])
    assert "<script" not in table and "&lt;script>alert(1)&lt;/script> x &amp; y" in table
    assert "**1**" in table and len(table.splitlines()) == 3
