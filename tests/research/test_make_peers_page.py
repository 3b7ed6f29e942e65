"""The sections about peers, and the table of the README, are written from the lines that are measured."""

import json
import sys

import numpy as np
import pytest
from scipy import stats

from research import make_peers_page as script


def line(method, score, place=("omniglot", "zipf"), draw=0, oracle=False, **more):
    how = dict(oracle=oracle, setting="default", nmi=1.0, ari=1.0, clusters=1200, seconds=2.0, version="p 2, kinfolk 1")
    return dict(set=place[0], regime=place[1], draw=draw, method=method, score=score) | how | more


PLAIN, INTENTS = ("omniglot", "plain"), ("clinc150", "all")
ROWS = [
    line("all alone", 30.0),
    line("all alone", 30.0, draw=1),
    line("HAC", 50.0),
    line("HAC", 54.0, draw=1),
    line("Infomap", 20.0),
    line("Infomap", 22.0, draw=1),
    line("EVoC", None),
    line("HAC, best threshold", 70.0, oracle=True),
    line("all alone", 5.0, PLAIN),
    line("HAC", 40.0, PLAIN),
    line("all alone", 1.0, ("easy", "3 x 9")),
    line("HAC", 100.0, ("easy", "3 x 9")),
    line("HAC", 10.0, INTENTS, nmi=61.0, ari=62.0, accuracy=63.0),
]
KIN = [line("Kin", 60.0), line("Kin", 63.0, draw=1), line("Kin", 90.0, PLAIN)]
FEATURES = [
    line("raw", 60.0),
    line("raw", 62.0, draw=1),
    line("GCR", 70.0),
    line("GCR", 71.0, draw=1),
    line("GCR", 40.0, PLAIN),
    line("raw", 50.0, PLAIN),
]


def section(*more, features=()):
    return script.section([*ROWS, *more], features).replace("&nbsp;", " ")


def test_the_best_is_bold_and_what_loses_to_nothing_done_is_marked():
    text = section()
    assert "| HAC | **52.0 ± 2.0** | **52.0 ± 2.0** | 2.0 |" in text
    assert "| Infomap | 21.0 ± 1.0 ↓ | 21.0 ± 1.0 ↓ | 2.0 |" in text
    assert "| EVoC | failed | failed | – |" in text
    assert "| HAC, best threshold † (1 draw) | **70.0** | **70.0** | 2.0 |" in text


def test_means_need_every_set():
    rows = [line("HAC", 60.0, ("market1501", "zipf")), line("all alone", 4.0, ("market1501", "zipf"))]
    assert "| Infomap | – | 21.0 ± 1.0 ↓ | – |" in section(*rows)
    assert "| HAC | **60.0** | **52.0 ± 2.0** | **56.0** |" in section(*rows)


def test_without_kin_there_is_no_comparison_with_it():
    assert "Kin minus" not in section() and section(*KIN).count("| Kin minus |") == 2


def test_differences_are_paired_by_draw():
    text = section(*KIN)
    width = stats.t.interval(0.95, 1, loc=0, scale=stats.sem([10.0, 9.0]))[1]
    assert f"| HAC | +9.5 ± {width:.1f} | +9.5 ± {width:.1f} |" in text  # zipf: the set, and the mean
    assert f"| Infomap | +40.5 ± {width:.1f} | – | – | – | +40.5 ± {width:.1f} | 1 (1) | 0 (0) |" in text
    assert f"| the best default | +9.5 ± {width:.1f} | +9.5 |" in text
    # a single draw is sure of nothing
    assert "| HAC, best threshold † (1 draw) | -10.0 | – | – | – | -10.0 | 0 (0) | 1 (0) |" in text


@pytest.mark.parametrize("values", [[1.0, 2.5, 4.0], [-1.0, 1.0], list(range(10))])
def test_intervals_are_those_of_scipy(values):
    low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
    assert script.half_width(values) == pytest.approx((high - low) / 2)


def test_a_sure_loss_is_bold():
    assert "| HAC | **-20.5 ± " in section(line("Kin", 30.0), line("Kin", 33.0, draw=1))


def test_easy_sets_and_intents_have_tables():
    text = section()
    assert "| 3 x 9 | 1.0 | **100.0** |" in text
    assert "| HAC | 61.0 | 62.0 | 63.0 | 1200 | 2.0 |" in text
    assert "| published, fine-tunes BERT ‡ | 91.0 | 68.5 | 75.9 |  |  |" in text
    assert text.endswith("13 cells, made with kinfolk 1, p 2.")


def test_features_are_beside_raw_ones():
    text = section(features=FEATURES)
    assert (
        "| omniglot, plain | **50.0** | 40.0 ↓ |" in text and "| omniglot, zipf | 61.0 ± 1.0 | **70.5 ± 0.5** |" in text
    )
    assert "| mean of the 2 | **55.5** | 55.2 ↓ |" in text and "| cells below raw | 0 | 1 |" in text
    assert "| most below raw | 0.0 | 10.0 |" in text and "| seconds, whole test parts | 2.0 | 2.0 |" in text


def test_the_readme_has_kin_the_best_other_default_and_the_oracle():
    text = script.summary([*ROWS, *KIN])
    assert "| `Kin()` | 90.0 | 61.5 | – | – | – |" in text
    assert "| best default of the others | 40.0 (HAC) | 52.0 (HAC) | – | – | – |" in text
    assert "| HAC cut where the labels say † | – | 70.0 | – | – | – |" in text


def test_nothing_measured_is_said():
    assert "Nothing is measured yet" in script.section([], [])


def test_the_rest_of_both_pages_is_kept_and_writing_twice_changes_nothing(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    page, readme = tmp_path / "docs" / "peers.md", tmp_path / "README.md"
    page.write_text("# Peers\n\n<!-- peers-on-albums -->\n<!-- /peers-on-albums -->\n\nOld text.\n")
    readme.write_text("# kinfolk\n\n<!-- peers -->\n<!-- /peers -->\nThe rest.\n")
    for name, rows in (("results", ROWS), ("features", FEATURES)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["--results", tmp_path / "results", "--features", tmp_path / "features", "--into", tmp_path]
    monkeypatch.setattr(sys, "argv", ["make_peers_page", *map(str, arguments)])
    script.main()
    once = page.read_text(), readme.read_text()
    script.main()
    assert once == (page.read_text(), readme.read_text())
    assert once[0].startswith("# Peers\n\n<!-- peers-on-albums -->\n## Peers")
    assert once[0].endswith("\n<!-- /peers-on-albums -->\n\nOld text.\n")
    assert "| best default" in once[1] and once[1].endswith("<!-- /peers -->\nThe rest.\n")
