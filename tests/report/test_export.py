"""Figures and tables of a run as files."""

import pytest

from kinfolk._core.errors import InputError
from kinfolk.experiments.results import Chart, ExperimentResult, Line, Lines, Table
from kinfolk.report.export import export_run, latex, latex_table, markdown_table
from synthetic_run import synthetic_run

PANEL = Lines(title="t", xlabel="k", ylabel="mAP", lines=(Line(label="a", x=(1.0, 2.0), y=(1.0, 2.0)),))
STARTS = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF", ".md": b"## ", ".tex": b"% "}


def a_result(*tables, charts=()):
    drawn = [Chart(name=name, title="", text="", panels=(PANEL,)) for name in charts]
    return ExperimentResult(name="table2", title="Table 2: mAP", about="", tables=tables, charts=drawn)


def a_table(data="digits"):
    return Table(data=data, head=("", "mAP"), rows=(("raw", "**66.0**"),))


def test_every_part_has_its_files_and_others_are_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    files = export_run([a_result(a_table(), charts=["figure4"])], tmp_path)
    assert [file.name for file in files] == [
        "table2-digits.md",
        "table2-digits.tex",
        "figure4.svg",
        "figure4.png",
        "figure4.pdf",
    ]
    assert all(file.read_bytes().startswith(STARTS[file.suffix]) for file in files)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [*(file.name for file in files), "mine.txt", "manifest.json"]
    )


def test_nothing_is_replaced_unless_told_and_then_nothing_is_written(tmp_path):
    (tmp_path / "figure4.pdf").write_text("mine")
    with pytest.raises(InputError, match=r"figure4\.pdf exists already"):
        export_run([a_result(a_table(), charts=["figure4"])], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["figure4.pdf"]
    export_run([a_result(charts=["figure4"])], tmp_path, force=True)
    assert (tmp_path / "figure4.pdf").read_bytes().startswith(b"%PDF")


def test_what_an_earlier_call_made_is_replaced_unless_a_user_changed_it(tmp_path):
    export_run([a_result(a_table())], tmp_path)
    before = (tmp_path / "table2-digits.md").stat().st_ino
    export_run([a_result(a_table())], tmp_path)
    assert (tmp_path / "table2-digits.md").stat().st_ino != before
    (tmp_path / "table2-digits.md").write_text("with notes")
    with pytest.raises(InputError, match=r"table2-digits.md exists already"):
        export_run([a_result(a_table())], tmp_path)
    assert (tmp_path / "table2-digits.md").read_text() == "with notes"
    export_run([a_result(a_table())], tmp_path, force=True)
    assert (tmp_path / "table2-digits.md").read_text() != "with notes"


def test_names_stay_in_the_folder_and_differ(tmp_path):
    folder = tmp_path / "figures"
    tables = [a_table("../../a"), a_table("A"), a_table("a")]
    files = export_run([a_result(*tables, charts=["../up"])], folder)
    assert {file.parent for file in files} == {folder}
    assert [file.name for file in files if file.suffix == ".md"] == ["table2-a.md", "table2-A-2.md", "table2-a-3.md"]
    assert [path.name for path in tmp_path.iterdir()] == ["figures"]


def test_latex_has_rules_the_best_in_bold_and_says_where_it_is_from():
    table = synthetic_run()[0].tables[0]
    lines = latex_table(table, "Table 3").splitlines()
    assert lines[0].startswith("% Table 3; data: celeb_like (generated); 172 cells: 164 by commit 858b544")
    assert lines.count(r"\midrule") == 3
    assert lines.index(r"K-Means & " + next(line for line in lines if line.startswith("K-Means"))[10:]) == 6
    assert any(line.startswith(r"band (kinfolk) + Kin & \textbf{") for line in lines)
    assert r"MS-Celeb part 1 F\_P, the paper" in lines[4]
    assert all(line.count("&") == 5 and line.endswith(r" \\") for line in lines if " & " in line)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_b & 50% #1", r"a\_b \& 50\% \#1"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("$x^2$ ~", r"\$x\textasciicircum{}2\$ \textasciitilde{}"),
        ("81.0 ± 1.0", r"81.0 $\pm$ 1.0"),
        ("–", "--"),
        ("−1 → 2", r"$-$1 $\rightarrow$ 2"),
    ],
)
def test_latex_prints_what_was_written(text, expected):
    assert latex(text) == expected


def test_a_name_cannot_leave_the_comment_of_its_table():
    table = a_table("evil\n\\input{x}")
    assert latex_table(table, "T").splitlines()[1].startswith("% needs")


def test_a_bar_in_a_cell_is_no_column():
    table = Table(data="x", head=("", "P(a|b)"), rows=(("a", "**1**"),), made="1 cells.")
    assert markdown_table(table, "T").splitlines()[4] == "|  | P(a\\|b) |"
    assert markdown_table(table, "T").endswith("| a | **1** |\n\n1 cells.\n")


def test_html_in_the_name_of_a_set_is_text(tmp_path):
    table = Table(data="<img src=x>", head=("", "mAP"), rows=(("<b>raw</b>", "1"),), made="by <i>me</i>")
    files = export_run([ExperimentResult(name="table2", title="<h1>T</h1>", about="", tables=(table,))], tmp_path)
    text = next(file for file in files if file.suffix == ".md").read_text()
    assert "<" not in text and "&lt;img src=x>" in text


def test_sets_with_long_names_have_files_of_their_own(tmp_path):
    tables = tuple(Table(data="é" + "x" * 250 + end, head=("",), rows=(("raw",),)) for end in "ab")
    files = export_run([ExperimentResult(name="table2", title="", about="", tables=tables)], tmp_path)
    assert len(set(files)) == 4 and all(file.is_file() and len(file.name) < 120 for file in files)
