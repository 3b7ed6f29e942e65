"""The figure of a training log."""

from __future__ import annotations

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.report.learning_curves import learning_curves, running_mean


def rows(scored: bool = True) -> list[dict]:
    loss = {"metric lr=1e-3": lambda step: 100 * 0.9**step, "encoder": lambda step: 1 + 1 / step}
    return [
        dict(
            stage=stage,
            step=step,
            loss=f(step) if step else None,
            score=step / 60 if scored and not step % 10 else None,
        )
        for stage, f in loss.items()
        for step in range(51)
    ]


@pytest.mark.parametrize(
    ("suffix", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("SVG", b"<svg")]
)
def test_a_figure_for_each_suffix_and_always_the_same(tmp_path, suffix, start):
    one = learning_curves(rows(), tmp_path / f"one.{suffix}")
    two = learning_curves(rows(), tmp_path / f"two.{suffix}")
    assert one == tmp_path / f"one.{suffix}"
    assert one.read_bytes().startswith(start)
    assert one.read_bytes() == two.read_bytes()


def test_without_scores_there_is_one_panel(tmp_path):
    wide = learning_curves(rows(), tmp_path / "wide.svg").read_text()
    narrow = learning_curves(rows(scored=False), tmp_path / "narrow.svg").read_text()
    assert (wide.count('id="axes_'), narrow.count('id="axes_')) == (2, 1)


def test_a_stage_without_scores_and_one_without_losses_are_drawn(tmp_path):
    some = [dict(stage="a", step=0, loss=None, score=0.5), dict(stage="b", step=1, loss=-1.0, score=None)]
    assert learning_curves(some, tmp_path / "a.svg").exists()


def test_what_cannot_be_drawn(tmp_path):
    with pytest.raises(InputError, match="log is empty"):
        learning_curves([], tmp_path / "a.svg")
    with pytest.raises(InputError, match=r"written as \.svg, \.png, \.pdf"):
        learning_curves(rows(), tmp_path / "a.txt")
    learning_curves(rows(), tmp_path / "a.png")
    with pytest.raises(InputError, match="exists already"):
        learning_curves(rows(), tmp_path / "a.png")
    learning_curves(rows(), tmp_path / "a.png", force=True)


@pytest.mark.parametrize("window", [1, 3, 100])
def test_running_mean_equals_averaging_slices(window):
    values = np.random.default_rng(0).standard_normal(20)
    expected = [np.mean(values[max(0, i - window + 1) : i + 1]) for i in range(20)]
    np.testing.assert_allclose(running_mean(values, window), expected)
    assert running_mean(np.zeros(0), window).shape == (0,)
