"""Files that get their names together: commit.json in the work folder lists them before the first is renamed.

After a kill in between, the next one that looks gives the rest, unless somebody has changed the files meanwhile.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kinfolk._core.errors import InputError
from kinfolk._core.json_file import read_json
from kinfolk._core.manifest import file_facts

COMMIT = "commit.json"
TEMPORARY = re.compile(r"(new|old)-[0-9a-f]{8}(\..*)?")


def temporary_name(prefix: str, suffix: str = "") -> str:
    """Return a name for the work folder that nobody has; the suffix stays last, because numpy appends it otherwise."""
    return f"{prefix}-{uuid.uuid4().hex[:8]}{suffix}"


def write_commit(draft: Path, files: Mapping[Path, Path]) -> None:
    """Write which temporary files get which names: each with what it is, and what has its name now."""
    facts = {
        new.name: [target.name, file_facts(new), file_facts(target) if target.is_file() else None]
        for new, target in files.items()
    }
    draft.write_text(json.dumps(facts), encoding="utf-8")


def finish_commit(work: Path, folder: Path) -> bool:
    """Give all files of an output their names: those that commit.json lists, where it stands.

    False, and nothing is done, where somebody has changed the files since it was written, and none had its name yet.
    """
    journal = work / COMMIT
    if journal.is_symlink() or not journal.is_file():
        return True
    names = _commit(journal)
    waiting = {new: name for new, (name, _, _) in names.items() if _is_plain(work / new)}
    if not all(_is(folder / name, was if new in waiting else now) for new, (name, now, was) in names.items()):
        if len(waiting) < len(names):
            raise InputError(
                f"{folder / next(iter(names.values()))[0]} was half replaced when kinfolk was killed, and was changed "
                f"since: make its files fit together, then remove {work}"
            )
        journal.unlink()
        return False
    for new, name in waiting.items():
        (work / new).replace(folder / name)
    journal.unlink()
    return True


def _commit(journal: Path) -> dict[str, tuple[str, Any, Any]]:
    """Return temporary names with the name, the facts and those of the one before; only names of this output."""
    output = Path(journal.parent.name.removeprefix(".").removesuffix(".kinfolk"))
    try:
        names = {new: (name, now, was) for new, (name, now, was) in read_json(journal).items()}
        plain = all(TEMPORARY.fullmatch(new) and "/" not in new + name for new, (name, _, _) in names.items())
        ours = all(name.startswith(f"{output.stem}.") for name, _, _ in names.values())
    except (ValueError, AttributeError, TypeError):
        plain = ours = False
    if not plain or not ours:
        raise InputError(f"{journal} is damaged: remove it, and what it belongs to, then write that again")
    return names


def _is_plain(file: Path) -> bool:
    return file.is_file() and not file.is_symlink()


def _is(file: Path, facts: Any) -> bool:
    """Return whether a file is as facts from a commit.json say; None: there is none."""
    return (list(file_facts(file)) if file.is_file() else None) == facts
