"""The enhanced part of the demo as a user meets it: the screen, the numbers for machines, the page."""

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cli import demo, main
from kinfolk.experiments import enhance_study
from kinfolk.report import demo as report_demo
from kinfolk.report.page import Page
from kinfolk.training import metric


@pytest.fixture
def small_demo(monkeypatch, tmp_path, capfd):
    """Run the demo on sets of a second, in an empty folder; give its exit code and output."""
    digits = kf.datasets.digits().take(np.arange(400))
    measured = {}

    def measure_once(name, *given, **settings):
        if name not in measured:
            measured[name] = measure(name, *given, **settings)
        return measured[name]

    measure = enhance_study.enhance_study
    monkeypatch.setattr(enhance_study, "enhance_study", measure_once)
    monkeypatch.setattr(metric, "STEPS", 20)
    monkeypatch.setattr(kf.datasets, "digits", lambda: digits)
    monkeypatch.setattr(demo, "IDENTITIES", 12)
    monkeypatch.setattr(demo, "IDENTITIES_TO_ENHANCE", 12)
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["kinfolk", "demo", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        return stop.value.code or 0, *capfd.readouterr()

    return run


def test_screen_json_and_page_show_the_same_precisions(small_demo, monkeypatch):
    code, out, _ = small_demo("--json")
    facts = json.loads(out)
    assert code == 0
    digits, celeb = (result["enhanced"]["map"] for result in facts["results"])
    assert list(digits) == ["raw", "label_free"]
    assert list(celeb) == ["raw", "label_free", "trained"]
    test = kf.datasets.celeb_like(12).part("test")
    assert celeb["raw"] == pytest.approx(100 * kf.metrics.mean_average_precision(test, test.labels))
    page = Path(facts["report"]).read_text()
    monkeypatch.setattr(report_demo, "demo_page", lambda edges, enhanced: Page("", "", [], []))  # drawn once is enough
    code, screen, _ = small_demo()
    assert code == 0
    for scores in (digits, celeb):
        assert " → ".join(f"{score:.1f}" for score in scores.values()) in page
        for score in scores.values():
            assert f"{score:.2f}" in page
            assert f"{score:.2f}" in screen
        for name in list(scores)[1:]:  # all but raw
            assert f"{scores[name] - scores['raw']:+.2f}" in screen
    assert "Before and after, celeb_like" in page


@pytest.mark.parametrize(("package", "extra"), [("torch", "train"), ("matplotlib", "report")])
def test_a_missing_extra_is_named_before_anything_is_measured(small_demo, monkeypatch, package, extra):
    def missing(name, *rest):
        if name.split(".")[0] == package:
            raise ModuleNotFoundError(name)
        return import_module(name, *rest)

    monkeypatch.setattr("kinfolk._core.extras.import_module", missing)
    for name in [name for name in sys.modules if name.startswith("kinfolk.report")]:
        monkeypatch.delitem(sys.modules, name)
    code, out, err = small_demo()
    assert (code, out) == (2, "")
    assert f'pip install "kinfolk[{extra}]"' in err and len(err.strip().splitlines()) == 1
