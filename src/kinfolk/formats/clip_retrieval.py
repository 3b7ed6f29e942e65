"""A folder as clip-retrieval writes it with open_clip: img_emb/img_emb_0.npy ..., text_emb/, metadata/*.parquet.

Load the folder, or img_emb or text_emb where there are both. Names are the image paths (or captions) of the metadata.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from kinfolk._core.errors import InputError
from kinfolk.features import FeatureSet
from kinfolk.formats import npy
from kinfolk.formats._arrow_table import cells_of, pyarrow
from kinfolk.formats._common import reading, text_array
from kinfolk.formats._shards import in_order, joined

SIDES = {"img_emb": "image_path", "text_emb": "caption"}
SHARD = re.compile(r"(img_emb|text_emb)_([0-9]+)\.npy")


def matches(folder: Path) -> bool:
    """Return whether a folder has such shards, or is the folder of a run."""
    return bool(_shards(folder)) or any(_shards(folder / side) for side in SIDES)


def read(folder: Path) -> FeatureSet:
    """Read all shards of one side in their order; they are float16 as a rule."""
    place = folder if _shards(folder) else _side(folder)
    shards = _shards(place)
    if len({SHARD.fullmatch(file.name)[1] for file in shards}) > 1:  # type: ignore[index]
        raise InputError(f"{folder}: shards of images and of texts are in one folder; put them into one each")
    return joined(place, [_with_names(npy.read(file), file) for file in shards])


def _side(folder: Path) -> Path:
    there = [side for side in SIDES if _shards(folder / side)]
    if len(there) > 1:
        raise InputError(f"{folder} has vectors of images and of texts: load its {there[0]} or its {there[1]}")
    return folder / there[0]


def _shards(folder: Path) -> list[Path]:
    return in_order(file for file in folder.glob("*_emb_*.npy") if SHARD.fullmatch(file.name))


def _with_names(fs: FeatureSet, shard: Path) -> FeatureSet:
    found = SHARD.fullmatch(shard.name)
    assert found is not None
    name = f"metadata_{found[2]}.parquet"
    metadata = next((f for f in (shard.parent.parent / "metadata" / name, shard.parent / name) if f.is_file()), None)
    if metadata is None:
        return fs
    with reading(metadata, "the metadata of clip-retrieval"):
        title = SIDES[found[1]]
        parquet = pyarrow("parquet")
        if title not in parquet.read_schema(metadata).names:
            return fs
        with parquet.ParquetFile(metadata, page_checksum_verification=True, read_dictionary=[title]) as source:
            source.scan_contents([title])  # damage is an exception here, as in `parquet.read`
            names = cells_of(source.read(columns=[title]).column(title))
        if len(names) != len(fs):
            raise InputError(f"it has {len(names):,} rows, but {shard.name} has {len(fs):,}")
        return replace(fs, names=text_array(["" if name is None else str(name) for name in names]))
