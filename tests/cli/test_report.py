"""kinfolk report as a user meets it."""

import json

import pytest

from kinfolk.experiments.results import Chart, Claim, ExperimentResult, Line, Lines, Table


@pytest.fixture
def run(tmp_path):
    """A folder with two small results."""
    folder = tmp_path / "run"
    table = Table(data="digits", head=("", "mAP"), rows=(("raw", "66.0"), ("band", "**81.0 ± 1.0**")))
    claim = Claim(claim="Band is best.", where="Table 2", data="digits", verdict="holds", figures="81.0")
    ExperimentResult(name="table2", title="Table 2: mAP", about="", tables=(table,), claims=(claim,)).save(folder)
    panel = Lines(title="digits", xlabel="k", ylabel="mAP", lines=(Line(label="band", x=(5.0, 10.0), y=(80.0, 81.0)),))
    chart = Chart(name="figure4", title="mAP over k", text="", panels=(panel,))
    ExperimentResult(name="figure4", title="Figure 4: over k", about="", charts=(chart,)).save(folder)
    return folder


def test_a_page_in_the_folder_of_the_run(kinfolk, run):
    code, out, err = kinfolk("report", run)
    assert (code, err) == (0, "")
    page = (run / "report.html").read_text()
    assert "81.0 ± 1.0" in page and "mAP over k" in page and "Band is best." in page
    assert str(run / "report.html") in out and "table2, figure4" in out and "1 hold, 0 do not" in out
    assert sorted(path.name for path in run.iterdir()) == [
        "figure4.json",
        "manifest.json",
        "report.html",
        "table2.json",
    ]


def test_facts_for_machines_and_files_of_figures_and_tables(kinfolk, run, tmp_path):
    page, figures = tmp_path / "page.html", tmp_path / "figures"
    code, out, _ = kinfolk("report", run, "--out", page, "--figures", figures, "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["report"] == str(page) and page.exists() and not (run / "report.html").exists()
    assert facts["results"] == ["table2", "figure4"]
    assert facts["claims"] == {"holds": 1, "does not hold": 0, "undecided": 0}
    assert sorted([*facts["figures"], str(figures / "manifest.json")]) == sorted(map(str, figures.iterdir()))
    assert len(facts["figures"]) == 5


def test_its_own_page_is_replaced_and_no_other(kinfolk, run):
    page = run / "report.html"
    assert kinfolk("report", run)[0] == 0
    first = page.read_bytes()
    assert kinfolk("report", run)[0] == 0
    assert page.read_bytes() == first
    page.write_text(page.read_text() + "<p>a note by hand")
    code, out, err = kinfolk("report", run)
    assert (code, out) == (2, "")
    assert "exists already" in err and "--force" in err
    assert "by hand" in page.read_text()
    assert kinfolk("report", run, "--force")[0] == 0
    assert page.read_bytes() == first


def test_an_existing_figure_stops_it_before_a_page_is_written(kinfolk, run, tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "figure4.png").write_text("mine")
    code, _, err = kinfolk("report", run, "--figures", tmp_path / "figures")
    assert code == 2 and "figure4.png exists already" in err
    assert not (run / "report.html").exists()


def damaged(run):
    (run / "table2.json").write_text('{"format": 1, "name":')
    return run


def misfit(run):
    ExperimentResult(
        name="table2", title="", about="", tables=(Table(data="x", head=("a", "b"), rows=(("1",),)),)
    ).save(run)
    return run


def newer(run):
    (run / "table2.json").write_text('{"format": 2}')
    return run


def emptied(run):
    for file in run.iterdir():
        file.unlink()
    return run


def page_is_a_folder(run):
    (run / "report.html").mkdir()
    return run


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (damaged, "table2.json is damaged"),
        (misfit, "table2 is damaged: a row of the table of x has 1 cells, not 2"),
        (newer, "has format 2"),
        (emptied, "holds no results yet"),
        (lambda run: run / "nowhere", "does not exist"),
        (lambda run: run / "table2.json", "is a file"),
        (page_is_a_folder, "report.html is a folder, a file was expected"),
    ],
)
def test_a_mistake_gets_one_sentence(kinfolk, run, spoil, sentence):
    code, out, err = kinfolk("report", spoil(run))
    assert (code, out) == (2, "")
    assert sentence in err and len(err.strip().splitlines()) == 1


def test_a_page_is_html(kinfolk, run):
    code, _, err = kinfolk("report", run, "--out", run / "page.pdf")
    assert code == 2 and "written as .html" in err
