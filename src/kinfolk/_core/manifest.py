"""manifest.json in every folder that kinfolk writes: what the folder is, and which files in it are kinfolk's.

    {"kinfolk": "0.2.0", "kind": "graph", "format": 1,
     "files": {"indices.npy": {"bytes": 1200128, "sha256": "9f86d0..."}}}

Only files that a manifest names are ever replaced or removed. `sha256` is null for a file that grows.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from kinfolk._core.json_file import read_json
from kinfolk._core.version import __version__

MANIFEST = "manifest.json"


class FileFacts(NamedTuple):
    """Size and checksum of one file; a file that grows has none."""

    bytes: int
    sha256: str | None


@dataclass(frozen=True)
class Manifest:
    """The files of one folder.

    Parameters
    ----------
    kind : what the folder is, such as "graph".
    format : version of that kind's format.
    files : facts of each file, by its path from the folder on, with slashes.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.txt").write_text("one")
    >>> write_manifest(folder, "example")
    >>> _ = (folder / "mine.txt").write_text("a user's")
    >>> found = read_manifest(folder)
    >>> found.kind, list(found.files), found.foreign(folder), found.changed(folder)
    ('example', ['a.txt'], ['mine.txt'], [])
    """

    kind: str
    format: int = 1
    files: Mapping[str, FileFacts] = field(default_factory=dict)

    def foreign(self, folder: Path) -> list[str]:
        """Return what is in the folder and not in the manifest, empty folders included."""
        return [name for name in _contents(folder) if name not in self.files and name != MANIFEST]

    def changed(self, folder: Path) -> list[str]:
        """Return the files that are not as they were written; missing ones are not named."""
        there = [name for name in self.files if os.path.lexists(folder / name)]
        return [name for name in there if not _is_as(folder / name, self.files[name])]

    def remove(self, folder: Path) -> None:
        """Remove the files of the manifest, then the folder, unless anything else is in it."""
        for name in (*self.files, MANIFEST):
            if not _is_behind_link(folder, name):
                (folder / name).unlink(missing_ok=True)
        for place in sorted((p for p in folder.rglob("*") if p.is_dir() and not p.is_symlink()), reverse=True):
            _remove_if_empty(place)
        _remove_if_empty(folder)

    def json(self) -> str:
        """Return the text of the file."""
        files = {name: facts._asdict() for name, facts in sorted(self.files.items())}
        content = dict(kinfolk=__version__, kind=self.kind, format=self.format, files=files)
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def write_manifest(folder: Path, kind: str, format: int = 1) -> None:
    """Write the manifest of a new folder in which every file is kinfolk's."""
    files = {name: file_facts(folder / name) for name in _contents(folder) if name != MANIFEST}
    (folder / MANIFEST).write_text(Manifest(kind, format, files).json(), encoding="utf-8")


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a folder; None where there is none, or something else under its name.

    >>> read_manifest(Path("no such folder"))
    """
    file = folder / MANIFEST
    try:
        return None if file.is_symlink() else _parsed(read_json(file))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # an InputError is a ValueError
        return None


def file_facts(file: Path, grows: bool = False) -> FileFacts:
    """Return the facts of a file as they are now."""
    if grows:
        return FileFacts(file.stat().st_size, None)
    with file.open("rb") as stream:
        return FileFacts(file.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest())


def with_files(manifest: Manifest, folder: Path, names: Iterable[str], growing: Iterable[str] = ()) -> Manifest:
    """Return the manifest with more files of the folder, or with new facts of those it has."""
    fresh = {name: file_facts(folder / name) for name in names}
    fresh |= {name: file_facts(folder / name, grows=True) for name in growing}
    return Manifest(manifest.kind, manifest.format, {**manifest.files, **fresh})


def _parsed(content: Any) -> Manifest | None:
    texts = isinstance(content["kinfolk"], str) and isinstance(content["kind"], str)
    if not texts or type(content["format"]) is not int:
        return None
    files = {}
    for name, facts in content["files"].items():
        size, checksum = facts["bytes"], facts["sha256"]
        if not _is_inside(name) or type(size) is not int or not isinstance(checksum, str | None):
            return None
        files[name] = FileFacts(size, checksum)
    return Manifest(content["kind"], content["format"], files)


def _is_inside(name: str) -> bool:
    """Return whether a name stays inside its folder.

    >>> _is_inside("a/b.npy"), _is_inside("../b.npy"), _is_inside("/etc/passwd")
    (True, False, False)
    """
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in name


def _is_behind_link(folder: Path, name: str) -> bool:
    """Return whether a folder on the way to a file is a link: what is behind it is not of this folder."""
    return any((folder / place).is_symlink() for place in PurePosixPath(name).parents)


def _contents(folder: Path) -> Iterator[str]:
    """Yield every file, link and empty folder below a folder, by its path from there on; links are not followed."""
    for place, folders, files in os.walk(folder):
        here = Path(place)
        links = [name for name in folders if (here / name).is_symlink()]
        empty = [here] if here != folder and not folders and not files else []
        for path in (*(here / name for name in (*files, *links)), *empty):
            yield path.relative_to(folder).as_posix()


def _is_as(file: Path, facts: FileFacts) -> bool:
    if file.is_symlink() or not file.is_file():
        return False
    if facts.sha256 is None:
        return True
    return file.stat().st_size == facts.bytes and file_facts(file) == facts


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:  # something else is in it, which is not kinfolk's to remove
        return
