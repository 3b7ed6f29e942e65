"""Folders of clip-retrieval: float16 shards and their metadata."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kinfolk._core.errors import InputError
from kinfolk.formats import load

X = np.random.default_rng(0).standard_normal((24, 3)).astype(np.float16)


def write(folder: Path, side: str, shards: int = 12, metadata: bool = True) -> None:
    (folder / side).mkdir(parents=True)
    (folder / "metadata").mkdir(exist_ok=True)
    for number, rows in enumerate(np.array_split(np.arange(len(X)), shards)):
        np.save(folder / side / f"{side}_{number}.npy", X[rows])
        if metadata:
            table = pa.table({"image_path": [f"{row}.jpg" for row in rows], "caption": [f"c{row}" for row in rows]})
            pq.write_table(table, folder / "metadata" / f"metadata_{number}.parquet")


def test_shards_with_their_paths_in_order(tmp_path: Path) -> None:
    write(tmp_path / "run", "img_emb")
    fs = load(tmp_path / "run")
    np.testing.assert_array_equal(fs.features, X.astype(np.float32))
    assert fs.names is not None
    assert fs.names.tolist() == [f"{row}.jpg" for row in range(24)]


def test_images_and_texts_are_a_question(tmp_path: Path) -> None:
    write(tmp_path / "run", "img_emb")
    write(tmp_path / "run", "text_emb")
    with pytest.raises(InputError, match="load its img_emb or its text_emb"):
        load(tmp_path / "run")
    texts = load(tmp_path / "run" / "text_emb")
    assert texts.names is not None
    assert texts.names[3] == "c3"


def test_without_metadata_and_with_that_of_others(tmp_path: Path) -> None:
    write(tmp_path / "run", "img_emb", metadata=False)
    assert load(tmp_path / "run").names is None
    pq.write_table(pa.table({"image_path": ["a"]}), tmp_path / "run" / "metadata" / "metadata_0.parquet")
    with pytest.raises(InputError, match=r"metadata_0\.parquet: it has 1 rows, but img_emb_0\.npy has 2"):
        load(tmp_path / "run")
