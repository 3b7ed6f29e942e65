"""Who may write an output: targets are checked before the work, and locked while it lasts.

Beside an output `name` stands `.name.kinfolk/` while it is written: a lock, what is being written (new-...), what is
being replaced (old-...), and work that a later run takes up (partial/). It goes when the output is there. What a killed
run left in it is finished or removed by the next one that gets the lock.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import threading
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kinfolk._core.disk import writing
from kinfolk._core.errors import InputError
from kinfolk._core.manifest import Manifest, read_manifest

LOCK, COMMIT = "lock", "commit.json"
TEMPORARY = re.compile(r"(new|old)-[0-9a-f]{8}(\..*)?")
ATTEMPTS = 100  # to lock a file that others make and remove meanwhile; one is enough but for such a coincidence


@dataclass
class _Held:
    """A lock of this process, and how often it was taken by its thread."""

    thread: int
    stream: int
    made: list[Path] = field(default_factory=list)
    times: int = 1


_held: dict[Path, _Held] = {}
_guard = threading.Lock()


@contextmanager
def claim(
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    kind: str | None = None,
    inputs: Iterable[str | os.PathLike[str] | None] = (),
) -> Iterator[Path]:
    """Check that an output may be written, keep others from writing it during the block, and yield its work folder.

    Parameters
    ----------
    path : the output.
    force : it may replace what is there: a file, or a folder of this kind in which every file is kinfolk's.
    kind : what the folder holds, as in its manifest; None: the output is a file.
    inputs : what the work reads: never replaced, nor is a folder that it lies in.

    Examples
    --------
    >>> import tempfile
    >>> with claim(Path(tempfile.mkdtemp()) / "clusters.csv") as work:
    ...     work.name
    '.clusters.csv.kinfolk'
    """
    check_target(path, force=force, kind=kind, inputs=inputs)
    target = absolute(path)
    work = target.with_name(f".{target.name}.kinfolk")
    outermost = work not in _held
    with locked(target, work):
        # again: another may have finished meanwhile; checksums are computed once
        check_target(path, force=force, kind=kind, inputs=inputs, checksums=outermost)
        yield work


@contextmanager
def locked(target: Path, work: Path) -> Iterator[Path]:
    """Hold the lock of an output, with its work folder, during the block; a lock of another is refused.

    The same thread may take it again inside the block.
    """
    with _guard:
        held = _held.get(work)
        if held is None:
            held = _take(target, work)
            try:
                _settle(target, work)
            except BaseException:
                _give_back(work, held)
                raise
            _held[work] = held
        elif held.thread != threading.get_ident():
            raise _busy(target)
        else:
            held.times += 1
    try:
        yield work
    finally:
        with _guard:
            held.times -= 1
            if held.times == 0:
                del _held[work]
                _give_back(work, held)


def check_target(
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    kind: str | None = None,
    inputs: Iterable[str | os.PathLike[str] | None] = (),
    checksums: bool = False,
) -> None:
    """Raise InputError where an output may not be written; see `claim`.

    checksums: read the files of a folder that is to be replaced, and refuse if a user has changed them.

    >>> check_target(".", force=True, kind="graph")
    Traceback (most recent call last):
    kinfolk.InputError: . is the current folder or one above it, which is never replaced: choose another name
    """
    with writing(Path(path)):  # names that are too long, folders that may not be entered
        target = absolute(path)
        if kind is not None:
            _check_folder(path, target, kind, force and checksums)
        elif target.is_dir():
            raise InputError(f"{path} is a folder, a file was expected")
        for source in inputs:
            if source is not None and Path(source).exists() and _covers(target, absolute(source)):
                raise InputError(f"{path} would replace {source}, which is read here: choose another name")
        refuse_existing(path, force)


def refuse_existing(path: str | os.PathLike[str], force: bool) -> None:
    """Raise InputError when something is at `path`, unless `force`; an empty folder is nothing.

    >>> refuse_existing("no such file", force=False)
    """
    if os.path.lexists(path) and not force and not _is_empty_folder(Path(path)):
        raise InputError(
            f"{path} exists already: choose another name, or replace it with --force (in Python: force=True)"
        )


def absolute(path: str | os.PathLike[str]) -> Path:
    """Return a path without links in its folders and without dots; a link at its end stays.

    >>> absolute("a/../b.csv") == Path.cwd().resolve() / "b.csv"
    True
    """
    full = Path(path).absolute()
    if full.name in ("", ".."):
        return full.resolve()
    return full.parent.resolve() / full.name


def temporary_name(prefix: str, suffix: str = "") -> str:
    """Return a name for the work folder that nobody has; the suffix stays last, because numpy appends it otherwise."""
    return f"{prefix}-{uuid.uuid4().hex[:8]}{suffix}"


def remove_folder(folder: Path) -> None:
    """Remove a folder that was kinfolk's output: only files that its manifest names."""
    (read_manifest(folder) or Manifest("unknown")).remove(folder)


def _check_folder(path: str | os.PathLike[str], target: Path, kind: str, checksums: bool) -> None:
    if target.is_symlink():
        raise InputError(f"{path} is a link: name the folder itself, or choose another name")
    if target.exists() and not target.is_dir():
        raise InputError(f"{path} is a file: choose another name for the folder")
    if target == Path.cwd() or target in Path.cwd().parents:
        raise InputError(f"{path} is the current folder or one above it, which is never replaced: choose another name")
    if not target.exists() or _is_empty_folder(target):
        return
    manifest = read_manifest(target)
    found = Manifest("nothing").foreign(target) if manifest is None else manifest.foreign(target)
    if manifest is None or found:
        raise InputError(
            f"{path} is a folder with things in it that kinfolk did not write ({_some(found)}): choose another name"
        )
    if manifest.kind != kind:
        raise InputError(f"{path} holds {manifest.kind}, not {kind}: choose another name")
    if checksums and (changed := manifest.changed(target)):
        raise InputError(
            f"{path} holds files that were changed since kinfolk wrote them ({_some(changed)}): "
            "move them away or choose another name"
        )


def _covers(target: Path, source: Path) -> bool:
    """Return whether replacing `target` would take `source` away."""
    places = (source, *source.parents, source.resolve(), *source.resolve().parents)
    return target in places or (target.is_file() and source.is_file() and target.samefile(source))


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(sorted(names)[:3]) + more


def _busy(target: Path) -> InputError:
    return InputError(f"{target} is being written by another process: wait for it, or choose another name")


def _take(target: Path, work: Path) -> _Held:
    """Make the work folder and lock it, in spite of others that make and remove it."""
    made = [folder for folder in work.parents if not folder.exists()]
    with writing(target):
        for _ in range(ATTEMPTS):
            work.mkdir(parents=True, exist_ok=True)
            if work.is_symlink():
                raise InputError(f"{work} is a link: remove it, kinfolk works there")
            try:
                stream = os.open(work / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
            except FileNotFoundError:  # the one before has just removed the folder
                continue
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.lexists(work / LOCK) and os.path.samestat(os.fstat(stream), os.lstat(work / LOCK)):
                    return _Held(threading.get_ident(), stream, made)
            except BlockingIOError:
                os.close(stream)
                raise _busy(target) from None
            os.close(stream)  # the lock of a folder that is gone
    raise _busy(target)


def _give_back(work: Path, held: _Held) -> None:
    """Remove the lock, and the folders that were made for it and are empty."""
    (work / LOCK).unlink(missing_ok=True)
    _remove_folders([work, *held.made])
    os.close(held.stream)


def _remove_folders(folders: list[Path]) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:  # not empty, or another has removed it
            return


def _settle(target: Path, work: Path) -> None:
    """Finish what a killed run had begun to put in place, and remove the rest of its temporary files."""
    with writing(target):
        finish_commit(work, target.parent)
        for entry in sorted(work.iterdir()):
            if not TEMPORARY.fullmatch(entry.name):
                continue
            if entry.is_symlink() or not entry.is_dir():
                entry.unlink()
            elif entry.name.startswith("new"):
                shutil.rmtree(entry)
            elif os.path.lexists(target):
                remove_folder(entry)
            else:  # killed after the old one was moved aside, before the new one was in place
                entry.rename(target)


def finish_commit(work: Path, folder: Path) -> None:
    """Give all files of an output their names: those that commit.json lists, where it stands."""
    journal = work / COMMIT
    if journal.is_symlink() or not journal.is_file():
        return
    try:
        names = json.loads(journal.read_text(encoding="utf-8"))
        renames = [(work / new, folder / name) for new, name in names.items()]
        plain = all(TEMPORARY.fullmatch(new.name) and target.parent == folder for new, target in renames)
    except (ValueError, AttributeError, TypeError):
        plain = False
    if not plain:
        raise InputError(f"{journal} is damaged: remove it, and what it belongs to, then write that again")
    for new, target in renames:
        if new.is_file() and not new.is_symlink():
            new.replace(target)
    journal.unlink()
