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
