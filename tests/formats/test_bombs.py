"""Small files that promise more memory than there is: refused before anything is allocated."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.io import savemat

from kinfolk._core import memory
from kinfolk._core.errors import InputError
from kinfolk.formats import load, mat

ROWS, DIM = 2000, 1000  # 8 MB of float32, of which the files hold a few KB


@pytest.fixture
def four_megabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machine have 4 MiB of free memory."""
    (tmp_path / "meminfo").write_text("MemAvailable:    4096 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")


def write_npz(file: Path) -> None:
    np.savez_compressed(file, features=np.ones((ROWS, DIM), dtype=np.float32))


def write_mat(file: Path) -> None:
    sides = {f"{side}_f": np.ones((ROWS, DIM), dtype=np.float32) for side in ("query", "gallery")}
    rest = {f"{side}_{name}": np.ones(ROWS) for side in ("query", "gallery") for name in ("label", "cam")}
    savemat(file, {**sides, **rest}, do_compression=True)


def write_parquet(file: Path) -> None:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.ones(ROWS * DIM, dtype=np.float32)), DIM)
    pq.write_table(pa.table({"features": vectors}), file)


@pytest.mark.usefixtures("four_megabytes")
@pytest.mark.parametrize(("suffix", "write"), [(".npz", write_npz), (".mat", write_mat), (".parquet", write_parquet)])
def test_a_bomb_is_refused_before_it_is_allocated(suffix: str, write, tmp_path: Path) -> None:
    file = tmp_path / f"bomb{suffix}"
    write(file)
    assert file.stat().st_size < 200_000
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"bomb.* would take 0.0 GiB of memory"):
            load(file)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("suffix", "write"), [(".npz", write_npz), (".mat", write_mat), (".parquet", write_parquet)])
def test_a_bomb_that_fits_is_refused_too(suffix: str, write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "SMALL_ENOUGH", 1 << 20)
    write(tmp_path / f"bomb{suffix}")
    with pytest.raises(InputError, match=r"no real vectors are that much alike"):
        load(tmp_path / f"bomb{suffix}")


def test_a_mat_file_is_decompressed_no_further_than_it_promises() -> None:
    matrix = struct.pack("<IIIIII", 6, 8, 6, 0, 5, 8) + struct.pack("<ii", 1, 1) + struct.pack("<II", 1, 1)
    matrix += b"x".ljust(8, b"\0") + struct.pack("<IId", 9, 8, 2.5)
    packed = zlib.compress(struct.pack("<II", 14, len(matrix)) + matrix + bytes(50_000_000))
    content = bytes(124) + struct.pack("<H", 0x0100) + b"IM" + struct.pack("<II", 15, len(packed)) + packed
    tracemalloc.start()
    assert mat.read_variables(content, ["x"])["x"].item() == 2.5
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


def test_a_variable_nobody_wants_is_not_decompressed(tmp_path: Path) -> None:
    savemat(tmp_path / "a.mat", {"other": np.ones((ROWS, DIM))}, do_compression=True)
    content = (tmp_path / "a.mat").read_bytes()
    tracemalloc.start()
    assert mat.read_variables(content, ["x"]) == {}
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


@pytest.mark.usefixtures("four_megabytes")
def test_memory_mapped_features_have_no_limit(tmp_path: Path) -> None:
    (tmp_path / "set.kf").mkdir()
    np.save(tmp_path / "set.kf" / "features.npy", np.ones((ROWS, DIM), dtype=np.float32))
    np.ones((ROWS, DIM), dtype=np.float32).tofile(tmp_path / "set.bin")
    assert load(tmp_path / "set.kf").dim == load(tmp_path / "set.bin", dim=DIM).dim == DIM


@pytest.mark.usefixtures("four_megabytes")
def test_a_long_text_in_many_rows_of_a_parquet_file(tmp_path: Path) -> None:
    names = pa.array(["x" * 100_000] * 200).dictionary_encode()
    pq.write_table(
        pa.table({"f0": np.ones(200), "f1": np.ones(200), "name": names.cast(pa.string())}), tmp_path / "a.parquet"
    )
    assert (tmp_path / "a.parquet").stat().st_size < 150_000
    with pytest.raises(InputError, match=r"a\.parquet: its texts would take"):
        load(tmp_path / "a.parquet")


@pytest.mark.usefixtures("four_megabytes")
def test_one_long_name_among_many_short_ones(tmp_path: Path) -> None:
    lines = [f"{'x' * 50_000 if row == 5 else row},1,{row}" for row in range(100)]
    (tmp_path / "a.csv").write_text("\n".join(["name,f0,f1", *lines]))
    with pytest.raises(InputError, match=r"a\.csv: the names would take"):
        load(tmp_path / "a.csv")


@pytest.mark.usefixtures("four_megabytes")
def test_a_parquet_file_is_refused_by_its_rows_before_any_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(pq.ParquetFile, "scan_contents", None)
    with pytest.raises(InputError, match="the table would take"):
        load(tmp_path / "a.parquet")
