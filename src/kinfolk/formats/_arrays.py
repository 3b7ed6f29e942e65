"""npy files; the header is checked against the size of the file before memory is allocated or mapped."""

from __future__ import annotations

import math
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk._core.rows import BLOCK_BYTES
from kinfolk.formats._common import reading

HEADERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}


class Header(NamedTuple):
    """Header of an npy file."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    @property
    def order(self) -> Literal["C", "F"]:
        """Order of the values in memory."""
        return "F" if self.fortran else "C"

    @property
    def nbytes(self) -> int:
        """Size of the array in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_file(file: Path, field: str) -> NDArray[Any]:
    """Read the array of an npy file into memory."""
    with reading(existing_file(file), "an .npy file"):
        return _read(file, field)


def map_file(file: Path, field: str) -> NDArray[Any]:
    """Memory-map the array of an npy file, read-only."""
    with reading(existing_file(file), "an .npy file"):
        return _map(file, field)


def read_header(stream: IO[bytes], size: int, field: str) -> Header:
    """Read an npy header and check that the array it describes ends where the file of `size` bytes does."""
    version = npy_format.read_magic(stream)
    if version not in HEADERS:
        raise InputError(f"{field}: version {version[0]}.{version[1]} of the npy format is not known here")
    header = Header(*HEADERS[version](stream))
    if header.dtype.hasobject:
        raise InputError(f"{field} is an object array (a pickle), which is never loaded; save plain numbers or texts")
    if header.dtype.kind not in "biufU":
        raise InputError(f"{field} must be numbers, truth values or texts, not {header.dtype}")
    there = size - stream.tell()
    if min(header.shape, default=0) < 0 or header.nbytes != there:
        word = "truncated" if header.nbytes > there else "not as long as it should be"
        raise InputError(
            f"{field} is {word}: the header says shape {header.shape} of {header.dtype},"
            f" which is {header.nbytes:,} bytes, but {there:,} follow it"
        )
    return header


def read_array(stream: IO[bytes], size: int, field: str) -> NDArray[Any]:
    """Read an npy file of `size` bytes from a stream, block after block; one larger than the memory is refused."""
    header = read_header(stream, size, field)
    refuse_more_than_memory(header.nbytes, field)
    array = np.empty(header.shape, header.dtype, order=header.order)
    if header.nbytes:
        into = array.reshape(-1, order="A").view(np.uint8)
        at = 0
        while at < header.nbytes:
            block = stream.read(min(BLOCK_BYTES, header.nbytes - at))
            if not block:
                raise InputError(f"{field} is truncated: {header.nbytes:,} bytes were expected, {at:,} are there")
            into[at : at + len(block)] = np.frombuffer(block, dtype=np.uint8)
            at += len(block)
    if array.dtype.kind == "U":
        _check_code_points(array, field)
    return array


def _read(file: Path, field: str) -> NDArray[Any]:
    with file.open("rb") as stream:
        return read_array(stream, file.stat().st_size, field)


def _map(file: Path, field: str) -> NDArray[Any]:
    with file.open("rb") as stream:
        header = read_header(stream, file.stat().st_size, field)
        if not header.nbytes:
            return np.empty(header.shape, header.dtype)
        offset, order = stream.tell(), header.order
    return np.memmap(file, header.dtype, "r", offset=offset, shape=header.shape, order=order)


def _check_code_points(array: NDArray[Any], field: str) -> None:
    """Raise InputError for code points that are not characters: numpy itself fails only when the text is used."""
    codes = array.astype(array.dtype.newbyteorder("=")).reshape(-1).view(np.uint32)
    if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any():
        raise InputError(f"{field} holds numbers that are not characters; the file may be damaged")
