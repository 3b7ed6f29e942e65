"""JSON that somebody else may have written: bounded in size and depth, numbers finite."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from kinfolk._core.errors import InputError

MOST_BYTES = 64 << 20  # facts and settings take kilobytes, a million names less than this


def read_json(file: Path, most_bytes: int = MOST_BYTES) -> Any:
    """Return what a JSON file holds; one that is too large, nested too deep, or not JSON is an InputError.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.json"
    >>> _ = file.write_text('{"k": Infinity}')
    >>> read_json(file)
    Traceback (most recent call last):
    kinfolk.InputError: not JSON that can be read: Infinity is not a number of JSON
    """
    facts = file.stat()
    if not stat.S_ISREG(facts.st_mode):  # a pipe would be waited for
        raise InputError("it is not a file")
    size = facts.st_size
    if size > most_bytes:
        raise InputError(f"{size:,} bytes of JSON were found, at most {most_bytes:,} are read")
    return parse_json(file.read_bytes())


def parse_json(content: bytes | str) -> Any:
    """Return what a JSON text holds.

    >>> parse_json(b"[" * 100_000)
    Traceback (most recent call last):
    kinfolk.InputError: the JSON is nested too deep to be read
    """
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise InputError("the JSON is nested too deep to be read") from None
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are kinds of it
        raise InputError(f"not JSON that can be read: {error}") from None


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not a number of JSON")
