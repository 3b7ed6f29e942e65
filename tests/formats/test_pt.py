"""torch.save: tensors as people save them; nothing is unpickled but tensors and plain values."""

from __future__ import annotations

import collections
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from kinfolk._core import memory
from kinfolk._core.errors import InputError, MissingExtraError
from kinfolk.formats import load

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))


def loaded(content: object, tmp_path: Path, **options: object):
    torch.save(content, tmp_path / "a.pt")
    return load(tmp_path / "a.pt", **options)


@pytest.mark.parametrize(
    "content",
    [
        X,
        torch.nn.Parameter(X),
        list(X),
        [X[:1], X[1:]],
        {"image_features": X},
        {"embeddings": list(X), "epoch": 3},
        collections.OrderedDict(features=X),
    ],
    ids=["tensor", "parameter", "vectors", "batches", "open_clip", "dict of a list", "ordered"],
)
def test_every_usual_form(content: object, tmp_path: Path) -> None:
    np.testing.assert_array_equal(loaded(content, tmp_path).features, X.numpy())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int8])
def test_other_types_become_float32(dtype: torch.dtype, tmp_path: Path) -> None:
    made = (10 * X).to(dtype)
    np.testing.assert_array_equal(loaded(made, tmp_path).features, made.float().numpy())


def test_columns_of_a_dict(tmp_path: Path) -> None:
    content = {"features": X, "labels": torch.tensor([1, 1, 2, 2]), "paths": 1, "names": ["a", "b", "c", "d"]}
    fs = loaded(content, tmp_path)
    assert fs.labels is not None and fs.names is not None
    assert (fs.labels.tolist(), fs.names.tolist()) == ([1, 1, 2, 2], ["a", "b", "c", "d"])


def test_vectors_by_name(tmp_path: Path) -> None:
    fs = loaded({"b.jpg": X[0], "a.jpg": X[1]}, tmp_path)
    assert fs.names is not None
    assert fs.names.tolist() == ["b.jpg", "a.jpg"]
    np.testing.assert_array_equal(fs.features, X[:2].numpy())


class Evil:
    def __reduce__(self):
        return (Path.write_text, (Path("owned"), "x"))


@pytest.mark.parametrize("content", [Evil(), {"features": X, "more": Evil()}, torch.nn.Linear(2, 2), np.eye(2)])
def test_objects_are_never_loaded(content: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"a\.pt: it holds objects, which could run code and are never loaded"):
        loaded(content, tmp_path)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (3, "a tensor, a list of tensors or a dict of them was expected, not int"),
        ([X[0], X[1][:2]], "vectors of one length"),
        ({1: X}, "keys of its dict must be texts"),
        ({"labels": torch.arange(3)}, "no matrix of numbers"),
        (X.to_sparse(), "must be a plain tensor"),
        (X.to(torch.complex64), "must be a plain tensor"),
    ],
)
def test_what_cannot_be_features(content: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        loaded(content, tmp_path)


def test_old_files_and_old_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.save(X, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(InputError, match="save it again with a newer torch"):
        load(tmp_path / "old.pt")
    torch.save(X, tmp_path / "a.pt")
    monkeypatch.setattr(torch, "__version__", "2.5.1+cpu")
    with pytest.raises(InputError, match=r"2\.6 or newer is needed"):
        load(tmp_path / "a.pt")


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.save(torch.ones(1, 1).expand(1 << 12, 1 << 12), tmp_path / "repeated.pt")
    torch.save(X, tmp_path / "a.pt")
    with (
        zipfile.ZipFile(tmp_path / "a.pt") as old,
        zipfile.ZipFile(tmp_path / "z.pt", "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    (tmp_path / "meminfo").write_text("MemAvailable:    4096 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    with pytest.raises(InputError, match="would take"):
        load(tmp_path / "repeated.pt")
    with pytest.raises(InputError, match="its members are compressed"):
        load(tmp_path / "z.pt")


def test_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.save(X, tmp_path / "a.pt")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"optional package torch: pip install \"kinfolk\[train\]\""):
        load(tmp_path / "a.pt")
