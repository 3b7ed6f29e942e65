"""A `GraphEnhancer` as a model folder."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError, MissingExtraError
from kinfolk._core.extras import require
from kinfolk._core.feature_names import restore_columns, saved_columns
from kinfolk._core.text import printable
from kinfolk.enhance._settings import check_settings
from kinfolk.enhance.propagation import Propagation
from kinfolk.formats.model_folder import group, load_model, save_model
from kinfolk.kinship.network import KinshipNetwork

if TYPE_CHECKING:
    from kinfolk.enhance._model_facts import EnhancerFacts
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
        parameters=plain_parameters({name: value for name, value in e.get_params().items() if name != "verbose"}),
        k=e.k_,
        k_free=e.k_free_,
        class_size=e.class_size_,
        trained=e.trained_,
        scores=e.scores_,
        propagation=asdict(e.propagation_),
        encoder=asdict(e.encoder_.config) if e.encoder_ else None,
        n_features=e.n_features_in_,
        **saved_columns(e),
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
    # not above: pydantic is half of what kinfolk itself takes to import, and few programs load a model
    from kinfolk._core.schema import checked
    from kinfolk.enhance._model_facts import EnhancerFacts

    _, config, tensors = load_model(path, kind=KIND)
    facts = checked(EnhancerFacts, config, path)
    if facts.parameters.rounds != 1:
        raise InputError(f"{path} was made with rounds above 1, which only kinfolk 0.1 knows")
    try:
        e = cls(**facts.parameters.model_dump(exclude={"rounds"}))
        check_settings(e)
        e.k_, e.k_free_, e.trained_ = facts.k, facts.k_free, facts.trained
        e.scores_, e.class_size_, e.n_features_in_ = dict(facts.scores), facts.class_size, facts.n_features
        restore_columns(e, facts.feature_names)
        e.mean_ = _shaped(tensors, "mean", (e.n_features_in_,))
        e.metric_ = _shaped(tensors, "metric", (e.n_features_in_,) * 2) if "metric" in tensors else None
        e.propagation_ = Propagation(**facts.propagation.model_dump())
        e.net_ = KinshipNetwork(group(tensors, "kinship."))
        e.encoder_ = _encoder(facts, group(tensors, "encoder."))
        e._n_features_out = e._out_dim()
    except MissingExtraError:
        raise
    except KeyError as problem:
        raise InputError(f"{path} is not a model this version can read: the tensor {problem} is missing") from None
    except (TypeError, ValueError, RuntimeError) as problem:
        raise InputError(f"{path} is not a model this version can read: {_first_line(problem)}") from None
    return e


def _first_line(problem: Exception) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]


def _encoder(facts: EnhancerFacts, tensors: dict[str, NDArray[Any]]) -> Encoder | None:
    if facts.encoder is None:
        return None
    if facts.encoder.in_dim != facts.n_features:
        raise ValueError(f"encoder.in_dim is {facts.encoder.in_dim}, but n_features is {facts.n_features}")
    require("torch", extra="train")
    from kinfolk.nn.encoder import encoder_from

    return encoder_from(facts.encoder.model_dump(), tensors)


def _shaped(tensors: dict[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    found = tensors[name]
    if found.shape != shape:
        raise ValueError(f"{name} has the shape {found.shape}, {shape} is expected")
    return found.astype(np.float32, copy=False)


def plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters as JSON has them; what is no valid Unicode in a path is spelled.

    >>> plain_parameters({"k": np.int64(3)})
    {'k': 3}
    """
    texts = {name: printable(value) for name, value in parameters.items() if isinstance(value, str | os.PathLike)}
    return {
        name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()
    } | texts


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
