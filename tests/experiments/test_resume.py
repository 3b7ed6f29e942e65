"""Cells in a file: measured once, and a killed run goes on after the last whole line."""

import json
from dataclasses import asdict, dataclass

import numpy as np
import pytest

import kinfolk as kf
from kinfolk._core.errors import InputError
from kinfolk.experiments.feature_methods import ORIGINAL
from kinfolk.experiments.feature_quality import Quality
from kinfolk.experiments.resume import (
    LARGEST_KIN_K,
    CellStore,
    Data,
    finished_cells,
    hashed,
    made_by,
    resume,
    versions,
)
from kinfolk.experiments.task_cells import TaskCell


@dataclass(frozen=True)
class Number:
    """A cell whose value is its seed, doubled."""

    seed: int
    data: str = "toy"

    def key(self, data):
        return f"{self.data} {self.seed}"


@dataclass(frozen=True)
class Doubled:
    key: str
    value: int
    commit: str = "abc"


def doubled(cells, path, lines=None):
    def progress_line(cell, row, new):
        return "new" if new else "before"

    def measure(cell, data, key):
        return Doubled(key, 2 * cell.seed)

    echo = [].append if lines is None else lines.append
    return resume(cells, lambda name, seed: None, CellStore(path, Doubled), measure, progress_line, echo)


def test_a_second_run_measures_nothing(tmp_path):
    cells, lines = [Number(3), Number(5)], []
    first = doubled(cells, tmp_path / "r.jsonl")
    assert doubled(cells, tmp_path / "r.jsonl", lines) == first == [Doubled("toy 3", 6), Doubled("toy 5", 10)]
    assert lines == ["1/2  before", "2/2  before"]


def test_a_killed_run_goes_on_after_the_last_whole_line(tmp_path):
    cells = [Number(seed) for seed in (4, 6, 8)]
    whole = doubled(cells, tmp_path / "whole.jsonl")
    text = (tmp_path / "whole.jsonl").read_text()
    (tmp_path / "cut.jsonl").write_text(text[: text.index("\n") + 11])
    assert len(CellStore(tmp_path / "cut.jsonl", Doubled)) == 1
    lines = []
    assert doubled(cells, tmp_path / "cut.jsonl", lines) == whole
    assert lines == ["1/3  before", "2/3  new", "3/3  new"]
    assert (tmp_path / "cut.jsonl").read_text() == text


def test_a_damaged_line_in_the_middle_is_named(tmp_path):
    (tmp_path / "r.jsonl").write_text('{"half":\n' + json.dumps(asdict(Doubled("a", 1))) + "\n")
    with pytest.raises(InputError, match="line 1 is not a finished cell"):
        CellStore(tmp_path / "r.jsonl", Doubled)


@pytest.mark.parametrize("line", [b"[" * 100_000, b'{"key": [], "value": 1}', b"\xff", b"3"])
def test_any_other_damage_is_one_sentence(tmp_path, line):
    (tmp_path / "r.jsonl").write_bytes(line + b"\n" + json.dumps(asdict(Doubled("a", 1))).encode() + b"\n")
    with pytest.raises(InputError, match=r"r\.jsonl"):
        CellStore(tmp_path / "r.jsonl", Doubled)


def test_finished_cells_leaves_out_what_is_missing(tmp_path):
    doubled([Number(1), Number(2)], tmp_path / "r.jsonl")
    store = CellStore(tmp_path / "r.jsonl", Doubled)
    assert [cell.seed for cell, _ in finished_cells([Number(2), Number(9)], lambda name, seed: None, store)] == [2]


def test_a_mixture_of_commits_is_seen():
    rows = [Doubled("a", 1, "one"), Doubled("b", 1, "two"), Doubled("c", 1, "two")]
    assert made_by(rows) == "3 cells: 2 by commit two, 1 by commit one."


def test_a_hash_follows_the_facts_and_not_their_order():
    assert hashed(dict(a=1, b=[2])) == hashed(dict(b=[2], a=1)) != hashed(dict(a=1, b=[3]))


def test_one_changed_label_is_other_data(tiny):
    labels = tiny.test.labels.copy()
    labels[0] += 1
    changed = Data(tiny.train, kf.FeatureSet(tiny.test.features, labels=labels))
    assert changed.fingerprint != tiny.fingerprint


def test_kin_k_is_what_the_enhancer_chooses_for_the_training_part(tiny):
    assert tiny.kin_k == min(LARGEST_KIN_K, kf.GraphEnhancer(show_progress=False).fit(tiny.train).k_)


def test_sets_without_parts_are_read_where_nothing_is_learned(tmp_path):
    kf.FeatureSet(np.eye(4), labels=[0, 0, 1, 1]).save(tmp_path / "whole.npz")
    assert len(Data.read(tmp_path / "whole.npz", learns=False).test) == 4
    with pytest.raises(InputError):
        Data.read(tmp_path / "whole.npz")


def test_ms_celeb_folders_have_their_own_scales(tmp_path):
    rng = np.random.default_rng(0)
    for part, n in (("part0_train", 20), ("part1_test", 20), ("part3_test", 60)):
        for folder in ("features", "labels"):
            (tmp_path / folder).mkdir(exist_ok=True)
        rng.normal(size=(n, 256)).astype(np.float32).tofile(tmp_path / "features" / f"{part}.bin")
        (tmp_path / "labels" / f"{part}.meta").write_text("\n".join(str(i // 4) for i in range(n)))
    data = Data.read(tmp_path)
    assert (len(data.train), len(data.test)) == (20, 20)
    assert data.grown(1) is data.test and len(data.grown(3)) == 60
    cell = TaskCell("celeb", ORIGINAL, Quality(5, 3))
    key = cell.key(data)
    (tmp_path / "labels" / "part3_test.meta").write_text("\n".join(str(i // 5) for i in range(60)))
    assert cell.key(Data.read(tmp_path)) != key


def test_a_package_that_is_missing_has_no_version(monkeypatch):
    monkeypatch.setattr("kinfolk.experiments.resume.PACKAGES", ("numpy", "no-such-package"))
    versions.cache_clear()
    assert list(versions()) == ["numpy"]
    versions.cache_clear()
