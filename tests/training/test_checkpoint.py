"""Checkpoint files: everything comes back, and nothing but InputError comes of a damaged one."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import nn

from kinfolk._core.errors import InputError
from kinfolk._core.files import CHECKPOINTS, adding
from kinfolk.training import Checkpoints, LogRow, StageState
from kinfolk.training.checkpoint import optimizer_tensors, restore_optimizer

ROW = LogRow(step=1, loss=0.1 + 0.2, lr=3e-4, score=None, seconds=1 / 3)
STATE = StageState(
    step=2,
    history=[ROW, LogRow(step=2, loss=1e-30, lr=3e-4, score=float("-inf"), seconds=0.5)],
    best_step=2,
    best_score=float("-inf"),
    module={"a.weight": torch.tensor([[1.0, float("nan")]]), "count": torch.tensor(7), "none": torch.zeros(0, 3)},
    best={"a.weight": torch.tensor([[0.5, 2.0]], dtype=torch.bfloat16)},
    optimizer={"a.weight/step": torch.tensor(2.0), "a.weight/exp_avg": torch.rand(2, 3).T},
)


def same_bits(one: StageState, other: StageState) -> bool:
    facts = ("step", "history", "best_step", "best_score", "finished")
    if any(getattr(one, name) != getattr(other, name) for name in facts):
        return False
    for group in ("module", "best", "optimizer"):
        a, b = getattr(one, group), getattr(other, group)
        if a.keys() != b.keys():
            return False
        if any(a[n].dtype != b[n].dtype or not torch.equal(a[n].nan_to_num(9), b[n].nan_to_num(9)) for n in a):
            return False
    return True


def test_round_trip(tmp_path):
    checkpoints = Checkpoints(tmp_path / "new" / "folder", fingerprint="x")
    assert checkpoints.load("s") is None
    checkpoints.save("s", StageState(step=1))
    checkpoints.save("s", STATE)
    assert same_bits(Checkpoints(tmp_path / "new" / "folder", fingerprint="x").load("s"), STATE)
    assert checkpoints.load("other") is None


def test_tied_weights_are_saved_twice(tmp_path):
    shared = torch.rand(3)
    checkpoints = Checkpoints(tmp_path, fingerprint="x")
    checkpoints.save("s", StageState(module={"a": shared, "b": shared}, best={"a": shared}))
    loaded = checkpoints.load("s")
    assert torch.equal(loaded.module["a"], shared)
    assert torch.equal(loaded.module["b"], shared)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    Checkpoints(folder, fingerprint="x").save("s", STATE)
    file = folder / "s.safetensors"
    return folder, file, file.read_bytes()


def load_or_refuse(folder) -> StageState | None:
    """Return what is loaded, or None after an InputError that names the file or the folder."""
    try:
        return Checkpoints(folder, fingerprint="x").load("s")
    except InputError as error:
        assert str(folder) in str(error)
        return None


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_truncated_file_is_refused(saved, data):
    folder, file, whole = saved
    file.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    assert load_or_refuse(folder) is None


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_changed_byte_is_noticed_or_does_not_matter(saved, data):
    folder, file, whole = saved
    damaged = bytearray(whole)
    damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    file.write_bytes(damaged)
    loaded = load_or_refuse(folder)
    assert loaded is None or same_bits(loaded, STATE)


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"not a checkpoint", b"\xff" * 64])
def test_what_is_no_checkpoint_is_refused(tmp_path, content):
    (tmp_path / "s.safetensors").write_bytes(content)
    assert load_or_refuse(tmp_path) is None


@pytest.mark.parametrize("metadata", [None, {}, {"format": "pt"}, {"format": "kinfolk checkpoint 2", "state": "{}"}])
def test_other_safetensors_are_refused(tmp_path, metadata):
    save_file({"a": torch.ones(1)}, tmp_path / "s.safetensors", metadata=metadata)
    with pytest.raises(InputError, match=r"s\.safetensors is not a checkpoint"):
        Checkpoints(tmp_path, fingerprint="x")


def test_another_run(tmp_path):
    Checkpoints(tmp_path, fingerprint="x").save("s", STATE)
    leftover = tmp_path / ".s.safetensors.kinfolk" / "new-0123abcd.safetensors"
    leftover.parent.mkdir()
    leftover.touch()
    with pytest.raises(InputError, match=r"holds checkpoints of another run \(different data or settings\): choose"):
        Checkpoints(tmp_path, fingerprint="y")
    assert leftover.exists()


def test_old_temporary_files_go(tmp_path):
    Checkpoints(tmp_path, fingerprint="x").save("s", STATE)
    (tmp_path / ".s.safetensors.kinfolk").mkdir()
    (tmp_path / ".s.safetensors.kinfolk" / "new-0123abcd.safetensors").write_bytes(b"half")
    (tmp_path / "notes.txt").touch()
    with adding(tmp_path, CHECKPOINTS):
        assert same_bits(Checkpoints(tmp_path, fingerprint="x").load("s"), STATE)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["manifest.json", "notes.txt", "s.safetensors"]


def test_a_failed_write_keeps_the_checkpoint_before(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path, fingerprint="x")
    checkpoints.save("s", STATE)

    def full_disk(tensors, file, metadata):
        file.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("kinfolk.training.checkpoint.save_file", full_disk)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.save("s", StageState(step=9))
    assert same_bits(checkpoints.load("s"), STATE)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["manifest.json", "s.safetensors"]


def test_where_and_how_often(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file"):
        Checkpoints(tmp_path / "file", fingerprint="x")
    with pytest.raises(InputError, match="every must be a whole number from 1 on, not 0"):
        Checkpoints(tmp_path, every=0, fingerprint="x")


def two_groups(kind, **options):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    groups = [dict(params=net[1].parameters(), lr=0.1), dict(params=net[0].parameters(), lr=0.2)]
    return net, kind(groups, **options)


def step(net, optimizer):
    optimizer.zero_grad()
    net(torch.ones(2, 3)).square().sum().backward()
    optimizer.step()


@pytest.mark.parametrize(
    ("kind", "options", "keys"),
    [
        (torch.optim.AdamW, dict(amsgrad=True), {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"}),
        (torch.optim.SGD, dict(momentum=0.9), {"momentum_buffer"}),
        (torch.optim.SGD, {}, set()),
    ],
)
def test_an_optimizer_goes_on_as_if_nothing_had_happened(kind, options, keys):
    net, optimizer = two_groups(kind, **options)
    assert optimizer_tensors(optimizer, net) == {}
    step(net, optimizer)
    kept = {name: t.clone() for name, t in optimizer_tensors(optimizer, net).items()}
    assert kept.keys() == {f"{name}/{key}" for name, _ in net.named_parameters() for key in keys}
    state = {name: t.clone() for name, t in net.state_dict().items()}
    other_net, other = two_groups(kind, **options)
    step(other_net, other)
    step(other_net, other)
    other_net.load_state_dict(state)
    restore_optimizer(other, other_net, kept)
    step(net, optimizer)
    step(other_net, other)
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), other_net.parameters(), strict=True))
    assert [group["lr"] for group in other.param_groups] == [0.1, 0.2]


def test_an_optimizer_that_remembers_more_than_tensors():
    net, optimizer = two_groups(torch.optim.SGD, momentum=0.9)
    step(net, optimizer)
    optimizer.state[net[0].bias]["calls"] = 3
    with pytest.raises(InputError, match="SGD has the state calls=3"):
        optimizer_tensors(optimizer, net)


@pytest.mark.parametrize(
    "change",
    [
        dict(step=-1),
        dict(step=10**12),
        dict(step="x"),
        dict(finished=3),
        dict(history=[{}]),
        dict(history=7),
        dict(cmd=1),
    ],
    ids=str,
)
def test_facts_that_nobody_wrote_are_refused_though_the_checksum_is_right(tmp_path, change):
    checkpoints = Checkpoints(tmp_path, fingerprint="x")
    state = StageState(step=1)
    vars(state).update(change)
    checkpoints.save("s", state)
    with pytest.raises(InputError, match=r"s\.safetensors: its state: (step|finished|history|cmd)"):
        checkpoints.load("s")
