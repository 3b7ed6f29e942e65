"""What may be written where: an output is checked before the work."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from kinfolk._core.disk import writing
from kinfolk._core.errors import InputError
from kinfolk._core.manifest import MANIFEST, Manifest, read_manifest


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
        elif target.exists() and not target.is_file():
            raise InputError(f"{path} is a device or a pipe, a file was expected")
        refuse_inputs(path, inputs)
        refuse_existing(path, force)


def refuse_inputs(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str] | None]) -> None:
    """Raise InputError where writing `path` would replace something that is read.

    >>> refuse_inputs("a.csv", [None, "no such file"])
    """
    for source in inputs:
        if source is not None and Path(source).exists():
            _check_input(path, absolute(path), source)


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


def work_folder(path: str | os.PathLike[str]) -> Path:
    """Return where kinfolk works on an output.

    >>> work_folder("a/graph.npz").name
    '.graph.npz.kinfolk'
    """
    target = absolute(path)
    return target.parent / f".{target.name}.kinfolk"  # not with_name: the root has no name


def _check_folder(path: str | os.PathLike[str], target: Path, kind: str, checksums: bool) -> None:
    if target.is_symlink():
        raise InputError(f"{path} is a link: name the folder itself, or choose another name")
    if target.exists() and not target.is_dir():
        raise InputError(f"{path} is a file: choose another name for the folder")
    if target == Path.cwd() or target in Path.cwd().parents:
        raise InputError(f"{path} is the current folder or one above it, which is never replaced: choose another name")
    if os.path.ismount(target):
        raise InputError(f"{path} is where a disk is mounted, which cannot be replaced: name a folder inside it")
    if not target.exists() or _is_empty_folder(target):
        return
    manifest = read_manifest(target)
    if found := (manifest or Manifest("nothing")).foreign(target):
        old = "" if manifest is not None else ", or that kinfolk 0.1 wrote, which kept no manifest"
        raise InputError(
            f"{path} is a folder with things in it that kinfolk did not write ({_some(found)}){old}: "
            "choose another name, or move it away"
        )
    if manifest is None:
        raise InputError(f"{path} has a {MANIFEST} that is damaged or not kinfolk's: move it away")
    if manifest.kind != kind:
        raise InputError(f"{path} holds {manifest.kind}, not {kind}: choose another name")
    if checksums and (changed := manifest.changed(target)):
        raise InputError(
            f"{path} holds files that were changed since kinfolk wrote them ({_some(changed)}): "
            "move them away or choose another name"
        )


def _check_input(path: str | os.PathLike[str], target: Path, source: str | os.PathLike[str]) -> None:
    if _covers(target, absolute(source)):
        raise InputError(f"{path} would replace {source}, which is read here: choose another name")
    if not {absolute(source), absolute(source).resolve()} & set(target.parents):
        return
    if read_manifest(Path(source)) is not None:
        raise InputError(f"{path} lies inside {source}, a folder of kinfolk that is read here: choose another place")
    if target.is_file():
        raise InputError(f"{path} is a file of {source}, which is read here: choose another place")


def _covers(target: Path, source: Path) -> bool:
    """Return whether replacing `target` would take `source` away."""
    places = (source, *source.parents, source.resolve(), *source.resolve().parents)
    return target in places or (target.is_file() and source.is_file() and target.samefile(source))


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(sorted(names)[:3]) + more
