from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from kinfolk._core.errors import InputError
from kinfolk.features import FeatureSet, UnitRows, as_matrix, unit_rows


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint16])
def test_features_become_float32(dtype: type) -> None:
    fs = FeatureSet(np.eye(3, dtype=dtype))
    assert fs.features.dtype == np.float32
    assert (len(fs), fs.dim) == (3, 3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.int64])
def test_tensors_are_taken(dtype: torch.dtype) -> None:
    np.testing.assert_array_equal(FeatureSet(torch.eye(3, dtype=dtype)).features, np.eye(3))


def test_float32_is_not_copied(tmp_path: Path) -> None:
    features = np.ones((3, 2), dtype=np.float32)
    assert FeatureSet(features).features is features
    mapped = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.float32, (3, 2))
    assert FeatureSet(mapped).features is mapped
    assert "memory-mapped" in repr(FeatureSet(mapped))


def test_a_converted_map_is_no_longer_a_map(tmp_path: Path) -> None:
    mapped = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.float16, (3, 2))
    fs = FeatureSet(mapped)
    assert type(fs.features) is np.ndarray
    assert "memory-mapped" not in repr(fs)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.ones(3), r"must have the shape \(n, d\), not \(3,\)"),
        (np.ones((3, 0)), "must have the shape"),
        (np.ones((0, 3)), "hold no rows"),
        (np.array([["a"]]), "must be real numbers"),
        (np.array([[None]]), "must be real numbers, not object"),
        (np.array([[1j]]), "must be real numbers"),
        (np.array([[True]]), "must be real numbers"),
    ],
)
def test_what_is_not_a_matrix(features: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_matrix(features)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"labels": [0, 1]}, "labels must be one value a row: 3 were expected"),
        ({"labels": [[0, 1, 2]]}, "labels must be one value a row"),
        ({"labels": [0.5, 1, 2]}, "labels must be int64, not float64"),
        ({"labels": [np.nan, 1, 2]}, "labels must be int64"),
        ({"labels": [np.inf, 1, 2]}, "labels must be int64"),
        ({"labels": [0, 1e30, 2]}, "labels: row 1 is too large for a 64-bit integer"),
        ({"labels": np.array([0, 1, 2**63], dtype=np.uint64)}, "labels: row 2 is too large"),
        ({"labels": np.array([0, None, 2])}, "labels is an object array"),
        ({"labels": [0, 1, 2], "label_names": ("a", "b")}, "labels: row 2 is 2, but there are only 2 names"),
        ({"labels": [0, -2, 0], "label_names": ("a",)}, "labels: row 1 is -2"),
        ({"query": [0, 1, 0]}, "query must be bool, not int64"),
        ({"names": [1, 2, 3]}, "names must be str_, not int64"),
        ({"part_index": [0, 0, 1], "part_names": ("train",)}, "part_index: row 2 is 1, but there are only 1 names"),
        ({"part_index": [0, 0, 0]}, "part_index: row 0 is 0, but there are only 0 names"),
    ],
)
def test_columns_are_checked(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        FeatureSet(np.eye(3), **fields)


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, np.float64])
def test_whole_numbers_of_any_type_are_labels(dtype: type) -> None:
    labels = FeatureSet(np.eye(3), labels=np.array([0, 1, 2], dtype=dtype)).labels
    assert labels is not None
    assert labels.dtype == np.int64


def test_parts_are_views_where_they_can_be() -> None:
    fs = FeatureSet(np.eye(4), names=list("abcd"), part_index=[0, 0, 1, 1], part_names=("train", "test"))
    test = fs.part("test")
    assert np.shares_memory(test.features, fs.features)
    assert test.names is not None
    assert test.names.tolist() == ["c", "d"]
    mixed = FeatureSet(np.eye(4), part_index=[0, 1, 0, 1], part_names=("train", "test")).part("train")
    np.testing.assert_array_equal(mixed.features, np.eye(4)[[0, 2]])
    with pytest.raises(InputError, match="unknown part 'val'; parts of this set: train, test"):
        fs.part("val")
    with pytest.raises(InputError, match="parts of this set: none"):
        FeatureSet(np.eye(4)).part("train")


def test_validate_names_the_row() -> None:
    features = np.ones((5, 2))
    assert len(FeatureSet(features).validate()) == 5
    for value, message in (
        (np.nan, "row 3 has NaN"),
        (-np.inf, "row 3 has an infinite"),
        (0, "row 3 is a zero vector"),
    ):
        features[3] = value
        with pytest.raises(InputError, match=message):
            FeatureSet(features).validate()
    features[3] = 1e300
    with pytest.raises(InputError, match="row 3 has an infinite value"):
        FeatureSet(features).validate()


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_unit_rows_of_any_length(scale: float) -> None:
    X = scale * np.random.default_rng(0).standard_normal((6, 3)) * np.array([[1e-30], [1e30], [1], [2], [3], [4]])
    expected = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(unit_rows(X), expected, rtol=1e-6)
    np.testing.assert_allclose(unit_rows(X[2:] / scale), expected[2:], rtol=1e-6)


def test_unit_rows_are_not_checked_or_copied_again() -> None:
    rows = np.zeros((2, 3), dtype=np.float32)  # would be refused
    assert unit_rows(UnitRows(rows)) is rows
    assert as_matrix(UnitRows(rows)) is rows
    assert len(UnitRows(rows)) == 2


def test_the_mark_of_enhanced_features_stays() -> None:
    fs = FeatureSet(np.eye(3), part_index=[0, 1, 0], part_names=("train", "test"))
    assert fs.enhanced is False and "enhanced" not in repr(fs)
    better = replace(fs, enhanced=True)
    assert repr(better).endswith(", enhanced)")
    assert better.take(np.array([2, 0])).enhanced and better.take(slice(1)).enhanced
    assert better.part("train").enhanced and better.validate().enhanced


@pytest.mark.parametrize(
    "columns",
    [
        dict(names=["a", "b\udcff"]),
        dict(part_index=[0, 1], part_names=("train", "\ud800")),
        dict(labels=[0, 1], label_names=("x", "\udfff")),
    ],
)
def test_half_characters_are_refused_since_no_file_can_hold_them(columns):
    with pytest.raises(InputError, match=r"row 1 is .*not valid Unicode"):
        FeatureSet(np.eye(2), **columns)


def test_other_letters_are_names():
    names = ["", "田中 😀", "=cmd", "\x1b[0m", "e\u0301"]
    assert FeatureSet(np.eye(5), names=names).names.tolist() == names
    assert FeatureSet(np.eye(2), names=np.array(["", ""])).names.tolist() == ["", ""]


def whole_set():
    return FeatureSet(
        np.arange(1.0, 9.0).reshape(4, 2),
        labels=[0, 1, 1, -1],
        label_names=("ann", "bob"),
        cameras=[1, 2, 3, 4],
        names=["a", "b", "c", "d"],
        query=[True, False, False, True],
        part_index=[0, 0, 1, 1],
        part_names=("train", "test"),
    )


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        (slice(1, 3), ["b", "c"]),
        (np.array([True, False, False, True]), ["a", "d"]),
        ([True, False, False, True], ["a", "d"]),
        ([3, 0], ["d", "a"]),
        (np.array([-1]), ["d"]),
        (2, ["c"]),
        (slice(None, None, -1), ["d", "c", "b", "a"]),
    ],
)
def test_rows_are_chosen_as_those_of_an_array(rows, names):
    fs = whole_set()
    chosen = fs[rows]
    assert chosen.names.tolist() == names
    assert chosen.label_names == fs.label_names
    np.testing.assert_array_equal(chosen.features, np.atleast_2d(fs.features[rows]))


@pytest.mark.parametrize(
    ("rows", "message"), [("test", r"fs.part\(name\)"), ([True], "mask of 4"), ([0.5], "chosen by")]
)
def test_rows_that_cannot_be_chosen(rows, message):
    with pytest.raises(InputError, match=message):
        whole_set()[rows]


def test_a_set_is_an_array_and_a_sequence_of_its_rows():
    fs = whole_set()
    np.testing.assert_array_equal(np.asarray(fs), fs.features)
    assert np.asarray(fs, dtype=np.float64).dtype == np.float64
    assert [one.names[0] for one in fs] == ["a", "b", "c", "d"]


def test_joined_sets_have_the_rows_of_both():
    fs = whole_set()
    joined = FeatureSet.concat([fs[:1], fs[1:]])
    for field in ("features", "labels", "cameras", "names", "query", "part_index"):
        np.testing.assert_array_equal(getattr(joined, field), getattr(fs, field))
    assert (joined.label_names, joined.part_names) == (fs.label_names, fs.part_names)


def test_labels_and_parts_are_joined_by_name():
    one = FeatureSet([[1.0], [2.0]], labels=[0, 1], label_names=("b", "c"), part_index=[0, 0], part_names=("x",))
    two = FeatureSet([[1.0], [2.0]], labels=[0, -1], label_names=("a",), part_index=[1, 0], part_names=("x", "y"))
    joined = FeatureSet.concat([one, two])
    assert (joined.labels.tolist(), joined.label_names) == ([1, 2, 0, -1], ("a", "b", "c"))
    assert (joined.part_index.tolist(), joined.part_names) == ([0, 0, 1, 0], ("x", "y"))


def test_rows_without_labels_are_unknown_among_others():
    joined = FeatureSet.concat([FeatureSet([[1.0]], labels=[7]), FeatureSet([[2.0]]), FeatureSet([[2.0]], labels=[7])])
    assert joined.labels.tolist() == [7, -1, 7]
    assert FeatureSet.concat([FeatureSet([[1.0]])]).labels is None


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (dict(features=[[1.0, 2.0]]), "set 1 has 2 dimensions, set 0 has 1"),
        (dict(cameras=[1]), "set 1 has cameras, set 0 has none"),
        (dict(names=["a"]), "set 1 has names, set 0 has none"),
        (dict(part_index=[0], part_names=("a",)), "set 1 has part_index, set 0 has none"),
        (dict(labels=[0], label_names=("a",)), "labels of some sets are texts, those of others numbers"),
        (dict(enhanced=True), "only one is enhanced"),
    ],
)
def test_sets_that_cannot_be_joined(other, message):
    with pytest.raises(InputError, match=message):
        FeatureSet.concat([FeatureSet([[1.0]], labels=[0]), FeatureSet(**({"features": [[1.0]]} | other))])
    with pytest.raises(InputError, match="no sets to join"):
        FeatureSet.concat([])


def test_no_text_acts_in_a_notebook():
    fs = FeatureSet(
        np.ones((9, 6)),
        names=["<script>"] * 9,
        labels=[0] * 9,
        label_names=("<b>",),
        part_index=[0] * 9,
        part_names=("<i>&",),
    )
    page = fs._repr_html_()
    assert page.count("&lt;script&gt;") == 5
    assert "FeatureSet(9 x 6, 1 classes, parts &lt;i&gt;&amp; 9)" in page
    assert not any(tag in page for tag in ("<script>", "<b>", "<i>"))
