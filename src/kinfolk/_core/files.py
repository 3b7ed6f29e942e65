"""Files and folders that are written whole or not at all: under a temporary name beside the target, then renamed."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from kinfolk._core.commit import COMMIT, finish_commit, temporary_name, write_commit
from kinfolk._core.disk import exchange, flush_names, flush_to_disk, writing
from kinfolk._core.errors import InputError, KinfolkError
from kinfolk._core.manifest import MANIFEST, Manifest, read_manifest, with_files, write_manifest
from kinfolk._core.outputs import ATTEMPTS, LOCK, claim, holds, locked, remove_folder, settle_all
from kinfolk._core.targets import absolute, check_target, refuse_existing, work_folder

CHECKPOINTS = "checkpoints"  # kind of the folder that a training resumes from
Result = TypeVar("Result")
_recording = threading.Lock()  # stages of a training record their files side by side


@contextmanager
def replacing(path: str | os.PathLike[str], force: bool = False) -> Iterator[Path]:
    """Yield a temporary path for a file, which becomes `path` when the block ends without an error.

    When the block fails nothing is left behind. An existing `path` is an error unless `force`; of two that write it at
    once the second is refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    with replacing_together([path], force) as (temporary,):
        yield temporary


@contextmanager
def replacing_together(paths: Sequence[str | os.PathLike[str]], force: bool = False) -> Iterator[list[Path]]:
    """Yield temporary paths for files of one folder that belong together: all get their names, or none does.

    A list of the new names is on disk before the first is given: after a kill in between, `settled` or the next write
    of the first one gives the rest.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing_together([folder / "a.npy", folder / "a.labels.npy"]) as temporaries:
    ...     _ = [temporary.write_text("whole") for temporary in temporaries]
    >>> sorted(os.listdir(folder))
    ['a.labels.npy', 'a.npy']
    """
    targets = [absolute(path) for path in paths]
    with ExitStack() as stack:
        work, *_ = [stack.enter_context(claim(path, force=force)) for path in paths]
        _hide_like(work, targets)
        temporaries = [work / temporary_name("new", target.suffix) for target in targets]
        try:
            with writing(targets[0]):
                yield temporaries
                _refuse_fork(work)
                for temporary, target in zip(temporaries, targets, strict=True):
                    _set_mode(temporary, target if target.is_file() else work / LOCK)
                    flush_to_disk(temporary)
                for path in paths:
                    refuse_existing(path, force)
                _put_files(temporaries, targets, force)
        finally:
            # with a commit some have their names: the next one that looks gives the rest
            if holds(work) and not (work / COMMIT).exists():
                for temporary in temporaries:
                    temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: str | os.PathLike[str], kind: str, format: int = 1, force: bool = False) -> Iterator[Path]:
    """Yield an empty temporary folder, which becomes `path`, with a manifest, when the block ends without an error.

    Parameters
    ----------
    path : the folder to write.
    kind, format : what it holds, for the manifest.
    force : replace a folder of the same kind in which every file is kinfolk's and as kinfolk wrote it. It is moved
        aside, and removed when the new one is in place.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "graph"
    >>> with replacing_folder(target, "graph") as folder:
    ...     _ = (folder / "indices.npy").write_bytes(b"...")
    >>> sorted(os.listdir(target))
    ['indices.npy', 'manifest.json']
    """
    target = absolute(path)
    with claim(path, force=force, kind=kind) as work:
        new = work / temporary_name("new")
        try:
            with writing(target):
                new.mkdir(mode=0o700)  # what it replaces may be private
                yield new
                _refuse_fork(work)
                write_manifest(new, kind, format)
                _set_modes(new, target, work)
                flush_to_disk(new)
                check_target(path, force=force, kind=kind, checksums=True)  # again: the work may have taken hours
                _put_folder(new, target, work)
        finally:
            if holds(work):
                shutil.rmtree(new, ignore_errors=True)


@contextmanager
def adding(path: str | os.PathLike[str], kind: str) -> Iterator[Path]:
    """Lock a folder to which files are added, among others that may be there, and yield it; made if missing.

    >>> import tempfile
    >>> with adding(Path(tempfile.mkdtemp()) / "figures", "figures") as folder:
    ...     folder.is_dir()
    True
    """
    folder = absolute(path)
    with writing(Path(path)):
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{path} is a file, a folder was expected")
        _manifest_for(folder, kind)
    with locked(folder, folder / ".kinfolk"):
        settle_all(folder)
        yield folder


def added(folder: Path, kind: str) -> set[str]:
    """Return the files of a folder that kinfolk added, by `record`."""
    manifest = read_manifest(folder)
    return set(manifest.files) if manifest is not None and manifest.kind == kind else set()


def unchanged(folder: Path, kind: str) -> set[str]:
    """Return the files of a folder that kinfolk added and nobody has changed since: those may be replaced."""
    manifest = read_manifest(folder)
    return added(folder, kind) - set([] if manifest is None else manifest.changed(folder))


def record(folder: Path, kind: str, names: Iterable[str], growing: Iterable[str] = ()) -> None:
    """Name files that were added to a folder in its manifest; `growing`: those that later calls append to."""
    with _recording:
        manifest = with_files(_manifest_for(folder, kind), folder, names, growing)
        with replacing(folder / MANIFEST, force=True) as temporary:
            temporary.write_text(manifest.json(), encoding="utf-8")


def _manifest_for(folder: Path, kind: str) -> Manifest:
    """Return the manifest of a folder to which files of a kind are added; one of another kind or maker is refused."""
    manifest = read_manifest(folder)
    if manifest is None and os.path.lexists(folder / MANIFEST):
        raise InputError(f"{folder} has a {MANIFEST} that is not kinfolk's: choose another folder")
    if manifest is not None and manifest.kind != kind:
        raise InputError(f"{folder} holds {manifest.kind}, not {kind}: choose another folder")
    return manifest or Manifest(kind)


def settled(path: str | os.PathLike[str]) -> None:
    """Finish an output of several files that a killed run left half in place; read such files after this.

    >>> settled("no such file")
    """
    if (work_folder(path) / COMMIT).is_file():
        with claim(path, force=True):
            pass


def steady(paths: Sequence[Path], read: Callable[[], Result]) -> Result:
    """Return what `read` returns, read again where a path was replaced meanwhile: all of it belongs together.

    >>> steady([Path("no such file")], lambda: 7)
    7
    """
    for _ in range(ATTEMPTS):
        before = [_identity(path) for path in paths]
        try:
            found = read()
        except (KinfolkError, OSError):
            if before == [_identity(path) for path in paths]:
                raise
            continue
        if before == [_identity(path) for path in paths]:
            return found
    raise InputError(f"{paths[0]} is being replaced again and again: read it when that has ended")


def _identity(path: Path) -> tuple[int, ...] | None:
    """Return what differs when a path is replaced; files may come and go in a folder that is the same."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, *(() if path.is_dir() else (facts.st_mtime_ns, facts.st_size))


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


def _set_mode(file: Path, like: Path) -> None:
    """Let those read a file who may read another; safetensors writes for the owner alone."""
    with suppress(OSError):  # a file system without modes
        file.chmod(like.stat().st_mode & 0o777)


def _set_modes(new: Path, old: Path, work: Path) -> None:
    """Let those enter and read a new folder who may the one it replaces, or by default any folder made here."""
    with suppress(OSError):
        new.chmod((old if old.is_dir() else work).stat().st_mode & 0o7777)
    for file in new.iterdir():
        if (old / file.name).is_file() and file.is_file():
            _set_mode(file, old / file.name)


def _hide_like(work: Path, targets: Sequence[Path]) -> None:
    """Keep those out of a work folder, while it lasts, who may not read a file that is replaced."""
    for target in targets:
        if target.is_file():
            readers = target.stat().st_mode
            hidden = (0 if readers & 0o040 else 0o070) | (0 if readers & 0o004 else 0o007)
            with suppress(OSError):
                work.chmod(work.stat().st_mode & 0o7777 & ~hidden)


def _refuse_fork(work: Path) -> None:
    """Raise where a process goes on with what the process that it was forked from writes."""
    if not holds(work):
        raise InputError(f"{work} is of another process, which forked this one: write after the fork, not around it")


def _put_files(temporaries: Sequence[Path], targets: Sequence[Path], force: bool) -> None:
    if len(targets) > 1:
        work = temporaries[0].parent
        draft = work / temporary_name("new")
        try:
            write_commit(draft, dict(zip(temporaries, targets, strict=True)))
            flush_to_disk(draft)
            draft.replace(work / COMMIT)
            if not finish_commit(work, targets[0].parent):
                raise InputError(f"{targets[0]} was changed while it was being replaced: nothing was done")
        except OSError:
            draft.unlink(missing_ok=True)
            if all(new.exists() for new in temporaries):  # nothing has its name yet: nothing shall have it
                (work / COMMIT).unlink(missing_ok=True)
            raise
    elif force:
        temporaries[0].replace(targets[0])
    else:
        _put_new(temporaries[0], targets[0])
    flush_names(targets[0].parent)


def _put_new(temporary: Path, target: Path) -> None:
    """Give a file its name unless somebody has it, in one step where the file system has links."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        refuse_existing(target, force=False)
    except OSError:
        temporary.rename(target)


def _put_folder(new: Path, target: Path, work: Path) -> None:
    if not target.exists() or not any(target.iterdir()):
        new.rename(target)
    else:
        old = work / temporary_name("old")
        new.rename(old)
        if not exchange(old, target):
            aside = work / temporary_name("old")
            target.rename(aside)
            old.rename(target)
            old = aside
        remove_folder(old)
    flush_names(target.parent)
