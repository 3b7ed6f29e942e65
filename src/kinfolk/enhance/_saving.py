"""A `GraphEnhancer` as a model folder."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError, MissingExtraError
from kinfolk.enhance._settings import check_settings
from kinfolk.enhance.propagation import Propagation
from kinfolk.formats.model_folder import group, load_model, save_model
from kinfolk.kinship.network import KinshipNetwork

if TYPE_CHECKING:
    from kinfolk.enhance.graph_enhancer import GraphEnhancer
    from kinfolk.nn.encoder import Encoder

KIND = "GraphEnhancer"
E = TypeVar("E", bound="GraphEnhancer")


def save_enhancer(e: GraphEnhancer, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write the folder, whole or not at all.

    >>> import tempfile, kinfolk as kf
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> save_enhancer(kf.GraphEnhancer(k=2).fit(np.eye(5) + 0.1), folder)
    >>> sorted(os.listdir(folder))
    ['README.md', 'config.json', 'manifest.json', 'weights.safetensors']
    """
    config = dict(
        parameters=plain_parameters(e.get_params()),
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
    tensors |= {f"kinship.{name}": value for name, value in e.net_.tensors.items()}
    if e.metric_ is not None:
        tensors["metric"] = e.metric_
    if e.encoder_ is not None:
        tensors |= {f"encoder.{name}": value.cpu().numpy() for name, value in e.encoder_.state_dict().items()}
    save_model(path, kind=KIND, config=config, tensors=tensors, card=_card(e), force=force)


def load_enhancer(cls: type[E], path: str | os.PathLike[str]) -> E:
    """Read a folder that `save_enhancer` wrote; what does not fit together is refused.

    >>> import kinfolk as kf
    >>> load_enhancer(kf.GraphEnhancer, "nowhere")
    Traceback (most recent call last):
    kinfolk.InputError: nowhere does not exist: a model folder was expected
    """
    _, config, tensors = load_model(path, kind=KIND)
    try:
        e = cls(**_parameters(config["parameters"]))
        check_settings(e)
        e.k_, e.trained_, e.scores_ = int(config["k"]), bool(config["trained"]), dict(config["scores"])
        e.k_free_ = int(config["k_free"])
        size = config.get("class_size")  # older folders have none
        e.class_size_ = None if size is None else float(size)
        e.n_features_in_ = int(config["n_features"])
        e.mean_ = _shaped(tensors, "mean", (e.n_features_in_,))
        e.metric_ = _shaped(tensors, "metric", (e.n_features_in_,) * 2) if "metric" in tensors else None
        e.propagation_ = Propagation(**config["propagation"])
        e.net_ = KinshipNetwork(group(tensors, "kinship."))
        e.encoder_ = _encoder(config["encoder"], group(tensors, "encoder.")) if config["encoder"] else None
        e._n_features_out = e._out_dim()
    except MissingExtraError:
        raise
    except (KeyError, TypeError, ValueError, RuntimeError) as problem:
        raise InputError(f"{path} is not a model this version can read: {problem}") from None
    return e


def _parameters(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of this version; `rounds` of kinfolk 0.1 was 1 in nearly every model, and is no more."""
    known = dict(stored)
    if known.pop("rounds", 1) != 1:
        raise ValueError("it was made with rounds above 1, which only kinfolk 0.1 knows")
    return known


def _encoder(config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Encoder:
    from kinfolk.nn.encoder import encoder_from

    return encoder_from(config, tensors)


def _shaped(tensors: dict[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    found = tensors[name]
    if found.shape != shape:
        raise ValueError(f"{name} has the shape {found.shape}, {shape} is expected")
    return found


def plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters as JSON has them.

    >>> plain_parameters({"k": np.int64(3)})
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
