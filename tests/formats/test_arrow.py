"""Arrow's IPC format: files, streams, compressed or not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest

from kinfolk._core import memory
from kinfolk._core.errors import InputError
from kinfolk.formats import load

X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


def table(**columns: object) -> pa.Table:
    return pa.table(
        {"embedding": X.tolist(), "label": [1, 1, 0, 0], "file": list("abcd"), "text": ["t"] * 4, **columns}
    )


def write_file(made: pa.Table, file: Path, compression: str | None = None) -> Path:
    with pa.ipc.new_file(file, made.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(made, max_chunksize=3)
    return file


def write_stream(made: pa.Table, file: Path, compression: str | None = None) -> Path:
    with pa.ipc.new_stream(file, made.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(made, max_chunksize=3)
    return file


@pytest.mark.parametrize("write", [write_file, write_stream])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.list_(pa.float32(), 3), pa.large_list(pa.float16())])
def test_files_and_streams(write, compression, kind, tmp_path: Path) -> None:
    vectors = pa.array(X.astype(np.float16 if kind.value_type == pa.float16() else np.float32).tolist(), kind)
    fs = load(write(table(embedding=vectors), tmp_path / "a.arrow", compression))
    np.testing.assert_allclose(fs.features, X, atol=2e-3)
    assert fs.labels is not None and fs.names is not None
    assert (fs.labels.tolist(), fs.names.tolist()) == ([1, 1, 0, 0], ["a", "b", "c", "d"])


def test_feather(tmp_path: Path) -> None:
    pyarrow.feather.write_feather(table(), tmp_path / "a.feather")
    np.testing.assert_array_equal(load(tmp_path / "a.feather").features, X)


def test_many_columns_of_numbers(tmp_path: Path) -> None:
    made = pa.table({"id": list("abcd"), **{f"x{i}": X[:, i] for i in range(3)}})
    np.testing.assert_array_equal(load(write_stream(made, tmp_path / "a.arrow")).features, X)


def test_names_of_a_class_label(tmp_path: Path) -> None:
    facts = {"info": {"features": {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}}}
    made = table().replace_schema_metadata({"huggingface": json.dumps(facts)})
    assert load(write_stream(made, tmp_path / "a.arrow")).label_names == ("cat", "dog")


@pytest.mark.parametrize("write", [write_file, write_stream])
@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_a_bomb(write, compression, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = pa.table({"embedding": pa.FixedSizeListArray.from_arrays(pa.array(np.ones(1 << 21, np.float32)), 1 << 10)})
    write(bomb, tmp_path / "a.arrow", compression)
    assert (tmp_path / "a.arrow").stat().st_size < 400_000
    (tmp_path / "meminfo").write_text("MemAvailable:    4096 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(pa.ipc, "open_stream", None)
    monkeypatch.setattr(pa.ipc, "open_file", None)  # it is refused before anything is decoded
    with pytest.raises(InputError, match=r"a\.arrow: the table would take"):
        load(tmp_path / "a.arrow")


@pytest.mark.parametrize("content", [b"FEA1 and more", b"ARROW1\0\0", b"no arrow file", b"\xff" * 40])
def test_what_is_no_arrow_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.arrow").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.arrow"):
        load(tmp_path / "a.arrow")


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_what_polars_writes(compression: str, tmp_path: Path) -> None:
    made = pl.DataFrame({"embedding": X.tolist(), "label": ["b", "b", "a", "a"], "file": list("abcd")})
    made.write_ipc(tmp_path / "a.arrow", compression=compression)
    fs = load(tmp_path / "a.arrow")
    np.testing.assert_array_equal(fs.features, X)
    assert fs.label_names == ("a", "b")


def test_a_file_without_its_end(tmp_path: Path) -> None:
    whole = write_file(table(), tmp_path / "a.arrow").read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "a.arrow").write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"a\.arrow"):
            load(tmp_path / "a.arrow")
