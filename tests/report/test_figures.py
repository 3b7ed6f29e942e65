"""Figures of the report: what is drawn where, and the same file each time."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from kinfolk._core.errors import InputError
from kinfolk.metrics import Roc
from kinfolk.report.figures import (
    before_and_after,
    errors_over_tests,
    panels,
    roc_curves,
    save_figure,
    similarity_histograms,
    to_svg,
)


@pytest.fixture
def edges():
    rng = np.random.default_rng(0)
    same = rng.random((30, 4)) < 0.6
    return np.where(same, 0.7, 0.3) + 0.1 * rng.random(same.shape), same


def test_a_panel_for_each_set_and_a_line_for_each_similarity():
    rate = np.linspace(0, 1, 11)
    curves = {name: {"Sim-S": Roc(rate, rate, rate), "Sim-M": Roc(rate, rate**0.5, rate)} for name in ("one", "two")}
    figure = roc_curves(curves)
    assert [ax.get_title() for ax in figure.axes] == ["one", "two"]
    for ax in figure.axes:
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["Sim-S", "Sim-M"]
        np.testing.assert_array_equal(ax.lines[1].get_ydata(), rate**0.5)


def test_histograms_have_true_and_noisy_edges(edges):
    (ax,) = similarity_histograms({"Sim-M": edges}).axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["same class", "different classes"]


def test_versions_have_a_map_and_a_histogram_each(edges):
    values, same = edges
    points = np.random.default_rng(1).random((12, 2))
    figure = before_and_after({"raw": points, "enhanced": points}, np.arange(12) % 3, [values, values], same)
    assert len(figure.axes) == 4
    assert [text.get_text() for text in figure.axes[0].texts] == ["0", "1", "2"]


def test_errors_over_tests_has_four_lines_and_the_number_needed():
    rows = [dict(m=m, one_test=1.0, bound=2.0, exact=0.5, drawn=0.0) for m in (2, 8)]
    (ax,) = errors_over_tests(rows, needed=5).axes
    assert len(ax.lines) == 5 and list(ax.lines[-1].get_xdata()) == [5, 5]
    assert min(ax.lines[3].get_ydata()) == 1e-4  # zero is drawn at the floor of a logarithmic axis


@pytest.mark.parametrize(("suffix", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_same_figure_gives_the_same_file(tmp_path, suffix, start):
    figure, (ax,) = panels(1)
    ax.plot([1, 2], [3, 4])
    one, two = (save_figure(figure, tmp_path / f"{name}.{suffix}") for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes() and one.read_bytes().startswith(start)
    assert to_svg(figure).startswith("<svg")


def test_an_unknown_suffix_and_an_existing_file_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"written as \.svg, \.png, \.pdf"):
        save_figure(Figure(), tmp_path / "a.gif")
    (tmp_path / "a.svg").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        save_figure(Figure(), tmp_path / "a.svg")
