"""The model folder: it comes back as it was, and each kind of damage gets its sentence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from safetensors.torch import save_file as save_torch

import kinfolk
from kinfolk._core.errors import InputError
from kinfolk.enhance import _serving
from kinfolk.formats.model_folder import group, load_model, save_model
from kinfolk.neighbors import copies

DATA = Path(__file__).parents[1] / "data"

CONFIG = {"rate": 0.1 + 0.2, "tiny": 5e-324, "layers": [3, 2], "name": "größe", "none": None, "yes": True}
TENSORS = {
    "weight": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "half": np.array([1.5, -2.0], dtype=np.float16),
    "mask": np.array([True, False]),
    "numbers": np.arange(4, dtype=np.int64),
    "one": np.float32(3.0),
    "none": np.zeros((0, 2)),
}


def save(path, **changes):
    save_model(path, **(dict(kind="metric", config=CONFIG, tensors=TENSORS, card="# A card") | changes))


@pytest.fixture
def model(tmp_path):
    save(tmp_path / "model")
    return tmp_path / "model"


def change_config(model, **changes):
    facts = json.loads((model / "config.json").read_text()) | changes
    (model / "config.json").write_text(json.dumps({name: value for name, value in facts.items() if value != "gone"}))


def test_round_trip(model):
    kind, config, tensors = load_model(model, kind="metric")
    assert (kind, config) == ("metric", CONFIG)
    assert tensors.keys() == TENSORS.keys()
    for name, expected in TENSORS.items():
        np.testing.assert_array_equal(tensors[name], expected)
        assert (tensors[name].dtype, tensors[name].shape) == (expected.dtype, expected.shape), name
    assert sorted(file.name for file in model.iterdir()) == [
        *("README.md", "config.json", "manifest.json", "weights.safetensors")
    ]
    assert (model / "README.md").read_text() == "# A card\n"
    facts = json.loads((model / "config.json").read_text())
    assert (facts["format_version"], facts["kinfolk"]) == (1, kinfolk.__version__)
    assert facts["weights"]["tensors"]["weight"] == {"shape": [3, 2], "dtype": "float32"}


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.text()))
def test_every_config_comes_back_exactly(tmp_path_factory, config):
    folder = tmp_path_factory.mktemp("model")
    save(folder / "model", config=config, tensors={})
    found = load_model(folder / "model")[1]
    assert found == config
    assert [repr(value) for value in found.values()] == [repr(value) for value in config.values()]


def test_read_only_and_non_contiguous_arrays_are_saved(tmp_path):
    values = np.arange(12.0).reshape(3, 4)[:, ::2]
    values.flags.writeable = False
    save(tmp_path / "model", tensors={"a": values})
    np.testing.assert_array_equal(load_model(tmp_path / "model")[2]["a"], values)


def test_tensors_of_torch_are_taken(tmp_path):
    save(tmp_path / "model", tensors={"a": torch.eye(2)})
    np.testing.assert_array_equal(load_model(tmp_path / "model")[2]["a"], np.eye(2))


def test_numbers_that_numpy_does_not_have_are_named(model):
    save_torch({"half": torch.ones(2, dtype=torch.bfloat16)}, model / "weights.safetensors")
    with pytest.raises(InputError, match=r"weights\.safetensors: tensor 'half' is of the type BF16, which numpy"):
        load_model(model)


def test_a_group_of_tensors():
    found = group({"a.x": np.zeros(1), "b.x": np.ones(1), "b.y.z": np.ones(2)}, "b.")
    assert found.keys() == {"x", "y.z"}


def test_a_model_of_version_0_1_gives_the_same_features(monkeypatch):
    """The folder and the features it made were written by kinfolk 0.1 (commit c42d673): GraphEnhancer().fit(X).

    At the k that 0.1 chose and with near copies as rows of their own: both are the program's, not the model's.
    """
    monkeypatch.setattr(copies, "SHARE_OF_DISTANCE", 0.0)
    with np.load(DATA / "model-0.1.npz") as example:
        e = kinfolk.GraphEnhancer.load(DATA / "model-0.1")
        monkeypatch.setattr(_serving, "k_for_features", lambda *_: e.k_)
        enhanced = e.transform(example["features"])
        np.testing.assert_allclose(enhanced, example["expected"], atol=2e-6)


def test_only_a_model_is_replaced_and_only_with_force(model, tmp_path):
    with pytest.raises(InputError, match="exists already"):
        save(model)
    save(model, kind="encoder", force=True)
    assert load_model(model)[0] == "encoder"
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(InputError, match=r"kinfolk did not write \(cat.jpg\)"):
        save(tmp_path / "photos", force=True)
    with pytest.raises(InputError, match="is a file"):
        save(tmp_path / "photos" / "cat.jpg", force=True)
    (tmp_path / "empty").mkdir()
    save(tmp_path / "empty", force=True)
    assert load_model(tmp_path / "empty")[0] == "metric"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(config={"a": float("nan")}), "JSON cannot"),
        (dict(config={"a": {1, 2}}), "JSON cannot"),
        (dict(tensors={"names": np.array(["a", "b"])}), "tensor 'names' cannot be saved: it must be numbers"),
        (dict(tensors={"any": np.array([None])}), "tensor 'any' cannot be saved: it must be numbers"),
        (dict(tensors={"z": np.array([1j])}), "tensor 'z' cannot be saved: it must be numbers"),
        (dict(tensors={"sparse": torch.eye(2).to_sparse()}), "tensor 'sparse' cannot be saved: numpy cannot hold it"),
        (dict(tensors={"b": torch.ones(2, dtype=torch.bfloat16)}), "tensor 'b' cannot be saved: numpy cannot hold it"),
    ],
)
def test_what_cannot_be_saved_leaves_nothing(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        save(tmp_path / "model", **changes)
    assert list(tmp_path.iterdir()) == []


def test_missing_parts(model, tmp_path):
    with pytest.raises(InputError, match="nowhere does not exist"):
        load_model(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"is not a model folder: config\.json is missing"):
        load_model(model / "README.md")
    (model / "weights.safetensors").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"weights\.safetensors does not exist"):
        load_model(model)
    (model / "config.json").unlink()
    with pytest.raises(InputError, match=r"is not a model folder: config\.json is missing"):
        load_model(model)


def test_another_kind(model):
    with pytest.raises(InputError, match="holds a model of the kind 'metric', one of the kind 'encoder'"):
        load_model(model, kind="encoder")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(format_version=2), r"newer kinfolk \(format 2\): upgrade"),
        (dict(format_version=0), r"older kinfolk \(format 0\)"),
        (dict(format_version="1"), "no format_version"),
        (dict(format_version=True), "no format_version"),
        (dict(format_version="gone"), "no format_version"),
        (dict(kind="gone"), "is damaged: it needs a kind"),
        (dict(kind=7), "is damaged"),
        (dict(config=[1]), "is damaged"),
        (dict(weights="gone"), "is damaged"),
        (dict(weights={"tensors": {}}), "is damaged"),
        (dict(weights={"tensors": {}, "sha256": ""}), "unknown tensors half, mask, none, numbers, one, weight"),
    ],
)
def test_a_config_of_another_kind(model, changes, message):
    change_config(model, **changes)
    with pytest.raises(InputError, match=message):
        load_model(model)


@pytest.mark.parametrize("content", ["", "{", "[1]", '"text"', "null", "\xff"])
def test_a_config_that_is_no_json_object(model, content):
    (model / "config.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=r"config\.json"):
        load_model(model)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("weight", None, "missing tensors weight"),
        ("more", np.ones(1), "unknown tensors more"),
        ("weight", np.ones((2, 3), dtype=np.float32), r"weight is .*\[2, 3\].*, not .*\[3, 2\]"),
        ("weight", np.ones((3, 2)), "weight is .*float64.*, not .*float32"),
        ("weight", np.ones((3, 2), dtype=np.float32), "SHA-256 differs"),
    ],
)
def test_other_weights(model, name, value, message):
    tensors = load_file(model / "weights.safetensors") | {name: value}
    save_file({n: t for n, t in tensors.items() if t is not None}, model / "weights.safetensors")
    with pytest.raises(InputError, match=rf"weights\.safetensors .*{message}"):
        load_model(model)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_truncated_or_changed_files_are_refused(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damaged") / "model"
    save(folder)
    file = folder / data.draw(st.sampled_from(["weights.safetensors", "config.json"]))
    whole = file.read_bytes()
    if data.draw(st.booleans()):
        # without its last line break the config still is whole
        file.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 2))])
    else:
        file = folder / "weights.safetensors"
        damaged = bytearray(file.read_bytes())
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
        file.write_bytes(damaged)
    with pytest.raises(InputError):
        load_model(folder)
    shutil.rmtree(folder.parent)


def test_whoever_may_read_the_config_may_read_the_weights(model):
    modes = {file.name: file.stat().st_mode & 0o777 for file in model.iterdir()}
    assert len(set(modes.values())) == 1, modes
