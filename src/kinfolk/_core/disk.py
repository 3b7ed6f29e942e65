"""The disk: space reserved before it is written to, a full disk recognised, contents flushed, two folders exchanged."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kinfolk._core.errors import DiskFullError, InputError, KinfolkError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# what the libraries say where they hide the number of the error; the first is numpy's "8192 requested and 512 written"
FULL_TEXTS = ("requested and", "No space left on device", "Disk quota exceeded", "File too large")
ZEROS = 1 << 20  # bytes written at a time where the system cannot reserve
HERE, EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn what goes wrong while `target` is written into one sentence: DiskFullError, or InputError without a right.

    >>> with writing(Path("out.npz")):
    ...     raise OSError("8192 requested and 512 written")
    Traceback (most recent call last):
    kinfolk.DiskFullError: out.npz cannot be written: the disk is full
    """
    try:
        yield
    except DiskFullError:
        raise
    except Exception as error:
        if is_full(error):
            raise DiskFullError(f"{target} cannot be written: the disk is full") from error
        if isinstance(error, OSError) and not isinstance(error, KinfolkError) and error.errno is not None:
            raise InputError(f"{target} cannot be written: {error.strerror or error}") from error
        raise


def is_full(error: BaseException | None) -> bool:
    """Return whether an error, or one that led to it, comes from a full disk.

    >>> is_full(OSError(errno.ENOSPC, "No space left on device")), is_full(ValueError("7"))
    (True, False)
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno in FULL:
            return True
        if any(text in str(error) for text in FULL_TEXTS):
            return True
        error = error.__cause__ or error.__context__
    return False


def reserve(file: Path, size: int) -> None:
    """Make a new file of `size` bytes whose space is really there: a memory map of it cannot meet a full disk.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "rows.npy"
    >>> reserve(file, 4096)
    >>> file.stat().st_size
    4096
    """
    with writing(file), file.open("xb") as stream:
        refuse_full_disk(file.parent, size)
        if not _allocated(stream.fileno(), size):
            for start in range(0, size, ZEROS):
                stream.write(bytes(min(ZEROS, size - start)))


def refuse_full_disk(folder: Path, size: int) -> None:
    """Raise DiskFullError when there are not `size` bytes free where a folder is, before any work.

    >>> refuse_full_disk(Path("."), 10**18)
    Traceback (most recent call last):
    kinfolk.DiskFullError: the disk is full: ... GB are free in ., 1000000000.0 GB are needed
    """
    free = shutil.disk_usage(folder).free
    if size > free:
        needed = f"{size / 1e9:.1f} GB are needed"
        raise DiskFullError(f"the disk is full: {free / 1e9:.1f} GB are free in {folder}, {needed}")


def _allocated(stream: int, size: int) -> bool:
    if not hasattr(os, "posix_fallocate") or size == 0:
        return size == 0
    try:
        os.posix_fallocate(stream, 0, size)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS):  # a file system that cannot
            return False
        raise
    return True


def flush_to_disk(path: Path) -> None:
    """Wait until a file, or everything in a folder, is on disk: after a power cut a name could have no contents.

    >>> import tempfile
    >>> flush_to_disk(Path(tempfile.mkdtemp()))
    """
    if path.is_dir():
        for entry in path.iterdir():
            if not entry.is_symlink():
                flush_to_disk(entry)
    flush_names(path)


def flush_names(folder: Path) -> None:
    """Wait until the names in a folder are on disk, or the contents of a file.

    >>> flush_names(Path("."))
    """
    stream = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(stream)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that has no such call for folders
            raise
    finally:
        os.close(stream)


def exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two files or folders in one step; False, and nothing done, where the system cannot.

    Python has no function for it; Linux has renameat2.

    >>> exchange(Path("no such file"), Path("none"))
    False
    """
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    return bool(rename(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE) == 0)
