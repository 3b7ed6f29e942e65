"""What the parameters of a `GraphEnhancer` mean together: which model they ask for, and what cannot be built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from kinfolk._core.checks import MOST_NEIGHBORS, check_choice, check_finite, check_number, check_seed, check_whole
from kinfolk._core.errors import InputError
from kinfolk.enhance.propagation import ATTENTIONS, Propagation

if TYPE_CHECKING:
    from kinfolk.enhance.graph_enhancer import GraphEnhancer
    from kinfolk.nn.encoder import EncoderConfig

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
    kinfolk.InputError: k must be a whole number from 1 on, or "auto", not 0
    """
    check_finite(e.get_params(deep=False))
    check_seed(e.random_state, "random_state")
    check_choice("recipe", e.recipe, ("fast", "paper"))
    check_choice("model", e.model, ("auto", "propagate", "subgraph"))
    check_whole("k", e.k, auto=True)
    check_whole("heads", e.heads)
    if e.k != "auto":
        check_number("k", e.k, most=MOST_NEIGHBORS)
    if e.steps is not None:
        check_whole("steps", e.steps)
    if e.model == "propagate" and (e.base != "gcn" or e.layers != 1 or e.attention not in ATTENTIONS):
        raise InputError(
            f'model="propagate" has base="gcn", layers=1, attention {", ".join(ATTENTIONS)}: use model="subgraph"'
        )
    if e.recipe == "paper" and e.model == "propagate":
        raise InputError('the paper\'s recipe trains sub-graphs: use model="subgraph" or recipe="fast"')
    if wants_subgraphs(e):
        encoder_config(e, in_dim=e.heads, k=1, init="random")  # refuses what cannot be built
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
    hops = hops if e.hops is None else e.hops
    return Propagation(attention=attention, theta_s=theta_s, hops=hops, distilled=many_tests)


def encoder_config(e: GraphEnhancer, in_dim: int, k: int, init: Literal["random", "identity"]) -> EncoderConfig:
    """Return what the encoder of the sub-graph model is made from."""
    from kinfolk.nn.encoder import EncoderConfig

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
