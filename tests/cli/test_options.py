import json
from pathlib import Path

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cli import options

FACTS = dict(rows=3, mean_score=0.5, written=Path("a.npz"))


def test_facts_for_a_person_are_aligned(capsys):
    options.print_facts(FACTS, as_json=False)
    assert capsys.readouterr().out.splitlines() == ["rows        3", "mean score  0.5", "written     a.npz"]


def test_facts_for_machines_are_one_object(capsys):
    options.print_facts(FACTS, as_json=True)
    assert json.loads(capsys.readouterr().out) == dict(rows=3, mean_score=0.5, written="a.npz")


def test_a_block_is_timed():
    with options.timed() as took:
        assert took == {}
    assert took["seconds"] >= 0


@pytest.mark.parametrize(("part", "rows"), [(None, 3), ("test", 2)])
def test_sets_are_read_with_part_labels_and_dim(tmp_path, part, rows):
    fs = kf.FeatureSet(np.eye(3), part_index=[0, 1, 1], part_names=("train", "test"))
    fs.save(tmp_path / "x.npz")
    (tmp_path / "y.txt").write_text("4\n5\n6\n")
    found = options.read(tmp_path / "x.npz", part, tmp_path / "y.txt", 3)
    assert len(found) == rows and found.labels[-1] == 6
    with pytest.raises(kf.InputError, match="not dim=4"):
        options.read(tmp_path / "x.npz", part, None, 4)


TABLE = "id,person,nr,f0,f1\n" + "".join(f"{100 + i},p{i % 2},{i},{i + 1},{5 - i}\n" for i in range(4))


def test_what_the_columns_were_taken_for_is_said(tmp_path, kinfolk):
    (tmp_path / "a.csv").write_text(TABLE.replace(",nr", ",camera"))
    code, out, err = kinfolk("convert", tmp_path / "a.csv", tmp_path / "a.npz", "--json")
    said = "2 features (f0, f1), names from id, labels from person, cameras from camera"
    assert code == 0
    assert json.loads(out)["columns"] == said
    assert err.strip().endswith(f"a.csv: {said}")
    assert kf.load(tmp_path / "a.npz").names.tolist() == ["100", "101", "102", "103"]


def test_columns_are_chosen_in_every_command(tmp_path, kinfolk):
    (tmp_path / "a.csv").write_text(TABLE)
    code, _, err = kinfolk("knn", tmp_path / "a.csv", "-o", tmp_path / "g.npz")
    assert code == 2 and "column 'nr' stands beside the numbered features f0 ... f1" in err
    chosen = ["--feature-columns", "f*", "--name-column", "nr", "--label-column", "id"]
    code, _, err = kinfolk("knn", tmp_path / "a.csv", "-o", tmp_path / "g.npz", "--k", 1, *chosen)
    assert code == 0 and "2 features (f0, f1), names from nr, labels from id; left out: person" in err


def test_names_belong_to_the_first_set_and_columns_to_every_table(tmp_path, kinfolk):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(4, 2)))
    (tmp_path / "names.txt").write_text("a\nb\nb\nc\n")
    (tmp_path / "b.csv").write_text(TABLE)
    more = ["--reference", tmp_path / "b.csv", "--names", tmp_path / "names.txt"]
    code, _, err = kinfolk(
        "enhance", tmp_path / "a.npy", "-o", tmp_path / "z.npz", "--k", 1, *more, "--feature-columns", "f*"
    )
    assert code == 2 and "a.npy is no table" in err
    np.save(tmp_path / "b.npy", np.eye(3, 2) + 0.1)
    more[1] = tmp_path / "b.npy"
    code, _, err = kinfolk("enhance", tmp_path / "a.npy", "-o", tmp_path / "z.npz", "--k", 1, *more)
    assert code == 0, err
    assert kf.load(tmp_path / "z.npz").names.tolist() == ["a", "b", "b", "c"]


def test_commands_that_read_no_features_have_no_such_options(kinfolk):
    assert "--feature-columns" in kinfolk("theory", "--help")[1]
    assert "--feature-columns" not in kinfolk("generate", "--help")[1]
