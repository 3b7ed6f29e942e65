"""The command line as a user meets it: output, files, exit codes, one sentence for each mistake."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cli import app, demo

COMMANDS = (
    "demo generate knn similarity train enhance cluster rerank evaluate reproduce theory report convert doctor".split()
)


@pytest.fixture
def features(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "x.npz"
    labels = np.repeat(np.arange(10), 6)
    X = np.eye(10)[labels] + 0.2 * rng.standard_normal((60, 10))
    kf.FeatureSet(X, labels=labels, part_index=labels % 2, part_names=("train", "test")).save(path)
    return path


def test_every_command_has_help_with_an_example(kinfolk):
    assert sorted(COMMANDS) == sorted(c.name for c in app.registered_commands)
    for command in COMMANDS:
        code, out, _ = kinfolk(command, "--help")
        assert code == 0
        assert "Example:" in out
        assert "--json" in out


def test_the_installed_program_starts_and_says_its_version():
    program = Path(sys.executable).with_name("kinfolk")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"kinfolk {kf.__version__}\n"


def test_knn_writes_a_graph_and_says_what_it_measured(kinfolk, features, tmp_path):
    code, out, _ = kinfolk("knn", features, "--part", "test", "--k", 5, "-o", tmp_path / "g.npz", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["recall"] == 1.0
    g = kf.NeighborGraph.load(tmp_path / "g.npz")
    assert g.indices.shape == (30, 5)
    assert facts["edge_noise_rate"] == pytest.approx(
        kf.metrics.edge_noise_rate(g, kf.load(features).part("test").labels), abs=1e-4
    )
    code, out, _ = kinfolk("knn", features, "--k", 5, "-o", tmp_path / "h.npz")
    assert "edge noise rate" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["knn", "absent.npz", "-o", "g.npz"], "absent.npz does not exist"),
        (["enhance", "x.npz", "-o", "z.docx"], "docx"),
        (["enhance", "x.npz", "-m", "absent", "-o", "z.npz"], "absent does not exist: a model folder was expected"),
        (["cluster", "x.npz", "-m", "magic", "-o", "c.csv"], "method must be one of"),
        (["knn", "x.npz", "--k", "60", "-o", "g.npz"], "k must be a whole number from 1 to 59 for 60 rows, not 60"),
        (["knn", "x.npz", "--part", "dev", "-o", "g.npz"], "unknown part 'dev'"),
        (["knn", "x.npz", "--method", "magic", "-o", "g.npz"], "method must be one of"),
        (["convert", "x.npz", "x.npz"], "would replace x.npz, which is read here"),
        (["cluster", "x.npz", "-o", "here.csv"], "exists already"),
        (["convert", "x.npz", "x.docx"], "docx"),
        (["knn", "x.npz", "--k", "5", "-o", "g.csv"], "a graph is written as .npz"),
        (["theory", "--plot", "t.xyz"], ".png, .svg or .pdf"),
        (["similarity", "x.npz", "--threshold", "high"], "a number, auto or theory"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_code_2_and_leaves_no_file(
    kinfolk, features, tmp_path, monkeypatch, arguments, sentence
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.csv").write_text("mine")
    before = sorted(p.name for p in tmp_path.rglob("*"))
    code, out, err = kinfolk(*arguments)
    assert code == 2
    assert out == ""
    assert sentence in err
    assert len(err.strip().splitlines()) == 1
    assert sorted(p.name for p in tmp_path.rglob("*")) == before


SAYS_WHAT_IS_LOADED = """
import sys
from kinfolk.cli import main
for words in (["enhance"], ["enhance", "-m", "model"], ["train"], ["cluster"]):
    sys.argv = ["kinfolk", words[0], "absent.npz", *words[1:], "-o", "out.csv"]
    try:
        main()
    except SystemExit as stop:
        print(stop.code, sorted({"torch", "numba", "faiss", "sklearn"} & sys.modules.keys()))
"""


def test_a_wrong_file_is_named_before_the_large_libraries_are_loaded(tmp_path):
    (tmp_path / "model").mkdir()
    command = [sys.executable, "-c", SAYS_WHAT_IS_LOADED]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["2 []"] * 4
    assert done.stderr.count("absent.npz does not exist") == 4


def test_ctrl_c_says_what_to_do(kinfolk, features, tmp_path, monkeypatch):
    from kinfolk.neighbors.exact import ExactSearch

    monkeypatch.setattr(ExactSearch, "candidates", lambda *_: signal.raise_signal(signal.SIGINT))
    code, out, err = kinfolk("knn", features, "--k", 5, "-o", tmp_path / "g.npz")
    assert (code, out) == (130, "")
    assert "run again" in err
    assert not (tmp_path / "g.npz").exists()


def test_a_place_that_cannot_be_written_is_named(kinfolk, features):
    code, _, err = kinfolk("theory", "--plot", "/proc/tests.png")
    assert code == 2
    assert "/proc" in err
    assert len(err.strip().splitlines()) == 1


def test_demo_runs_and_writes_a_report_with_the_numbers_it_prints(kinfolk, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "IDENTITIES", 60)
    monkeypatch.setattr(demo, "IDENTITIES_TO_ENHANCE", 12)
    code, out, _ = kinfolk("demo", "--json")
    facts = json.loads(out)
    assert code == 0
    page = Path(facts["report"]).read_text()
    assert [r["data"] for r in facts["results"]] == ["digits", "celeb_like"]
    for result in facts["results"]:
        for row in result["rows"]:
            assert f"{row['auc_m']:.2f}" in page
    assert "Generated data" in page
    assert re.search(r"""(src|href)=["']http|@import|url\(http""", page) is None  # nothing is loaded from elsewhere
    code, out, _ = kinfolk("demo", "--out", "kinfolk-demo")
    assert code == 2
