"""The part of the report about features before and after."""

import numpy as np
import pytest

from kinfolk.experiments.enhance_study import EnhanceStudy, Version
from kinfolk.report.enhance_study import before_and_after_figure, enhance_card, enhance_sections
from kinfolk.report.figures import to_svg


def a_study(name, scores):
    rng = np.random.default_rng(len(scores))
    labels = np.repeat(np.arange(4), 10)
    versions = [
        Version(n, rng.standard_normal((40, 8)).astype(np.float32), s, rng.uniform(-1, 1, (40, 3)).astype(np.float32))
        for n, s in scores.items()
    ]
    return EnhanceStudy(name, f"note on {name}", labels, rng.random((40, 3)) < 0.5, np.array([0, 2]), versions)


@pytest.fixture
def studies():
    two = {"raw": 50.0, "label-free": 61.0}
    return [a_study("without", two), a_study("worse", {"raw": 70.0, "label-free": 60.0, "trained": 65.0})]


def test_the_table_says_each_score_and_gain_and_marks_the_best(studies):
    table, *figures = enhance_sections(studies)
    assert table.rows == [
        ["without", "50.00", "61.00", "+11.00", "–", "–"],
        ["worse", "70.00", "60.00", "-10.00", "65.00", "-5.00"],
    ]
    assert table.best == {(0, 2), (1, 1)}
    assert "note on without" in table.text
    assert [f.title for f in figures] == ["Before and after, without", "Before and after, worse"]
    assert enhance_card(studies[1]).value == "70.0 → 60.0 → 65.0"


def test_the_picture_has_a_map_and_a_histogram_for_each_version(studies):
    for study in studies:
        figure = before_and_after_figure(study)
        assert len(figure.axes) == 2 * len(study.versions)
        shown = [text.get_text() for text in figure.axes[0].texts]
        assert shown == ["0", "2"]
        assert sum(len(c.get_offsets()) for c in figure.axes[0].collections) == 20
        assert to_svg(figure) == to_svg(before_and_after_figure(study))
