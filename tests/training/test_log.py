"""The training log: rows in memory, in the file and for TensorBoard."""

from __future__ import annotations

import csv
import importlib.util
import sys
from types import ModuleType

import pytest

from kinfolk._core.errors import InputError, MissingExtraError
from kinfolk.training import LogRow, TrainingLog


def row(step: int, score: float | None = None) -> LogRow:
    return LogRow(step=step, loss=1 / 3 / step if step else None, lr=0.1, score=score, seconds=step / 7)


def read(folder) -> list[tuple[str, int]]:
    with (folder / "training-log.csv").open(newline="") as stream:
        return [(line["stage"], int(line["step"])) for line in csv.DictReader(stream)]


def test_each_row_is_in_the_file_at_once_and_exactly(tmp_path):
    log = TrainingLog(tmp_path / "new")
    log.begin("a b", [])
    assert read(tmp_path / "new") == []
    for number in (0, 1, 2):
        log.add("a b", row(number, score=0.1 if number else None))
        assert read(tmp_path / "new") == [("a b", step) for step in range(number + 1)]
    with (tmp_path / "new" / "training-log.csv").open(newline="") as stream:
        first, *_, last = csv.DictReader(stream)
    assert (first["loss"], first["score"]) == ("", "")
    assert {name: float(value) for name, value in last.items() if name != "stage"} == row(2, 0.1)
    assert log.rows == [{"stage": "a b", **row(n, score=0.1 if n else None)} for n in (0, 1, 2)]


def test_taking_up_a_stage_drops_what_came_after(tmp_path):
    log = TrainingLog(tmp_path)
    for stage, steps in (("a", 3), ("ab", 5)):
        log.begin(stage, [])
        for step in range(1, steps + 1):
            log.add(stage, row(step))
    with (tmp_path / "training-log.csv").open("a") as stream:
        stream.write("ab,6,0.")  # killed while it wrote
    again = TrainingLog(tmp_path)
    again.begin("a", [row(1), row(2), row(3)])
    again.begin("ab", [row(1), row(2)])
    again.add("ab", row(3))
    expected = [("a", 1), ("a", 2), ("a", 3), ("ab", 1), ("ab", 2), ("ab", 3)]
    assert read(tmp_path) == expected
    assert [(r["stage"], r["step"]) for r in again.rows] == expected
    again.begin("a", [])
    assert [(r["stage"], r["step"]) for r in again.rows] == read(tmp_path) == expected[3:]


def test_without_a_folder_the_rows_stay_in_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = TrainingLog()
    log.begin("a", [row(1)])
    log.add("a", row(2))
    log.end()
    assert [r["step"] for r in log.rows] == [1, 2]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"name,age\nx,1\n", b"\xff\xfe"])
def test_a_file_that_is_no_log_is_not_touched(tmp_path, content):
    (tmp_path / "training-log.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"training-log\.csv"):
        TrainingLog(tmp_path).begin("a", [])
    assert (tmp_path / "training-log.csv").read_bytes() == content


def test_tensorboard_that_is_not_installed(tmp_path, monkeypatch):
    if importlib.util.find_spec("tensorboard"):
        monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingExtraError, match=r'package tensorboard: pip install "kinfolk\[tensorboard\]"'):
        TrainingLog(tmp_path, tensorboard=True)
    with pytest.raises(InputError, match="needs a folder"):
        TrainingLog(tensorboard=True)


def test_tensorboard_gets_each_number_once(tmp_path, monkeypatch):
    events: list[tuple] = []

    class SummaryWriter:
        def __init__(self, folder: str, purge_step: int) -> None:
            events.append(("open", folder, purge_step))

        def add_scalar(self, name: str, value: float, step: int) -> None:
            events.append((name, value, step))

        def close(self) -> None:
            events.append(("close",))

    stand_in = ModuleType("torch.utils.tensorboard")
    stand_in.SummaryWriter = SummaryWriter
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", stand_in)
    log = TrainingLog(tmp_path, tensorboard=True)
    log.begin("done", [row(1)])
    log.end()
    log.begin("a", [row(1), row(2)])
    log.add("a", row(3))
    log.add("a", row(4, score=0.5))
    log.end()
    log.end()
    folder = str(tmp_path / "tensorboard" / "a")
    assert events == [
        ("open", folder, 3),
        ("loss", 1 / 9, 3),
        ("lr", 0.1, 3),
        ("loss", 1 / 3 / 4, 4),
        ("lr", 0.1, 4),
        ("score", 0.5, 4),
        ("close",),
    ]
