"""The folder of a trained model: config.json, weights.safetensors, README.md, the model card, and a manifest.

Read and written with numpy alone, so that a label-free model needs no torch; folders of kinfolk 0.1 are read as well.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as serialized

from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file, existing_folder, replacing_folder, steady
from kinfolk._core.json_file import read_json
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk._core.version import __version__
from kinfolk.formats._common import reading

KIND = "model"  # in the manifest
FORMAT_VERSION = 1
MOST_CONFIG_BYTES = 4 << 20  # the description of a tensor takes about 100 bytes
CONFIG, WEIGHTS, CARD = "config.json", "weights.safetensors", "README.md"


def save_model(
    path: str | os.PathLike[str],
    *,
    kind: str,
    config: Mapping[str, Any],
    tensors: Mapping[str, NDArray[Any]],
    card: str,
    force: bool = False,
) -> None:
    """Write a model folder, whole or not at all.

    Parameters
    ----------
    path : the folder to write.
    kind : what the model is; `load_model` can check it.
    config : values that JSON can hold; floats come back exactly.
    tensors : name -> array of booleans, integers or floats, of any shape.
    card : text of README.md.
    force : replace the model that is there; a folder of anything else is never replaced.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scale = {"scale": np.array([0.5, 2.0], dtype=np.float32)}
    ...     save_model(f"{folder}/model", kind="metric", config={"temperature": 0.1}, tensors=scale, card="# A model")
    ...     load_model(f"{folder}/model")
    ('metric', {'temperature': 0.1}, {'scale': array([0.5, 2. ], dtype=float32)})
    """
    target = Path(path)
    weights = {name: _array(name, values) for name, values in tensors.items()}
    with replacing_folder(target, KIND, FORMAT_VERSION, force) as temporary:
        try:
            # not save_file, whose file only its owner may read
            (temporary / WEIGHTS).write_bytes(serialized(weights))
        except (SafetensorError, KeyError, ValueError) as error:
            raise InputError(f"{target}: the tensors cannot be written: {error}") from error
        facts = {
            "format_version": FORMAT_VERSION,
            "kind": kind,
            "kinfolk": __version__,
            "config": dict(config),
            "weights": {"sha256": _sha256(temporary / WEIGHTS), "tensors": _descriptions(weights)},
        }
        (temporary / CONFIG).write_text(_json(facts), encoding="utf-8")
        (temporary / CARD).write_text(card.rstrip("\n") + "\n", encoding="utf-8")


def load_model(
    path: str | os.PathLike[str], kind: str | None = None
) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a model folder and check it.

    Parameters
    ----------
    path : a folder that `save_model` wrote.
    kind : the kind of model that is expected; None: any.

    Returns
    -------
    kind, config, tensors as they were given to `save_model`.

    Examples
    --------
    >>> load_model("no-such-model")
    Traceback (most recent call last):
    kinfolk.InputError: no-such-model does not exist: a model folder was expected
    """
    return steady([Path(path)], lambda: _load(Path(path), kind))


def _load(folder: Path, kind: str | None) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    facts = _facts(folder)
    found, config, weights = facts["kind"], facts["config"], facts["weights"]
    if kind not in (None, found):
        raise InputError(f"{folder} holds a model of the kind {found!r}, one of the kind {kind!r} was expected")
    file = folder / WEIGHTS
    with reading(existing_file(file), "a safetensors file"), safe_open(file, framework="numpy") as stored:
        refuse_more_than_memory(file.stat().st_size, "the weights")
        tensors = {name: _stored_array(stored, name) for name in stored.keys()}  # noqa: SIM118 (not a dict)
    _compare(file, _descriptions(tensors), weights["tensors"])
    if _sha256(file) != weights["sha256"]:
        raise InputError(f"{file} is not the file that was saved: its SHA-256 differs from the one in {CONFIG}")
    for name, tensor in tensors.items():
        if tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
            raise InputError(f"{file}: tensor {name!r} holds numbers that are not finite: the training went wrong")
    return found, config, tensors


def group(tensors: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the tensors whose names begin with the prefix, without it.

    >>> group({"a.x": np.zeros(1), "b.x": np.ones(1)}, "b.")
    {'x': array([1.])}
    """
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _array(name: str, values: Any) -> NDArray[Any]:
    try:
        array = np.asarray(values, order="C")
    except (TypeError, ValueError, RuntimeError) as error:  # torch: bfloat16, sparse tensors, tensors with gradients
        raise InputError(f"tensor {name!r} cannot be saved: numpy cannot hold it ({error})") from error
    if array.dtype.kind not in "biuf":
        raise InputError(f"tensor {name!r} cannot be saved: it must be numbers or truth values, not {array.dtype}")
    return array


def _stored_array(stored: Any, name: str) -> NDArray[Any]:
    try:
        return stored.get_tensor(name)
    except (TypeError, AttributeError) as error:  # what safetensors raises for bfloat16 and 8-bit floats
        dtype = stored.get_slice(name).get_dtype()
        raise InputError(f"tensor {name!r} is of the type {dtype}, which numpy cannot hold") from error


def _descriptions(tensors: Mapping[str, NDArray[Any]]) -> dict[str, dict[str, Any]]:
    return {name: {"shape": list(tensor.shape), "dtype": str(tensor.dtype)} for name, tensor in sorted(tensors.items())}


def _json(facts: Mapping[str, Any]) -> str:
    try:
        return json.dumps(facts, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    except (TypeError, ValueError) as error:
        raise InputError(f"the model's config holds something that JSON cannot: {error}") from error


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _facts(folder: Path) -> dict[str, Any]:
    file = existing_folder(folder, "a model folder") / CONFIG
    if not file.is_file():
        raise InputError(f"{folder} is not a model folder: {CONFIG} is missing")
    with reading(existing_file(file), "the config of a model"):
        facts = read_json(file, MOST_CONFIG_BYTES)
    version = facts.get("format_version") if isinstance(facts, dict) else None
    if type(version) is not int:
        raise InputError(f"{file} is not the config of a model: it has no format_version")
    if version > FORMAT_VERSION:
        raise InputError(f"{folder} was written by a newer kinfolk (format {version}): upgrade kinfolk to read it")
    if version < FORMAT_VERSION:
        raise InputError(f"{folder} was written by an older kinfolk (format {version}), which is no longer read")
    weights = facts.get("weights")
    known = isinstance(weights, dict) and isinstance(weights.get("tensors"), dict) and "sha256" in weights
    if not (known and isinstance(facts.get("kind"), str) and isinstance(facts.get("config"), dict)):
        raise InputError(f"{file} is damaged: it needs a kind, a config, and the weights' sha256 and tensors")
    return facts


def _compare(file: Path, found: Mapping[str, Any], recorded: Mapping[str, Any]) -> None:
    for problem, names in (("missing", recorded.keys() - found.keys()), ("unknown", found.keys() - recorded.keys())):
        if names:
            raise InputError(f"{file} does not fit its {CONFIG}: {problem} tensors {', '.join(sorted(names))}")
    for name, description in recorded.items():
        if description != found[name]:
            raise InputError(f"{file} does not fit its {CONFIG}: {name} is {found[name]}, not {description}")
