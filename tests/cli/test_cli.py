"""The command line as a user meets it: output, files, exit codes, one sentence for each mistake."""

import json
import os
import re
import shutil
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
        (["theory", "--plot", "t.xyz"], ".svg, .png or .pdf"),
        (["train", "x.npz", "-o", "m", "--curves", "c.zzz"], "c.zzz: a figure is written as .svg"),
        (["train", "x.npz", "-o", "m", "--curves", "m/c.svg"], "two outputs in one place"),
        (["train", "x.npz", "-o", "m", "--checkpoint-dir", "m"], "two outputs in one place"),
        (["train", "x.npz", "-o", "m", "--checkpoint-dir", "here.csv"], "here.csv is a file, a folder was expected"),
        (["train", "x.npz", "-o", "m", "--checkpoint-dir", "/proc/c"], "/proc/c cannot be written"),
        (
            ["cluster", "x.npz", "-m", "ada-nets", "--train-part", "a", "-o", "c.npy", "--save-model", "c.npy"],
            "in one place",
        ),
        (["enhance", "x.npz", "-o", "/proc/z.npz"], "/proc/z.npz cannot be written"),
        (["reproduce", "table5", "--data", "absent.npz", "-o", "/proc/run"], "/proc/run cannot be written"),
        (["demo", "-o", "here.csv"], "here.csv is a file, a folder was expected"),
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


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["theory", "--seed", "-1"], "--seed must be a whole number from 0 on, not -1"),
        (["generate", "digits", "d.npz", "--seed", "-1"], "--seed must be"),
        (["knn", "x.npz", "-o", "g.npz", "--seed", "-1"], "--seed must be"),
        (["evaluate", "x.npz", "--seed", str(10**30)], "--seed must not be larger than 2,147,483,647"),
        (["theory", "--gamma", "inf"], "--gamma must be a finite number, not inf"),
        (["theory", "--p", "1", "--q", "0"], "nothing is to be gained"),
        (["theory", "--alpha", "nan"], "--alpha must be a finite number"),
        (["knn", "x.npz", "-o", "g.npz", "--recall", "nan"], "--recall must be a finite number"),
        (["similarity", "x.npz", "-k", "0"], "--k must be a whole number from 1 on, not 0"),
        (["similarity", "x.npz", "-k", "60"], "--k 60 is too large: each row has 59 others"),
        (["similarity", "x.npz", "--threshold", "nan"], "--threshold must be a finite number"),
        (["similarity", "x.npz", "--explain", "0", "60"], "two rows from 0 to 59"),
        (["train", "x.npz", "-o", "m", "-k", str(10**9)], "k must be a number up to"),
        (["enhance", "x.npz", "-o", "z.npz", "-k", "60"], "--k 60 is too large: each row has 59 others"),
        (["train", "x.npz", "-o", "m", "--curves", "c.zzz"], "c.zzz: a figure is written as .svg, .png or .pdf"),
        (["train", "x.npz", "-o", "m", "--attention", "magic"], "magic"),
        (["cluster", "x.npz", "-o", "c.csv", "--method", "kmeans"], "give --n-clusters"),
        (["cluster", "x.npz", "-o", "c.csv", "-m", "gcut", "--set", "guard=inf"], "guard must be a finite number"),
        (["cluster", "x.npz", "-o", "c.csv", "-m", "dbscan", "--set", "eps=nan"], "eps must be a finite number"),
    ],
)
def test_numbers_and_names_are_refused_before_the_work(kinfolk, features, tmp_path, monkeypatch, arguments, sentence):
    test_a_mistake_gets_one_sentence_and_exit_code_2_and_leaves_no_file(
        kinfolk, features, tmp_path, monkeypatch, arguments, sentence
    )


def test_names_cannot_act_on_the_terminal_nor_be_markup(kinfolk, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = ("[red]train[/", "\x1b[31mtest")
    kf.FeatureSet(np.eye(6) + 0.1, part_index=[0, 0, 0, 0, 1, 1], part_names=parts).save("x\x1b[2J.npz")
    for arguments in (["cluster", "-o", "[bold]c.csv"], ["knn", "-k", 2, "-o", "[bold]g.npz"], ["convert", "[/]y.npz"]):
        code, out, err = kinfolk(arguments[0], "x\x1b[2J.npz", *arguments[1:])
        assert (code, err) == (0, "")
        assert "[red]train[/ 4" in out and r"\x1b[31mtest" in out
        assert "\x1b" not in out
    code, _, err = kinfolk("knn", "x\x1b[2J.npz", "--part", "\x1b[5m", "-o", "other.npz")
    assert code == 2 and "\x1b" not in err and r"\x1b[2J" in err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_the_letters_gets_them_spelled(tmp_path, encoding):
    kf.FeatureSet(np.eye(6) + 0.1, part_index=[0] * 6, part_names=("田",)).save(tmp_path / "x.npz")
    environment = dict(os.environ, PYTHONIOENCODING=encoding)
    for arguments in (["convert", "x.npz", "é田.npz"], ["cluster", "x.npz", "-o", "c.csv"], ["knn", "田", "-o", "g"]):
        done = subprocess.run(
            [sys.executable, "-m", "kinfolk", *arguments],
            cwd=tmp_path,
            capture_output=True,
            env=environment,
            check=False,
        )
        assert b"Traceback" not in done.stderr
        assert b"\\u7530" in done.stdout + done.stderr


def test_a_command_says_what_it_does_if_asked(kinfolk, features, tmp_path):
    code, out, err = kinfolk("knn", features, "-k", 5, "-o", tmp_path / "g.npz", "-v")
    assert code == 0 and "written" in out
    said = [line.split(": ", 1)[1] for line in err.splitlines()]
    assert said[0] == "kinfolk knn" and "reading" in said and "neighbours (exact)" in said
    _, _, err = kinfolk("knn", features, "-k", 5, "-o", tmp_path / "h.npz")
    assert err == ""


def test_too_little_memory_is_one_sentence(kinfolk, features, monkeypatch, tmp_path):
    from kinfolk.neighbors.exact import ExactSearch

    def too_much(*_):
        raise MemoryError("Unable to allocate 37.3 GiB")

    monkeypatch.setattr(ExactSearch, "candidates", too_much)
    code, _, err = kinfolk("knn", features, "-k", 5, "-o", tmp_path / "g.npz")
    assert (code, err) == (1, "kinfolk: not enough memory: Unable to allocate 37.3 GiB\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["knn", "x.npz", "--k", "5", "-o", "project"],
            "project is a folder with things in it that kinfolk did not write",
        ),
        (["knn", "x.npz", "--k", "5", "-o", "."], "current folder or one above it"),
        (["knn", "x.npz", "--k", "5", "-o", ".."], "current folder or one above it"),
        (["knn", "../x.npz", "--k", "5", "-o", "../work"], "current folder or one above it"),
        (["knn", "data.kf", "--k", "5", "-o", "graph"], "holds features, not graph"),
        (["knn", "data.kf", "--k", "5", "-o", "data.kf/graph"], "lies inside data.kf"),
        (["train", "x.npz", "-o", "project"], "config.json"),
        (
            ["convert", "x.npz", "data.kf"],
            "data.kf is a folder with things in it that kinfolk did not write (notes.txt)",
        ),
        (["convert", "data.kf", "data.kf"], "data.kf"),
        (["demo", "-o", "web"], "manifest.json that is not kinfolk's"),
        (["train", "x.npz", "-o", "model", "--checkpoint-dir", "web"], "manifest.json that is not kinfolk's"),
        (["reproduce", "table5", "-o", "graph"], "holds features, not"),
    ],
)
def test_force_takes_nothing_that_is_not_kinfolks(kinfolk, features, tmp_path, monkeypatch, arguments, sentence):
    work = tmp_path / "work"
    work.mkdir()
    features.rename(work / "x.npz")
    shutil.copy(work / "x.npz", tmp_path / "x.npz")
    monkeypatch.chdir(work)
    for folder, file in (("project", "config.json"), ("project", "main.py"), ("web", "manifest.json")):
        Path(folder).mkdir(exist_ok=True)
        Path(folder, file).write_text("mine")
    for folder in ("data.kf", "graph.kf"):
        kf.load("x.npz").save(folder)
    Path("graph.kf").rename("graph")
    Path("data.kf", "notes.txt").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    has_force = arguments[0] != "reproduce"
    code, out, err = kinfolk(*arguments, *(["--force"] if has_force else []))
    assert (code, out) == (2, "")
    assert sentence in err and len(err.splitlines()) == 1
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("closed", [[1], [2], [1, 2], [0, 1, 2]])
def test_closed_streams_do_not_become_files_of_the_command(tmp_path, closed):
    kf.FeatureSet(np.eye(4)).save(tmp_path / "x.npz")
    run = "import os, sys; [os.close(int(n)) for n in sys.argv[1].split()]; os.execv(sys.executable, sys.argv[2:])"
    call = [sys.executable, "-m", "kinfolk", "convert", tmp_path / "x.npz", tmp_path / "y.csv"]
    subprocess.run([sys.executable, "-c", run, " ".join(map(str, closed)), *call], check=True, capture_output=True)
    assert kf.load(tmp_path / "y.csv").features.tolist() == np.eye(4).tolist()
