"""What holds for every format: round trips, nothing overwritten, nothing half written, no foreign exceptions."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinfolk._core.errors import DiskFullError, InputError
from kinfolk.features import FeatureSet
from kinfolk.formats import BY_SUFFIX, FORMATS, WRITTEN, dropped, load, save
from kinfolk.formats._common import COLUMNS

SUFFIXES = WRITTEN
DOCS = Path(__file__).parents[2] / "docs" / "formats.md"
few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
texts = st.text(max_size=12).map(lambda text: text.rstrip("\0"))  # numpy drops the zeros at the end of a text


@st.composite
def feature_sets(draw: st.DrawFn) -> FeatureSet:
    rows, dim = draw(st.integers(1, 9)), draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    has = {name: draw(st.booleans()) for name in (*COLUMNS, "label_names")}
    # a label name of digits would be read back as a number by the text formats, which is what they promise
    classes = st.lists(texts.map("c{}".format), unique=True, min_size=1, max_size=4)
    label_names = tuple(draw(classes)) if has["label_names"] else ()
    labelled = has["labels"] or has["label_names"]
    names = draw(st.lists(texts, min_size=rows, max_size=rows)) if has["names"] else None
    return FeatureSet(
        rng.standard_normal((rows, dim)) * 10.0 ** draw(st.integers(-30, 30)),
        labels=rng.integers(-1, len(label_names) or 10**9, rows) if labelled else None,
        cameras=rng.integers(-(2**40), 2**40, rows) if has["cameras"] else None,
        names=None if names is None else np.array(names, dtype=np.str_),
        query=rng.random(rows) < 0.5 if has["query"] else None,
        part_index=rng.integers(0, 2, rows) if has["part"] else None,
        part_names=("train", "test") if has["part"] else (),
        label_names=label_names,
        enhanced=draw(st.booleans()),
    )


def for_format(fs: FeatureSet, suffix: str) -> FeatureSet:
    """Return what the format can hold, rows in its order: .mat needs labels, cameras, a query and a gallery."""
    if suffix in (".npy", ".bin"):  # label names have no place there
        return replace(fs, label_names=())
    if suffix != ".mat":
        return fs
    if len(fs) == 1:
        fs = fs.take(np.array([0, 0]))
    query = np.arange(len(fs)) == 0
    zeros = np.zeros(len(fs), dtype=np.int64)
    labels, cameras = (zeros if column is None else column for column in (fs.labels, fs.cameras))
    return FeatureSet(fs.features, labels=labels, cameras=cameras, query=query, enhanced=fs.enhanced)


@pytest.mark.parametrize("suffix", SUFFIXES)
@few
@given(fs=feature_sets())
def test_what_is_written_is_read_back(suffix: str, same: Callable[..., None], fs: FeatureSet) -> None:
    fs = for_format(fs, suffix)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"set{suffix}"
        save(fs, path)
        again = load(path, dim=fs.dim)
        kept = [name for name in COLUMNS if name in BY_SUFFIX[suffix].keeps]
        same(fs, again, tuple(COLUMNS[name] for name in kept))
        assert again.features.dtype == np.float32


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_mark_of_enhanced_features_is_that_of_the_last_set_written(
    suffix: str, small: FeatureSet, tmp_path: Path
) -> None:
    path, test = tmp_path / f"set{suffix}", small.part("test")
    for enhanced in (True, False, True):
        save(replace(test, enhanced=enhanced), path, force=True)
        assert load(path, dim=4).enhanced is enhanced


@pytest.mark.parametrize("source", SUFFIXES)
@pytest.mark.parametrize("target", SUFFIXES)
def test_the_mark_of_enhanced_features_survives_every_conversion(
    source: str, target: str, small: FeatureSet, tmp_path: Path
) -> None:
    test = replace(small.part("test"), enhanced=True)
    save(test, tmp_path / f"one{source}")
    read = load(tmp_path / f"one{source}", dim=4)
    # what a format has dropped and .mat needs
    whole = replace(read, labels=test.labels, cameras=test.cameras, query=test.query)
    save(whole, tmp_path / f"two{target}")
    assert load(tmp_path / f"two{target}", dim=4).enhanced


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_is_overwritten_without_force(suffix: str, tmp_path: Path, small: FeatureSet) -> None:
    path = tmp_path / f"set{suffix}"
    test = small.part("test")
    save(test, path)
    before = _content(tmp_path)
    with pytest.raises(InputError, match="exists already"):
        save(test.take(slice(0, 3)), path)
    assert _content(tmp_path) == before
    save(test.take(slice(0, 3)), path, force=True)
    assert len(load(path, dim=4)) == 3
    assert set(_content(tmp_path)) == set(before)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failed_write_leaves_nothing(
    suffix: str, tmp_path: Path, small: FeatureSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(this: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    monkeypatch.setattr(Path, "rename", full)
    monkeypatch.setattr(os, "link", full)
    with pytest.raises(DiskFullError, match=rf"set\{suffix} cannot be written: the disk is full"):
        save(small.part("test"), tmp_path / f"set{suffix}")
    assert _content(tmp_path) == {}


@pytest.mark.parametrize(("suffix", "other"), [(".bin", "set.meta"), (".npy", "set.labels.npy")])
def test_all_files_of_a_format_are_checked_before_any_is_written(
    suffix: str, other: str, tmp_path: Path, small: FeatureSet
) -> None:
    (tmp_path / other).write_text("mine")
    for force in (False, True):
        with pytest.raises(InputError, match=rf"{other} is there without set\{suffix}"):
            save(small, tmp_path / f"set{suffix}", force=force)
    assert _content(tmp_path) == {other: b"mine"}


@pytest.mark.parametrize("suffix", [".bin", ".npy"])
def test_features_without_labels_are_not_written_beside_the_labels_of_others(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "set_labels.txt").write_text("1\n2\n")
    with pytest.raises(InputError, match=r"set_labels.txt would be read as the labels"):
        save(FeatureSet(np.eye(2)), tmp_path / f"set{suffix}", force=True)
    assert set(_content(tmp_path)) == {"set_labels.txt"}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz"])
def test_texts_that_look_like_vectors_stay_texts(suffix: str, tmp_path: Path) -> None:
    odd = ["[", "[0.5, 1]"]
    save(FeatureSet(np.eye(2), names=odd, labels=[1, 0], label_names=odd), tmp_path / f"set{suffix}")
    fs = load(tmp_path / f"set{suffix}")
    assert fs.names is not None
    assert fs.labels is not None
    assert fs.dim == 2
    assert fs.names.tolist() == odd
    assert [fs.label_names[label] for label in fs.labels] == odd[::-1]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinite"), (0.0, "zero vector")])
def test_bad_vectors_are_not_written(suffix: str, value: float, word: str, tmp_path: Path) -> None:
    features = np.ones((4, 3))
    features[2] = value
    fs = FeatureSet(features, labels=[0] * 4, cameras=[0] * 4, query=[True, False, False, False])
    with pytest.raises(InputError, match=f"row 2 .*{word}"):
        save(fs, tmp_path / f"set{suffix}")
    assert _content(tmp_path) == {}


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(few, max_examples=60)
@given(data=st.data())
def test_a_damaged_file_gives_an_input_error_or_a_valid_set(
    suffix: str, small: FeatureSet, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"set{suffix}"
        save(small.part("test"), path)
        file = data.draw(st.sampled_from(sorted(p for p in Path(folder).rglob("*") if p.is_file())))
        content = bytearray(file.read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        damage = data.draw(st.sampled_from(["cut", "flip", "many", "insert", "delete"]))
        if damage == "cut":
            del content[at:]
        elif damage == "insert":
            content[at:at] = data.draw(st.binary(min_size=1, max_size=9))
        elif damage == "delete":
            del content[at : at + data.draw(st.integers(1, 9))]
        else:
            for place in range(at, min(at + (1 if damage == "flip" else 8), len(content))):
                content[place] ^= data.draw(st.integers(1, 255))
        file.write_bytes(content)
        try:
            fs = load(path, dim=4)
        except InputError as error:
            assert "set" in str(error)
            assert "\n" not in str(error)
        else:
            assert repr(fs)
            if suffix != ".kf" and fs.names is not None:  # those of a .kf stay on disk until they are used
                assert len(fs.names.tolist()) == len(fs)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_length_of_a_truncated_file(suffix: str, tmp_path: Path, small: FeatureSet) -> None:
    path = tmp_path / f"set{suffix}"
    save(small.part("test"), path)
    file = path / "features.npy" if path.is_dir() else path
    content = file.read_bytes()
    for length in range(0, len(content), max(1, len(content) // 200)):
        file.write_bytes(content[:length])
        try:
            load(path, dim=4)
        except InputError:
            continue
        assert suffix in (".csv", ".tsv", ".bin"), "only these have no end that could be missing"


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix != ".kf"])
def test_an_empty_file(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"set{suffix}"
    path.touch()
    with pytest.raises(InputError, match=r"is empty \(0 bytes\)"):
        load(path)


def test_the_suffix_is_read_in_any_case(tmp_path: Path, small: FeatureSet, same: Callable[..., None]) -> None:
    save(small, tmp_path / "set.NPZ")
    same(load(tmp_path / "set.NPZ"), small)


def test_an_unknown_suffix_lists_those_that_are_read_or_written(tmp_path: Path, small: FeatureSet) -> None:
    (tmp_path / "set.pkl").write_bytes(b"x")
    with pytest.raises(InputError, match=r"'.pkl' is not known; known are .npz, .npy, .bin"):
        load(tmp_path / "set.pkl")
    with pytest.raises(InputError, match=r"'.pkl' is not known; written are .npz, .npy, .bin") as caught:
        save(small, tmp_path / "other.pkl")
    assert ".arrow" not in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"set.npz does not exist"):
        load(tmp_path / "set.npz")


def test_a_folder_of_nothing_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is a folder without features.npy"):
        load(tmp_path)


def test_dim_is_checked_where_it_is_not_needed(tmp_path: Path, small: FeatureSet) -> None:
    save(small, tmp_path / "set.npz")
    assert load(tmp_path / "set.npz", dim=4).dim == 4
    with pytest.raises(InputError, match=r"set.npz: vectors have 4 dimensions, not dim=5"):
        load(tmp_path / "set.npz", dim=5)
    with pytest.raises(InputError, match="dim must be a whole number from 1 on, not 0"):
        load(tmp_path / "set.npz", dim=0)


def test_part_and_labels_apply_to_every_format(tmp_path: Path, small: FeatureSet) -> None:
    save(small, tmp_path / "set.npz")
    assert len(load(tmp_path / "set.npz", part="test")) == 4
    with pytest.raises(InputError, match=r"set.npz: unknown part 'val'; parts of this set: train, test"):
        load(tmp_path / "set.npz", part="val")
    (tmp_path / "other.txt").write_text("cat\ndog\ncat\ncat\ndog\ndog\n")
    fs = load(tmp_path / "set.npz", labels=tmp_path / "other.txt", part="test")
    assert fs.label_names == ("cat", "dog")
    assert fs.labels is not None
    assert fs.labels.tolist() == [0, 0, 1, 1]


def test_writing_to_a_place_that_cannot_be(tmp_path: Path, small: FeatureSet) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(InputError, match="cannot be written"):
        save(small, tmp_path / "file" / "set.npz")
    (tmp_path / "set.npz").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        save(small, tmp_path / "set.npz", force=True)
    assert set(_content(tmp_path)) == {"file"}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_name_that_is_not_unicode(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not valid Unicode"):
        save(FeatureSet(np.eye(1), names=np.array(["\ud800"])), tmp_path / f"set{suffix}")
    assert _content(tmp_path) == {}


def test_dropped_columns(small: FeatureSet) -> None:
    assert dropped(small, "x.npz") == ()
    assert dropped(small, "x.mat") == ("part", "names")
    assert dropped(small, "x.bin") == ("cameras", "query", "part", "names")


def test_the_docs_name_every_format_as_the_table_does() -> None:
    page = DOCS.read_text(encoding="utf-8")
    for known in FORMATS:
        assert known.description in page, known.name
        for suffix in known.suffixes:
            assert f"`{suffix}`" in page


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clinc150", "banking77", "omniglot", "market1501"])
@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".parquet", ".kf"])
def test_real_features_go_through_every_full_format(
    name: str, suffix: str, shared_data: Path, tmp_path: Path, same: Callable[..., None]
) -> None:
    fs = load(shared_data / f"{name}.npz")
    assert fs.part_names == ("train", "test")
    save(fs, tmp_path / f"set{suffix}")
    same(load(tmp_path / f"set{suffix}"), fs)


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_label_words_that_a_format_cannot_hold_are_reported() -> None:
    fs = FeatureSet(np.eye(2), labels=[0, 1], label_names=("cat", "dog"))
    assert dropped(fs, "x.bin") == ("label_names",)
    assert dropped(fs, "x.csv") == ()


@pytest.mark.parametrize("suffix", sorted(set(BY_SUFFIX) - set(WRITTEN)))
def test_a_format_that_is_only_read(suffix: str, tmp_path: Path, small: FeatureSet) -> None:
    with pytest.raises(InputError, match=r"only read; written are \.npz, \.npy"):
        save(small, tmp_path / f"set{suffix}")


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_half_precision_becomes_float32(suffix: str, tmp_path: Path) -> None:
    """As sentence-transformers and open_clip give it."""
    half = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float16)
    file = tmp_path / f"set{suffix}"
    np.save(file, half) if suffix == ".npy" else np.savez(file, features=half)
    fs = load(file)
    assert fs.features.dtype == np.float32
    np.testing.assert_array_equal(fs.features, half.astype(np.float32))
