"""A `GraphEnhancer` as a model folder."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from kinfolk.enhance.settings import check_settings
from kinfolk.errors import InputError
from kinfolk.nn.encoder import Encoder, EncoderConfig
from kinfolk.nn.kinship import Kinship
from kinfolk.nn.propagate import Propagation
from kinfolk.training.folder import group, load_model, save_model

if TYPE_CHECKING:
    from kinfolk.enhance.estimator import GraphEnhancer

KIND = "GraphEnhancer"
E = TypeVar("E", bound="GraphEnhancer")


def save_enhancer(e: GraphEnhancer, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write the folder, whole or not at all.

    >>> import tempfile, kinfolk as kf
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> save_enhancer(kf.GraphEnhancer(k=2).fit(np.eye(5) + 0.1), folder)
    >>> sorted(os.listdir(folder))
    ['README.md', 'config.json', 'weights.safetensors']
    """
    config = dict(
        parameters=plain(e.get_params()),
        k=e.k_,
        k_free=e.k_free_,
        class_size=e.class_size_,
        trained=e.trained_,
        scores=e.scores_,
        propagation=asdict(e.propagation_),
        encoder=asdict(e.encoder_.config) if e.encoder_ else None,
        n_features=e.n_features_in_,
    )
    tensors: dict[str, Any] = {"mean": e.mean_}
    # the shipped network goes with the model: a later release may ship another
    tensors |= {f"kinship.{name}": value for name, value in e.net_.state_dict().items()}
    if e.metric_ is not None:
        tensors["metric"] = e.metric_
    if e.encoder_ is not None:
        tensors |= {f"encoder.{name}": value for name, value in e.encoder_.state_dict().items()}
    save_model(path, kind=KIND, config=config, tensors=tensors, card=_card(e), force=force)


def load_enhancer(cls: type[E], path: str | os.PathLike[str]) -> E:
    """Read a folder that `save_enhancer` wrote; what does not fit together is refused.

    >>> import kinfolk as kf
    >>> load_enhancer(kf.GraphEnhancer, "nowhere")
    Traceback (most recent call last):
    kinfolk.errors.InputError: nowhere does not exist: a model folder was expected
    """
    _, config, tensors = load_model(path, kind=KIND)
    try:
        e = cls(**config["parameters"])
        check_settings(e)
        e.k_, e.trained_, e.scores_ = int(config["k"]), bool(config["trained"]), dict(config["scores"])
        e.k_free_ = int(config["k_free"])
        size = config.get("class_size")  # older folders have none
        e.class_size_ = None if size is None else float(size)
        e.n_features_in_ = int(config["n_features"])
        e.mean_ = _shaped(tensors, "mean", (e.n_features_in_,))
        e.metric_ = _shaped(tensors, "metric", (e.n_features_in_,) * 2) if "metric" in tensors else None
        e.propagation_ = Propagation(**config["propagation"])
        e.net_ = Kinship.shipped()
        e.net_.load_state_dict(group(tensors, "kinship."))
        e.encoder_ = Encoder(EncoderConfig(**config["encoder"])) if config["encoder"] else None
        if e.encoder_ is not None:
            e.encoder_.load_state_dict(group(tensors, "encoder."))
        e._n_features_out = e.encoder_.config.out_dim or e.n_features_in_ if e.encoder_ else e.n_features_in_
    except (KeyError, TypeError, ValueError, RuntimeError) as problem:
        raise InputError(f"{path} is not a model this version can read: {problem}") from None
    return e


def _shaped(tensors: dict[str, torch.Tensor], name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    found = tensors[name].numpy()
    if found.shape != shape:
        raise ValueError(f"{name} has the shape {found.shape}, {shape} is expected")
    return found


def plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters as JSON has them.

    >>> plain({"k": np.int64(3)})
    {'k': 3}
    """
    return {
        name: str(value) if isinstance(value, os.PathLike) else value.item() if isinstance(value, np.generic) else value
        for name, value in parameters.items()
    }


def _card(e: GraphEnhancer) -> str:
    scores = "\n".join(f"- {name}: {100 * value:.2f}" for name, value in e.scores_.items()) or "- none were measured"
    how = "trained on labelled identities" if e.trained_ else "label-free, nothing was trained on your data"
    return f"""# A kinfolk GraphEnhancer

`{e}`

- {how}
- features: {e.n_features_in_} dimensions; k at the fit: {e.k_}
- made from features only; it holds a mean, a linear map and attention weights, no rows of the data

Mean average precision x 100 on held-back identities of the training data:

{scores}

```python
import kinfolk as kf

enhancer = kf.GraphEnhancer.load("this folder")
Z = enhancer.transform(X)
```
"""
