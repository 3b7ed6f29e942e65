"""Files that are written whole or not at all: under a temporary name in the same folder, then renamed."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kinfolk._core.errors import InputError


@contextmanager
def replacing(path: str | os.PathLike[str], force: bool = False) -> Iterator[Path]:
    """Yield a temporary path, for a file or a folder, that is renamed to `path` when the block ends without an error.

    When the block fails nothing is left behind. An existing `path` is an error unless `force`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    target = Path(path)
    refuse_existing(target, force)
    target.parent.mkdir(parents=True, exist_ok=True)
    # the suffix stays last: numpy and others append it to a name without it
    temporary = target.with_name(f".{target.stem}.{uuid.uuid4().hex[:8]}.tmp{target.suffix}")
    try:
        yield temporary
        if target.is_dir() and not temporary.is_dir():
            raise InputError(f"{target} is a folder, which is not replaced by a file")
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        temporary.replace(target)
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


def refuse_existing(path: Path, force: bool) -> None:
    """Raise InputError when `path` exists, unless `force`."""
    if path.exists() and not force:
        raise InputError(
            f"{path} exists already: choose another name, or replace it with --force (in Python: force=True)"
        )


def existing_folder(path: str | os.PathLike[str], what: str) -> Path:
    """Return `path`, or raise InputError with what was expected there when it does not exist.

    >>> existing_folder("nowhere", "a model folder")
    Traceback (most recent call last):
    kinfolk.InputError: nowhere does not exist: a model folder was expected
    """
    folder = Path(path)
    if not folder.exists():
        raise InputError(f"{folder} does not exist: {what} was expected")
    return folder


def existing_file(path: str | os.PathLike[str]) -> Path:
    """Return `path`, or raise InputError when it is missing, a folder or empty."""
    file = Path(path)
    if not file.exists():
        raise InputError(f"{file} does not exist")
    if file.is_dir():
        raise InputError(f"{file} is a folder, a file was expected")
    if file.stat().st_size == 0:
        raise InputError(f"{file} is empty (0 bytes)")
    return file


def flush_to_disk(file: Path) -> None:
    """Wait until the contents are on disk: after a power cut the file could have its final name but no contents."""
    with file.open("rb+") as stream:
        os.fsync(stream.fileno())
