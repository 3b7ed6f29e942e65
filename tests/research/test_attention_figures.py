"""The figures of the attention study: every number is drawn."""

import pytest
from research.attention_figures import LINE_STYLES, draw, noise_panels, over_k_panels

from kinfolk.report.figures import to_svg
from research import attention_study as study


@pytest.mark.parametrize(
    ("cells", "panels"),
    [(study.over_k(["omniglot", "celeb_like"]), over_k_panels), (study.noise(["person_like"]), noise_panels)],
)
def test_every_number_is_in_the_figure(cells, panels, made_up):
    found = made_up(cells, lambda cell: 40 + len(cell.method) + len(str(cell.k)))
    made = panels(found)
    figure = draw(made, columns=3)
    for ax, panel in zip(figure.axes, made, strict=False):
        drawn = {line.get_label(): dict(zip(*line.get_data(), strict=True)) for line in ax.get_lines()}
        assert {name: line for name, line in drawn.items() if name in LINE_STYLES} == panel.lines
        assert [text.get_text().split("\n")[0] for text in ax.get_xticklabels()] == [str(k) for k in panel.enr]
    assert sum(len(line) for panel in made for line in panel.lines.values()) >= len(found) - len(made)


def test_a_started_study_can_be_drawn(made_up):
    found = made_up(study.over_k(["omniglot"])[:2], lambda cell: 50.0)
    assert to_svg(draw(over_k_panels(found), columns=4)).startswith("<svg")
