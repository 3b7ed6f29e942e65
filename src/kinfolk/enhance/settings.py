"""What the parameters of a `GraphEnhancer` mean together: which model they ask for, and what cannot be built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from kinfolk.errors import InputError
from kinfolk.nn.encoder import Encoder, EncoderConfig
from kinfolk.nn.propagate import ATTENTIONS, Propagation

if TYPE_CHECKING:
    from kinfolk.enhance.estimator import GraphEnhancer

FEW_TESTS_HOPS = 3  # edges decided by few tests leave a class sooner


def wants_subgraphs(e: GraphEnhancer) -> bool:
    """Return whether the sub-graph model is meant.

    >>> import kinfolk as kf
    >>> wants_subgraphs(kf.GraphEnhancer()), wants_subgraphs(kf.GraphEnhancer(base="transformer"))
    (False, True)
    """
    if e.model != "auto":
        return e.model == "subgraph"
    plain = e.base == "gcn" and e.layers == 1 and e.fusion == "theta" and e.heads == 1
    plain = plain and e.normalize == "adjacency" and e.out_dim is None and e.quartet_weights
    return e.recipe == "paper" or not plain or e.attention not in ATTENTIONS


def check_settings(e: GraphEnhancer) -> None:
    """Refuse parameters that cannot be built.

    >>> import kinfolk as kf
    >>> check_settings(kf.GraphEnhancer(k=0))
    Traceback (most recent call last):
    kinfolk.errors.InputError: k must be a whole number from 1 on, or "auto", not 0
    """
    for name, choices in dict(recipe=("fast", "paper"), model=("auto", "propagate", "subgraph")).items():
        if getattr(e, name) not in choices:
            raise InputError(f"{name} must be one of {', '.join(choices)}, not {getattr(e, name)!r}")
    if e.k != "auto" and (isinstance(e.k, bool) or not isinstance(e.k, int | np.integer) or e.k < 1):
        raise InputError(f'k must be a whole number from 1 on, or "auto", not {e.k!r}')
    for name, value in dict(rounds=e.rounds, heads=e.heads, steps=e.steps).items():
        if value is None and name == "steps":
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise InputError(f"{name} must be a whole number from 1 on, not {value!r}")
    if e.rounds > 1 and e.out_dim is not None:
        raise InputError("rounds above 1 need results as wide as the features: leave out_dim away")
    if e.model == "propagate" and (e.base != "gcn" or e.layers != 1 or e.attention not in ATTENTIONS):
        raise InputError(
            f'model="propagate" has base="gcn", layers=1, attention {", ".join(ATTENTIONS)}: use model="subgraph"'
        )
    if e.recipe == "paper" and e.model == "propagate":
        raise InputError('the paper\'s recipe trains sub-graphs: use model="subgraph" or recipe="fast"')
    if wants_subgraphs(e):
        _encoder_config(e, in_dim=e.heads, k=1, init="random")  # refuses what cannot be built
    else:
        first_propagation(e)


def first_propagation(e: GraphEnhancer) -> Propagation:
    """Return the propagation before any label is seen.

    >>> import kinfolk as kf
    >>> first_propagation(kf.GraphEnhancer(attention="self")).hops
    3
    """
    attention = e.attention if e.attention in ATTENTIONS or not wants_subgraphs(e) else "band"
    theta_s = 15.0 if attention == "self" else 0.0
    many_tests = e.pretrained and attention in ("quartet", "band")
    hops = Propagation.hops if many_tests else FEW_TESTS_HOPS
    return Propagation(attention=attention, theta_s=theta_s, hops=hops if e.hops is None else e.hops)


def new_encoder(e: GraphEnhancer, labelled: bool) -> Encoder:
    """Return an encoder for features and k of the fit: the training-free form, or at random where the paper trains.

    >>> import kinfolk as kf
    >>> e = kf.GraphEnhancer(k=2, base="transformer").fit(np.eye(5) + 0.1)
    >>> new_encoder(e, labelled=False).config.init
    'identity'
    """
    torch.manual_seed(e.random_state)
    init: Literal["random", "identity"] = "random" if e.recipe == "paper" and labelled else "identity"
    return Encoder(_encoder_config(e, e.n_features_in_, e.k_, init))


def _encoder_config(e: GraphEnhancer, in_dim: int, k: int, init: Literal["random", "identity"]) -> EncoderConfig:
    return EncoderConfig(
        in_dim=in_dim,
        k=k,
        attention=e.attention,  # type: ignore[arg-type]
        base=e.base,
        layers=e.layers,
        out_dim=e.out_dim,
        width=256 if 256 % e.heads == 0 else 32 * e.heads,
        heads=e.heads,
        fusion=e.fusion,
        quartet_weights=e.quartet_weights,
        normalize=e.normalize,
        concat=e.recipe == "paper" and e.base == "gcn",
        norm=e.recipe == "paper" and e.base == "gcn",
        init=init,
        floor=0.0 if e.recipe == "fast" else None,
    )
