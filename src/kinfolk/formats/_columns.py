"""Which column of a table is what: names, labels, cameras, parts, queries by their titles, features by their kind.

Every reader of a table (csv, tsv, parquet, DataFrames and others) asks `choose_columns`, so that all take the same
columns for the same thing, and says with `Columns.describe` what it took. What may mean two things is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise, zip_longest
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.text import printable

Kind = Literal["number", "vector", "other"]

# the column on disk -> titles that name it, in any case; spaces and hyphens count as underscores
TITLES = {
    "names": (
        *("id", "name", "filename", "path", "names", "ids", "file", "file_name", "filepath", "file_path", "image"),
        *("image_path", "image_name", "image_id", "img", "img_path", "item", "item_id", "row_id", "uid", "uuid", "key"),
    ),
    "labels": (
        *("label", "class", "identity", "person_id", "labels", "label_id", "class_id", "class_name", "target", "pid"),
        *("person", "identity_id", "vehicle_id", "subject", "subject_id", "category", "y"),
    ),
    "cameras": ("camera", "cam", "camera_id", "camid", "cameras", "cam_id", "cameraid"),
    "part": ("split", "part", "subset", "fold", "parts"),
    "query": ("query", "is_query"),
    "enhanced": ("enhanced",),
}
WRITTEN = ("name", "label", "part")  # titles of the columns of texts that kinfolk writes
# titles that pandas gives to its index: names only where no other column has them
INDEX_TITLES = ("", "index", "unnamed:_0", "__index_level_0__", "row")
VECTOR_TITLES = ("features", "embedding", "embeddings", "feature", "vector", "vectors", "emb")
OPTIONS = {"names": "--name-column", "labels": "--label-column", "features": "--feature-columns"}
NUMBERED = re.compile(r"(.*?)([0-9]{1,9})")
FEWEST_ROW_NUMBERS = 3  # fewer rows count upwards by chance: a column of the 2 x 2 identity does


@dataclass(frozen=True)
class Asked:
    """Columns that a user asked for: the titles of names and labels, and features by title, glob or range.

    Parameters
    ----------
    names, labels : a title, or None: recognised.
    features : titles, globs such as "f*" and ranges such as "f0:f127", as a list or with commas between them; None:
        recognised.
    """

    names: str | None = None
    labels: str | None = None
    features: str | Sequence[str] | None = None

    def __bool__(self) -> bool:
        return any(asked is not None for asked in (self.names, self.labels, self.features))


@dataclass(frozen=True)
class Columns:
    """What the columns of a table were taken for.

    Parameters
    ----------
    titles : of all columns.
    features : positions of the feature columns.
    known : the column on disk, such as "names" -> its position.
    is_vector : the features are one column of vectors.
    is_numbered : the titles of the features are numbered, such as f0, f1, ...
    """

    titles: tuple[str, ...]
    features: tuple[int, ...]
    known: dict[str, int]
    is_vector: bool = False
    is_numbered: bool = False

    @property
    def left_out(self) -> list[str]:
        """Titles of the columns that are not read."""
        taken = {*self.features, *self.known.values()}
        return [_shown(title) for place, title in enumerate(self.titles) if place not in taken]

    def describe(self, dim: int) -> str:
        """Say in one line what was taken for what; dim: of the features.

        >>> choose_columns(["id", "f0", "f1"], ["other", "number", "number"]).describe(2)
        '2 features (f0, f1), names from id'
        """
        shown = [_shown(self.titles[place]) for place in self.features]
        ends = ", ".join(shown) if len(shown) <= 2 else f"{shown[0]} ... {shown[-1]}"
        known = [f"{_plural(name)} from {_shown(self.titles[place])}" for name, place in self.known.items()]
        line = ", ".join([f"{dim} feature{'s' * (dim != 1)} ({ends})", *known])
        return f"{line}; left out: {_some(self.left_out)}" if self.left_out else line


def choose_columns(titles: Sequence[str], kinds: Sequence[Kind], asked: Asked | None = None) -> Columns:
    """Decide what each column is, by its title and kind and by what was asked for; raise InputError in doubt.

    >>> chosen = choose_columns(["PID", "x", "CamID"], ["number", "number", "number"])
    >>> chosen.known, chosen.features
    ({'labels': 0, 'cameras': 2}, (1,))
    """
    asked = asked or Asked()
    known = _known(titles, asked, kinds)
    if asked.features is not None:
        features = _asked_features(titles, asked.features, known)
        known = {name: place for name, place in known.items() if place not in features}
    else:
        features = _other_features(titles, kinds, known)
    vectors = [place for place in features if kinds[place] == "vector"]
    if vectors and len(features) > 1:
        raise InputError(f"column {titles[vectors[0]]!r} holds vectors: the features are that column alone, or numbers")
    bad = [titles[place] for place in features if kinds[place] == "other"]
    if bad:
        raise InputError(f"column {bad[0]!r} holds no numbers, so it cannot be a feature")
    numbered = not vectors and len(features) > 1 and not _without_number([titles[place] for place in features])
    return Columns(tuple(titles), tuple(features), known, bool(vectors), numbered)


def name_column(titles: Sequence[str], asked: str | None = None) -> int:
    """Return the position of the column of names in a table that need not have features.

    >>> name_column(["size", "File"]), name_column(["anything"])
    (1, 0)
    """
    known = _known(titles, Asked(names=asked))
    if "names" not in known and len(titles) != 1:
        raise InputError(
            f"no column has a title of names: choose it with {_how('names')}; the columns are: {_some(titles)}"
        )
    return known.get("names", 0)


def refuse_row_numbers(columns: Columns, features: NDArray[np.floating]) -> None:
    """Raise InputError where a feature column counts the rows, unless all features are numbered; features (n, d).

    >>> table = choose_columns(["nr", "width"], ["number", "number"])
    >>> refuse_row_numbers(table, np.array([[0.0, 2.5], [1.0, 0.5], [2.0, 1.5]]))
    Traceback (most recent call last):
    kinfolk.InputError: column 'nr' counts the rows, so it is hardly a feature: choose it with --name-column ...
    """
    if columns.is_vector or columns.is_numbered or len(features) < FEWEST_ROW_NUMBERS:
        return
    suspects = np.flatnonzero((features[0] == 0) | (features[0] == 1))
    for column in suspects:
        if np.array_equal(features[:, column] - features[0, column], np.arange(len(features))):
            title = columns.titles[columns.features[column]]
            raise InputError(
                f"column {title!r} counts the rows, so it is hardly a feature: choose it with {_how('names')} if it "
                f"holds ids, else say which columns are the features with {_how('features')}"
            )


def _known(titles: Sequence[str], asked: Asked, kinds: Sequence[Kind] = ()) -> dict[str, int]:
    # a column of vectors is none of these, whatever its title: "image" may hold embeddings; a name may look like one
    words = [
        None if kind == "vector" and _word(title) not in WRITTEN else _word(title)
        for title, kind in zip_longest(titles, kinds)
    ]
    known = {}
    for column, synonyms in TITLES.items():
        wanted = getattr(asked, column, None)
        if wanted is not None:
            known[column] = _place(titles, wanted, column)
            continue
        places = [place for place, word in enumerate(words) if word in synonyms]
        if column == "labels" and "x" in words:  # x and y are coordinates
            places = [place for place in places if words[place] != "y"]
        if column == "names" and not places:
            places = [place for place, word in enumerate(words) if word in INDEX_TITLES][:1]
        places = [place for place in places if titles[place] not in (asked.names, asked.labels)]
        if len(places) > 1:
            first, second = (titles[place] for place in places[:2])
            choose = f"choose one with {_how(column)}" if column in OPTIONS else "keep one"
            raise InputError(f"columns {first!r} and {second!r} may both be the {_plural(column)}; {choose}")
        if places:
            known[column] = places[0]
    return known


def _other_features(titles: Sequence[str], kinds: Sequence[Kind], known: dict[str, int]) -> list[int]:
    """Return the column of vectors if there is one, else all columns of numbers whose titles mean nothing else."""
    left = [place for place in range(len(titles)) if place not in known.values()]
    vectors = [place for place in left if kinds[place] == "vector"]
    if vectors:
        best = [place for place in vectors if _word(titles[place]) in VECTOR_TITLES] or vectors
        if len(best) > 1:
            first, second = (titles[place] for place in best[:2])
            raise InputError(f"columns {first!r} and {second!r} both hold vectors; choose one with {_how('features')}")
        return best
    # where the user chose the names or the labels, other candidates for them are no features either
    candidates = {*TITLES["names"], *TITLES["labels"], *INDEX_TITLES} - {"y"}
    loose = [place for place in left if _word(titles[place]) not in candidates]
    texts = [titles[place] for place in loose if kinds[place] == "other"]
    if texts:
        heads = ", ".join(title for column in TITLES for title in TITLES[column][:4])
        raise InputError(
            f"column {texts[0]!r} holds no numbers and its title is not known; known are {heads} and others "
            f"(docs/formats.md): rename it, or choose with {_how('names')}, {OPTIONS['labels']}, {OPTIONS['features']}"
        )
    if not loose:
        raise InputError(f"no columns are left for the features; the columns are: {_some(titles) or 'none'}")
    return _numbered_together(titles, loose)


def _numbered_together(titles: Sequence[str], places: list[int]) -> list[int]:
    """Return the features, those of one numbered series by number; refuse a stranger in it and a gap."""
    strangers = _without_number([titles[place] for place in places])
    if len(strangers) == len(places):
        return places
    if strangers:
        rest = [titles[place] for place in places if titles[place] not in strangers]
        raise InputError(
            f"column {strangers[0]!r} stands beside the numbered features {rest[0]} ... {rest[-1]}: is it one of them? "
            f"Choose with {_how('features')}, such as {_prefix(rest[0])}*, or with {OPTIONS['names']} if it holds ids"
        )
    if len({_prefix(titles[place]) for place in places}) > 1:
        return places
    places = sorted(places, key=lambda place: _number(titles[place]))
    for one, next_one in pairwise(places):
        if _number(titles[next_one]) != _number(titles[one]) + 1:
            raise InputError(
                f"a column is missing between {titles[one]!r} and {titles[next_one]!r}, or one is there twice; if "
                f"that is meant, choose with {_how('features')}, such as {_prefix(titles[one])}*"
            )
    return places


def _without_number(titles: Sequence[str]) -> list[str]:
    """Return the titles that are no part of a series such as f0, f1, ..."""
    series = Counter(_prefix(title) for title in titles if NUMBERED.fullmatch(title))
    return [title for title in titles if not NUMBERED.fullmatch(title) or series[_prefix(title)] < 2]


def _asked_features(titles: Sequence[str], asked: str | Sequence[str], known: dict[str, int]) -> list[int]:
    items = [item.strip() for item in asked.split(",")] if isinstance(asked, str) else list(asked)
    taken = set(known.values())
    places: list[int] = []
    for item in items:
        if item in titles:
            found = [titles.index(item)]
        elif ":" in item:
            first, last = (_place(titles, end, "features") for end in item.split(":", 1))
            found = [place for place in range(first, last + 1) if place not in taken]
        else:
            found = [p for p, title in enumerate(titles) if fnmatchcase(title, item) and p not in taken]
        if not found:
            raise InputError(f"no column is {item!r} ({OPTIONS['features']}); the columns are: {_some(titles)}")
        places += [place for place in found if place not in places]
    return places


def _place(titles: Sequence[str], title: str, column: str) -> int:
    if title not in titles:
        raise InputError(f"no column is {title!r} ({OPTIONS[column]}); the columns are: {_some(titles)}")
    return titles.index(title)


def _word(title: str) -> str:
    return re.sub(r"[\s-]+", "_", title.strip().lower())


def _how(column: str) -> str:
    option = OPTIONS[column]
    return f"{option} (in Python {option.strip('-').replace('-', '_')}=)"


def _plural(column: str) -> str:
    return {"part": "parts", "query": "queries", "enhanced": "mark of enhanced features"}.get(column, column)


def _prefix(title: str) -> str:
    found = NUMBERED.fullmatch(title)
    return found[1] if found else title


def _number(title: str) -> int:
    found = NUMBERED.fullmatch(title)
    return int(found[2]) if found else -1


def _shown(title: str) -> str:
    return printable(title) or "the column without a title"


def _some(titles: Sequence[str], most: int = 12) -> str:
    """List titles, a few of many: f0, f1, ... and 116 more."""
    shown = ", ".join(map(_shown, titles[:most]))
    return f"{shown} and {len(titles) - most} more" if len(titles) > most else shown
