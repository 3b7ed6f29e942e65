"""Charts of results as figures."""

import re

import pytest
from matplotlib.colors import to_hex

from kinfolk.experiments.results import Chart, Histogram, Line, Lines, Map
from kinfolk.report.charts import METHOD_COLORS, chart_svg, draw_chart
from kinfolk.report.figures import COLORS, to_svg
from synthetic_run import synthetic_run

KS = (5.0, 10.0, 40.0)


def a_chart(*panels):
    return Chart(name="c", title="a chart", text="", panels=panels)


def lines(*drawn, **settings):
    return Lines(title="t", xlabel="k", ylabel="mAP", lines=drawn, **settings)


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize(("count", "columns", "rows"), [(1, 1, 1), (2, 2, 1), (3, 3, 1), (4, 3, 2), (7, 3, 3)])
def test_panels_wrap_at_three_a_row(count, columns, rows):
    figure = draw_chart(a_chart(*[lines(Line(label="a", x=KS, y=KS))] * count))
    assert len(figure.axes) == count
    assert figure.axes[0].get_gridspec().get_geometry() == (rows, columns)


def test_a_method_has_one_colour_and_the_paper_has_it_dashed():
    ours = [Line(label=name, x=KS, y=KS) for name in ("other", "band", "self")]
    paper = Line(label="band, the paper", x=KS, y=KS, paper=True)
    figure = draw_chart(a_chart(lines(*ours), lines(ours[1], paper), lines(ours[2], ours[0])))
    first, second, third = ([(line.get_color(), line.get_linestyle()) for line in ax.lines] for ax in figure.axes)
    assert second == [(METHOD_COLORS["band"], "-"), (METHOD_COLORS["band"], "--")]
    assert third == [first[2], first[0]]
    assert first[0][0] not in (METHOD_COLORS["band"], METHOD_COLORS["self"])
    assert legend(figure) == ["other", "band", "self", "the paper"]


@pytest.mark.parametrize(
    ("label", "shown"), [("LTC", "LTC, the paper"), ("the paper, msmt17", "the paper, msmt17"), ("paper", "paper")]
)
def test_a_method_of_the_paper_alone_is_named_as_such(label, shown):
    figure = draw_chart(a_chart(lines(Line(label=label, x=KS, y=KS, paper=True))))
    assert legend(figure) == [shown]


def test_a_long_title_is_broken_but_no_equation_in_it():
    panel = lines(Line(label="a", x=KS, y=KS)).model_copy(update=dict(title="many strangers: p = 0.90, q = 0.50"))
    title = draw_chart(a_chart(panel, panel, panel)).axes[0].get_title()
    assert title.replace("\N{NO-BREAK SPACE}", " ") == "many strangers: p = 0.90,\nq = 0.50"


def test_more_methods_than_colours_have_other_strokes():
    figure = draw_chart(a_chart(lines(*[Line(label=f"m{i}", x=KS, y=KS) for i in range(8)])))
    styles = {(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines}
    assert len(styles) == 8


def test_spread_is_a_band_around_the_line():
    figure = draw_chart(a_chart(lines(Line(label="a", x=KS, y=(1.0, 2.0, 3.0), spread=(0.1, 0.2, 0.5)))))
    (band,) = figure.axes[0].collections
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(3.5)


def test_few_values_on_a_log_axis_are_its_ticks():
    ax = draw_chart(a_chart(lines(Line(label="a", x=KS, y=(1e-3, 0.1, 1.0)), log_x=True, log_y=True))).axes[0]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["5", "10", "40"]


def test_a_log_axis_without_positive_values_stays_linear():
    ax = draw_chart(a_chart(lines(Line(label="a", x=(0.0, -1.0), y=KS[:2]), log_x=True))).axes[0]
    assert ax.get_xscale() == "linear"


def test_a_zoom_is_drawn_again_where_no_point_is():
    rate = tuple(i / 50 for i in range(51))
    roc = Line(label="Sim-M", x=rate, y=tuple(r**0.1 for r in rate))
    ax = draw_chart(a_chart(lines(roc, zoom=(0, 0.1, 0.7, 1)))).axes[0]
    (inset,) = ax.child_axes
    assert (inset.get_xlim(), inset.get_ylim()) == ((0, 0.1), (0.7, 1))
    assert inset.get_position().y0 < 0.5 < inset.get_position().x1


def test_a_histogram_shows_its_threshold():
    counts = {"same class": (1.0, 4.0), "different classes": (3.0, 0.0)}
    panel = Histogram(title="h", xlabel="score", edges=(0, 0.5, 1), counts=counts, mark=0.7, mark_label="cut")
    figure = draw_chart(a_chart(panel))
    assert [text.get_text() for text in figure.axes[0].texts] == ["cut"]
    assert legend(figure) == list(counts)


@pytest.mark.parametrize(("classes", "names", "dots"), [(3, 3, 60), (40, 0, 800), (40, 0, 2000)])
def test_a_map_names_few_classes_only(classes, names, dots):
    labels = tuple(i % classes for i in range(dots))
    panel = Map(title="m", x=tuple(range(dots)), y=tuple(range(dots)), labels=labels)
    figure = draw_chart(a_chart(panel))
    ax = figure.axes[0]
    assert len(ax.texts) == names
    assert sum(len(points.get_offsets()) for points in ax.collections) == dots
    assert ax.collections[0].get_rasterized() == (dots > 1500)
    assert figure.legends == []


def test_names_are_texts_and_never_mathematics():
    hostile = "$x_{1$ <b> & _"
    line = Line(label=f"_{hostile}", x=(1.0, 1.5), y=KS[:2])
    panel = Lines(title=hostile, xlabel=hostile, ylabel=hostile, lines=(line,), log_x=True)
    histogram = Histogram(title="", xlabel="", edges=(0, 1), counts={hostile: (1,)}, mark=0.2, mark_label=hostile)
    figure = draw_chart(a_chart(panel, histogram))
    assert to_svg(figure).startswith("<svg")
    assert not any(text.get_parse_math() for text in (*figure.legends[0].get_texts(), figure.axes[0].title))


def test_the_picture_of_a_page_follows_its_theme_and_shares_no_names_with_another():
    chart = a_chart(lines(Line(label="a", x=KS, y=KS)))
    svg = chart_svg(chart.model_copy(update=dict(title='"<i>')))
    assert svg.startswith('<svg role="img" aria-label="&#34;&lt;i&gt;"')
    assert "var(--ink)" in svg and "var(--paper)" in svg and "#ffffff" not in svg
    names = [set(re.findall(r'\bid="([^"]+)"', chart_svg(chart, columns))) for columns in (1, 3)]
    assert names[0] and not names[0] & names[1]
    assert set(re.findall(r'(?:"|url\()#([^")]+)', svg)) <= names[1]


def test_every_chart_of_a_run_is_drawn_the_same_each_time():
    charts = [chart for result in synthetic_run() for chart in result.charts]
    assert {panel.kind for chart in charts for panel in chart.panels} == {"lines", "histogram", "map"}
    chart = next(chart for chart in charts if chart.name == "figure4")
    assert chart_svg(chart) == chart_svg(chart)


def test_known_colours_are_of_the_palette():
    assert {to_hex(color) for color in METHOD_COLORS.values()} <= {to_hex(color) for color in (*COLORS, "#8a8f98")}
