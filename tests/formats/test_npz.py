from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.formats import load


def test_real_market(shared_data: Path) -> None:
    fs = load(shared_data / "market1501.npz")
    assert (len(fs), fs.dim) == (12_936, 256)
    assert fs.part_names == ("train", "test")
    assert fs.labels is not None and fs.cameras is not None and fs.query is not None
    assert len(np.unique(fs.labels)) == 375 + 376
    assert len(np.unique(fs.cameras)) == 6
    assert not set(fs.part("train").labels) & set(fs.part("test").labels)


def test_texts_as_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", features=np.eye(3), labels=np.array(["b", "a", "b"]))
    fs = load(tmp_path / "a.npz")
    assert fs.label_names == ("a", "b")
    assert fs.labels is not None
    assert fs.labels.tolist() == [1, 0, 1]


def test_fortran_order_and_big_endian(tmp_path: Path) -> None:
    features = np.asfortranarray(np.arange(1, 13, dtype=">f4").reshape(4, 3))
    np.savez(tmp_path / "a.npz", features=features)
    np.testing.assert_array_equal(load(tmp_path / "a.npz").features, features)


@pytest.mark.parametrize("field", ["features", "labels", "names", "part_names"])
def test_an_object_array_is_named(field: str, tmp_path: Path) -> None:
    arrays = {"features": np.eye(2), field: np.array([{}, None])}
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=rf"a.npz: {field} is an object array \(a pickle\), which is never loaded"):
        load(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.ones(2)}, r"no matrix of numbers that could be the features; the arrays are: x \(2,\)"),
        ({"features": np.ones(3)}, r"features must have the shape \(n, d\), not \(3,\)"),
        ({"features": np.ones((2, 2)) * 1j}, r"features must be numbers"),
        ({"features": np.array([["a"]])}, r"features must be real numbers"),
        ({"features": np.ones((0, 2))}, r"features hold no rows"),
        ({"features": np.array([[1, 1], [np.nan, 1]])}, r"row 1 has NaN"),
        ({"features": np.array([[1, 1], [1, np.inf]])}, r"row 1 has an infinite value"),
        ({"features": np.array([[1e300, 1]])}, r"row 0 has an infinite value"),
        ({"features": np.array([[0, 0], [1, 1]])}, r"row 0 is a zero vector"),
        ({"features": np.eye(2), "labels": np.arange(3)}, r"labels must be one value a row: 2 were expected"),
        ({"features": np.eye(2), "labels": np.array([0.5, 1])}, r"labels must be int64, not float64"),
        ({"features": np.eye(2), "query": np.array([0, 1])}, r"query must be bool, not int64"),
        ({"features": np.eye(2), "part": np.array([0, 2])}, r"part_index: row 0 is 0"),
        (
            {"features": np.eye(2), "part": np.array([0, 1]), "part_names": np.array(["a", "a"])},
            r"the part 'a' is named twice in part_names",
        ),
        ({"features": np.eye(2), "part_names": np.arange(2)}, r"part_names must be a list of texts"),
    ],
)
def test_wrong_fields(arrays: dict[str, np.ndarray], message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=f"a.npz: (features: )?{message}"):
        load(tmp_path / "a.npz")


def test_a_header_that_claims_too_much(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**12, 256)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("features.npy", header.getvalue() + b"1234")
    with pytest.raises(InputError, match=r"features is truncated: the header says shape \(1000000000000, 256\)"):
        load(tmp_path / "a.npz")


def test_not_a_zip(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"not a zip file")
    with pytest.raises(InputError, match=r"a.npz cannot be read as an .npz file, it may be damaged or truncated"):
        load(tmp_path / "a.npz")


@pytest.mark.parametrize("field", ["embeddings", "image_features", "arr_0"])
def test_other_names_as_people_give_them(field: str, tmp_path: Path) -> None:
    """As np.savez(file, X) and embedders name their fields."""
    np.savez(tmp_path / "a.npz", **{field: np.eye(3, dtype=np.float16), "targets": np.arange(5), "pid": np.arange(3)})
    fs = load(tmp_path / "a.npz")
    np.testing.assert_array_equal(fs.features, np.eye(3))
    assert fs.labels is not None
    assert fs.labels.tolist() == [0, 1, 2]


def test_two_matrices_are_a_question(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", image_features=np.eye(2), text_features=-np.eye(2))
    with pytest.raises(InputError, match="both hold vectors; choose one"):
        load(tmp_path / "a.npz")
    assert load(tmp_path / "a.npz", feature_columns="text_features").features[0, 0] == -1


def test_an_object_array_that_nobody_needs(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", embeddings=np.eye(2), info=np.array({"model": "x"}, dtype=object))
    assert load(tmp_path / "a.npz").dim == 2
