"""What the config.json of a `GraphEnhancer` may hold: every number has a range (`kinfolk.formats.model_limits`)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kinfolk._core.schema import Facts
from kinfolk.enhance.propagation import ATTENTIONS
from kinfolk.formats.model_limits import Count, Dimensions, Hops, Neighbors, Seed, Share, Weight, Word

Heads = Annotated[int, Field(ge=1, le=4096)]  # a head needs at least one of the columns
Layers = Annotated[int, Field(ge=1, le=3)]  # as `kinfolk.nn.EncoderConfig`


class ParameterFacts(Facts):
    """The parameters of the constructor; `rounds` is of kinfolk 0.1."""

    k: Neighbors | Literal["auto"]
    attention: Word
    base: Word
    layers: Layers
    recipe: Word
    model: Word
    hops: Hops | None
    pretrained: bool
    fusion: Word
    quartet_weights: bool
    heads: Heads
    normalize: Word
    out_dim: Dimensions | None
    steps: Count | None
    method: Word
    checkpoint_dir: Annotated[str, Field(max_length=4096)] | None
    tensorboard: bool
    random_state: Seed
    show_progress: bool
    rounds: Count = 1


class PropagationFacts(Facts):
    """The numbers of `kinfolk.enhance.propagation.Propagation`."""

    attention: Literal[ATTENTIONS]  # type: ignore[valid-type]
    theta_q: Weight
    theta_s: Weight
    one_way: Annotated[float, Field(gt=0, le=1)]
    hops: Hops
    nearest: bool
    distilled: bool = False  # models of 0.1 do not say


class EncoderFacts(Facts):
    """The settings of `kinfolk.nn.EncoderConfig`, which checks how they go together."""

    in_dim: Dimensions
    k: Neighbors
    attention: Word
    base: Word
    layers: Layers
    out_dim: Dimensions | None
    width: Dimensions
    heads: Heads
    fusion: Word
    quartet_weights: bool
    normalize: Word
    concat: bool
    norm: bool
    init: Word
    floor: Annotated[float, Field(ge=-1, le=1)] | None  # of a cosine
    scale: Annotated[Weight, Field(gt=0)]
    hidden: Dimensions


class EnhancerFacts(Facts):
    """The config of a model folder."""

    parameters: ParameterFacts
    k: Neighbors
    k_free: Neighbors
    class_size: Annotated[float, Field(gt=0, le=1e12)] | None = None  # older folders have none; a mean of rows
    trained: bool
    scores: Annotated[dict[Word, Share], Field(max_length=64)]
    propagation: PropagationFacts
    encoder: EncoderFacts | None
    n_features: Dimensions
    feature_names: list[str] | None = None  # of a fit on a table
