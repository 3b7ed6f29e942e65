"""The zip file of several named npy arrays that numpy's savez writes, read without trusting it."""

from __future__ import annotations

import os
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk.formats._arrays import Header, read_array, read_header

SUFFIX = ".npy"
DEFLATE_AT_BEST = 1100  # deflate compresses at most 1,032 times: a member that claims more is damaged
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what numpy writes; others (lzma) may take any memory
ENCRYPTED = 1  # bit of a member's flags


class NpzArchive:
    """The arrays of an open archive, by name: `open_npz`."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive, self._size = archive, size
        self.fields = [name.removesuffix(SUFFIX) for name in archive.namelist()]
        twice = [name for name, count in Counter(self.fields).items() if count > 1]
        if twice:
            raise InputError(f"the field {twice[0]!r} is there twice; keep one of them")

    def read(self, wanted: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Return those of the wanted arrays that are there; others are not even decompressed."""
        there = set(self.fields)
        return {field: self._field(field) for field in wanted if field in there}

    def headers(self) -> dict[str, Header]:
        """Return the headers of the arrays; what cannot be read is left out, unless no matrix is left."""
        found: dict[str, Header] = {}
        problems: list[InputError] = []
        for field in self.fields:
            try:
                info = self._member(field)
                with self._archive.open(info) as stream:
                    found[field] = read_header(stream, info.file_size, field)
            except InputError as problem:  # such as an object array that nobody needs
                problems.append(problem)
        if problems and not any(len(header.shape) == 2 for header in found.values()):
            raise problems[0]
        return found

    def _field(self, field: str) -> NDArray[Any]:
        info = self._member(field)
        refuse_more_than_memory(info.file_size, field, packed=info.compress_size)
        with self._archive.open(info) as stream:  # gives no more bytes than the promised size
            return read_array(stream, info.file_size, field)

    def _member(self, field: str) -> zipfile.ZipInfo:
        try:
            info = self._archive.getinfo(field + SUFFIX)
        except KeyError:
            raise InputError(f"{field} is not an .npy array of this archive") from None
        if info.flag_bits & ENCRYPTED:
            raise InputError(f"{field} is encrypted; save the arrays without a password")
        if info.compress_type not in METHODS:
            raise InputError(f"{field} is compressed by method {info.compress_type}, which numpy does not write")
        if info.file_size > DEFLATE_AT_BEST * self._size:
            raise InputError(f"{field} claims {info.file_size:,} bytes, more than a file of {self._size:,} can hold")
        return info


@contextmanager
def open_npz(file: Path) -> Iterator[NpzArchive]:
    """Open an archive; use it inside `reading`, which turns what zipfile raises into one sentence."""
    with file.open("rb") as stream, zipfile.ZipFile(stream) as archive:
        yield NpzArchive(archive, os.fstat(stream.fileno()).st_size)
