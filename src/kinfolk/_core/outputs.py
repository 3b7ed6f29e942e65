"""Who may write an output: it is checked before the work (`targets`), and locked while it lasts.

Beside an output `name` stands `.name.kinfolk/` while it is written: a lock, what is being written (new-...), what is
being replaced (old-...), and work that a later run takes up (partial/). It goes when the output is there. What a killed
run left in it is finished or removed by the next one that gets the lock.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from kinfolk._core.commit import TEMPORARY, finish_commit
from kinfolk._core.disk import writing
from kinfolk._core.errors import InputError, KinfolkError
from kinfolk._core.manifest import Manifest, read_manifest
from kinfolk._core.targets import absolute, check_target, work_folder

LOCK, WRITER = "lock", "writer"
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)  # what file systems without locks answer
ATTEMPTS = 100  # to lock a file that others make and remove meanwhile; one is enough but for such a coincidence


@dataclass
class _Held:
    """A lock of this process: of a thread, for a target; the folders made for it; how often that thread took it."""

    thread: int
    target: Path
    made: list[Path] = field(default_factory=list)
    stream: int | None = None  # None: it is about to be taken
    times: int = 1


_held: dict[Path, _Held] = {}
_guard = threading.Lock()


def _forget() -> None:
    """Give a forked process no part in the locks of its parent, which goes on to hold them."""
    for held in _held.values():
        if held.stream is not None:
            os.close(held.stream)
    _held.clear()
    _guard.release()


# held over a fork: else another thread could hold it for ever in the forked process
os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_forget)


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
    try:
        check_target(path, force=force, kind=kind, inputs=inputs)
    except InputError:
        with suppress(OSError):
            if work_folder(path).is_dir():  # of a run that was killed when its output was in place already
                settle_all(work_folder(path).parent)
        raise
    target, work = absolute(path), work_folder(path)
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
            held = _held[work] = _Held(threading.get_ident(), target)
            try:
                _take(held, work)
                _settle(target, work)
            except BaseException:
                _give_back(work)
                raise
        elif held.thread != threading.get_ident():
            raise _busy(target)
        else:
            held.times += 1
    try:
        yield work
    finally:
        with _guard:
            held.times -= 1
            if held.times == 0 and _held.get(work) is held:
                with suppress(KinfolkError, OSError):  # a signal may have come while temporary files were removed
                    _settle(target, work)
                _give_back(work)


def holds(work: Path) -> bool:
    """Return whether this process holds the lock of a work folder; a process that it has forked does not.

    >>> holds(Path(".a.csv.kinfolk"))
    False
    """
    return work in _held


def settle_all(folder: Path) -> None:
    """Finish or remove what killed runs left of the outputs in a folder; those that are being written are left alone.

    >>> settle_all(Path("no such folder"))
    """
    for work in folder.glob(".?*.kinfolk"):
        target = folder / work.name.removeprefix(".").removesuffix(".kinfolk")
        with suppress(InputError), locked(target, work):
            pass


def release_all() -> None:
    """Remove the temporary files of this process and give back its locks: for a program that was told to end.

    A signal can come between any two steps, also of what cleans up after it.

    >>> release_all()
    """
    with _guard:
        for work, held in reversed(list(_held.items())):
            if held.stream is not None:
                with suppress(KinfolkError, OSError):
                    _settle(held.target, work)
            with suppress(OSError):
                _give_back(work)


def remove_folder(folder: Path) -> None:
    """Remove a folder that was kinfolk's output: only files that its manifest names."""
    (read_manifest(folder) or Manifest("unknown")).remove(folder)


def _busy(target: Path) -> InputError:
    return InputError(f"{target} is being written by another process: wait for it, or choose another name")


def _take(held: _Held, work: Path) -> None:
    """Make the work folder and lock it, in spite of others that make and remove it."""
    with writing(held.target):
        held.made = [folder for folder in work.parents if not folder.exists()]
        for attempt in range(ATTEMPTS):
            try:
                work.mkdir(parents=True, exist_ok=True)
                if work.is_symlink():
                    raise InputError(f"{work} is a link: remove it, kinfolk works there")
                if _is_strangers(work):
                    raise InputError(
                        f"{work} is of another user, who could change what is written: choose another place"
                    )
                stream = os.open(work / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
            except FileNotFoundError:  # the one before has just removed a folder
                if attempt == ATTEMPTS - 1:  # no: a place such as /proc
                    raise
                continue
            try:
                if _lock(stream, held.target, work):
                    held.stream = stream
                    return
            except FileNotFoundError:
                continue
            finally:
                if held.stream is None:  # refused, or the lock of a folder that is gone
                    os.close(stream)
    raise _busy(held.target)


def _is_strangers(work: Path) -> bool:
    """Return whether another user made a work folder where users are kept from each other's files, as in /tmp."""
    return bool(work.parent.stat().st_mode & stat.S_ISVTX) and work.stat().st_uid != os.geteuid()


def _lock(stream: int, target: Path, work: Path) -> bool:
    """Lock the open lock file; False where it is no longer the one in the work folder."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _busy(target) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        _lock_by_name(target, work / WRITER)
        return True
    return os.path.samestat(os.fstat(stream), os.lstat(work / LOCK))


def _lock_by_name(target: Path, writer: Path) -> None:
    """Hold an output by a file that only one process can make: for file systems without locks."""
    try:
        os.close(os.open(writer, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        raise InputError(
            f"{target} is being written by another process: wait for it, or remove {writer} if there is none"
        ) from None


def _give_back(work: Path) -> None:
    """Remove the lock, and the folders that were made for it and are empty."""
    held = _held.get(work)
    if held is None:
        return
    if held.stream is not None:
        (work / WRITER).unlink(missing_ok=True)
        (work / LOCK).unlink(missing_ok=True)
    _remove_folders([work, *held.made])
    del _held[work]
    if held.stream is not None:
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
            elif os.path.lexists(target) or not _is_whole(entry):
                remove_folder(entry)
            else:  # killed after the old one was moved aside, before the new one was in place
                entry.rename(target)


def _is_whole(folder: Path) -> bool:
    """Return whether everything that a manifest names is there: no removal of the folder had begun."""
    manifest = read_manifest(folder)
    return manifest is not None and all((folder / name).is_file() for name in manifest.files)
