"""samples.json of fiftyone, written here as its export does."""

from __future__ import annotations

import base64
import io
import json
import zlib
from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.formats import load

X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


def packed(vector: np.ndarray) -> dict[str, object]:
    stream = io.BytesIO()
    np.save(stream, vector)
    text = base64.b64encode(zlib.compress(stream.getvalue())).decode()
    return {"$binary": {"base64": text, "subType": "00"}}


def samples(**changes: object) -> list[dict[str, object]]:
    return [
        {
            "_id": {"$oid": "6"},
            "id": "6",
            "filepath": f"data/{row}.jpg",
            "tags": ["validation"],
            "metadata": None,
            "ground_truth": {"_cls": "Classification", "label": "dog" if row % 2 else "cat"},
            "predictions": {"_cls": "Classification", "label": "cat"},
            "embedding": vector.tolist(),
            **changes,
        }
        for row, vector in enumerate(X)
    ]


def written(folder: Path, content: object) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "samples.json").write_text(json.dumps(content))
    (folder / "metadata.json").write_text("{}")
    return folder


@pytest.mark.parametrize("form", ["list", "binary", "old binary"])
def test_vectors_labels_and_paths(form: str, tmp_path: Path) -> None:
    made = samples()
    for sample, vector in zip(made, X, strict=True):
        if form != "list":
            sample["embedding"] = packed(vector)
        if form == "old binary":
            sample["embedding"] = {"$binary": sample["embedding"]["$binary"]["base64"], "$type": "00"}  # type: ignore[index]
    folder = written(tmp_path / "export", {"samples": made})
    for source in (folder, folder / "samples.json"):
        fs = load(source)
        np.testing.assert_array_equal(fs.features, X)
        assert fs.names is not None and fs.labels is not None
        assert fs.names.tolist() == [f"data/{row}.jpg" for row in range(4)]
        assert [fs.label_names[label] for label in fs.labels] == ["cat", "dog", "cat", "dog"]


def test_two_vectors_are_a_question(tmp_path: Path) -> None:
    folder = written(tmp_path / "export", {"samples": samples(clip=[1.0, 2.0], embedding=None, resnet=[2.0, 1.0])})
    with pytest.raises(InputError, match="columns 'clip' and 'resnet' both hold vectors"):
        load(folder)
    assert load(folder, feature_columns="resnet").features[0].tolist() == [2, 1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, 'a list of "samples" was expected'),
        ({"samples": []}, 'a list of "samples" was expected'),
        ({"samples": [1]}, 'a list of "samples" was expected'),
        ({"samples": [{"filepath": "a"}]}, "no field of its samples holds a vector; the fields are: filepath"),
        ({"samples": [{"e": [1.0]}, {"e": None}]}, "e of sample 1 is no list of numbers"),
        ({"samples": [{"e": [1.0]}, {"e": [1.0, 2.0]}]}, r"e of sample 1 has the shape \(2,\), not \(1,\)"),
        ({"samples": [{"e": {"$binary": "?"}}]}, "e of sample 0 is damaged"),
        ({"samples": [{"e": {"$binary": {"base64": 3}}}]}, "e of sample 0 is damaged"),
        ({"samples": [{"e": packed(np.eye(2))}]}, "must be one vector"),
        ({"samples": [{"e": packed(np.zeros(1 << 21))}]}, "e of sample 0 is damaged: e is truncated"),
    ],
)
def test_what_is_wrong_is_said(content: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        load(written(tmp_path / "export", content))
