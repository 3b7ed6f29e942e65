"""The whole encoder: the short way against the straightforward one, and what must not change the result."""

import itertools
import runpy
from pathlib import Path
from typing import get_args

import pytest
import torch

import kinfolk as kf
from kinfolk.nn import Encoder, EncoderConfig, hinge_loss
from kinfolk.nn.attention import Name

forward_all_rows = runpy.run_path(str(Path(__file__).with_name("dense.py")))["forward_all_rows"]

DIM, K, NODES = 6, 5, 30
NAMES = get_args(Name)
every_kind = pytest.mark.parametrize(
    "config",
    [
        EncoderConfig(DIM, K, name, base, layers, out_dim, width=4, heads=heads, hidden=8)
        for (name, base, layers), (out_dim, heads) in zip(
            itertools.product(NAMES, ("gcn", "transformer"), (1, 3)),
            itertools.cycle([(None, 1), (7, 2), (3, 1), (None, 2), (9, 1)]),
            strict=False,
        )
    ]
    + [EncoderConfig(DIM, K, name, "gcn", 2, 4, width=4, concat=True, norm=True) for name in NAMES]
    + [EncoderConfig(DIM, K, name, layers=3, out_dim=9, width=4, init="identity", floor=0.0) for name in NAMES],
    ids=lambda c: f"{c.base}-{c.attention}-{c.layers}-{c.out_dim}-{c.heads}-{c.init}{'-concat' * c.concat}",
)


def make(config, dtype=torch.float64):
    torch.default_generator.manual_seed(3)
    return Encoder(config).to(dtype)


def sub_graphs(b=4, size=K + 1, dtype=torch.float64):
    """Features, nodes, mask: some sub-graphs have fewer neighbours than others."""
    generator = torch.Generator().manual_seed(2)
    features = torch.randn(NODES, DIM, generator=generator, dtype=torch.float64).to(dtype)
    nodes = torch.stack([torch.randperm(NODES, generator=generator)[:size] for _ in range(b)])
    mask = torch.arange(size) < torch.randint(1, size + 1, (b, 1), generator=generator)
    return features, nodes, mask


@every_kind
def test_the_result_has_length_one_and_any_k_is_served(config):
    encoder = make(config)
    for size in (1, 3, K + 1, 11):
        features, nodes, mask = sub_graphs(size=size)
        z = encoder(features[nodes], mask)
        assert z.shape == (4, config.out_dim or DIM)
        torch.testing.assert_close(z.norm(dim=1), torch.ones(4, dtype=torch.float64))


@every_kind
def test_projections_shared_between_sub_graphs_change_nothing(config):
    encoder = make(config, torch.float32)
    features, nodes, mask = sub_graphs(dtype=torch.float32)
    known = encoder.precompute(features)
    assert bool(known) == (config.layers > 1)
    for used in (None, mask):
        expected = encoder(features[nodes], used)
        torch.testing.assert_close(encoder.encode(features, nodes, used, known), expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(encoder.encode(features, nodes, used), expected, atol=0, rtol=0)


@pytest.mark.parametrize("name", ["none", "self", "quartet", "band"])
@pytest.mark.parametrize(
    "options",
    [
        dict(),
        dict(out_dim=8, concat=True, norm=True),
        dict(normalize="qk", out_dim=3),
        dict(fusion="mul", quartet_weights=False),
        dict(fusion="add", floor=0.1),
        dict(init="identity", floor=0.0),
        dict(init="identity", fusion="add", out_dim=4),
    ],
    ids=str,
)
def test_the_short_way_equals_all_rows_of_all_layers(name, options):
    for layers, (dtype, tolerance) in itertools.product((1, 3), ((torch.float64, 1e-10), (torch.float32, 1e-5))):
        encoder = make(EncoderConfig(DIM, K, name, layers=layers, width=4, **options), dtype)
        features, nodes, mask = sub_graphs(dtype=dtype)
        for used in (None, mask):
            expected = forward_all_rows(encoder, features[nodes], used)
            torch.testing.assert_close(encoder(features[nodes], used), expected, atol=tolerance, rtol=tolerance)


@every_kind
def test_neither_the_padding_nor_the_rest_of_the_batch_matters(config):
    encoder = make(config)
    features, nodes, mask = sub_graphs()
    x = features[nodes]
    filled = x.masked_fill(~mask[:, :, None], float("nan"))
    together = encoder(x, mask)
    torch.testing.assert_close(encoder(filled, mask), together)
    longest = int(mask.sum(dim=1).max())
    if config.attention in ("none", "self", "cosine", "kernel"):
        torch.testing.assert_close(encoder(x[:, :longest], mask[:, :longest]), together)
    alone = torch.cat([encoder(x[b : b + 1], mask[b : b + 1]) for b in range(len(x))])
    torch.testing.assert_close(together, alone, atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("base", ["gcn", "transformer"])
def test_the_order_of_the_neighbours_matters_only_where_weights_are_tied_to_it(name, base):
    features, nodes, _ = sub_graphs()
    other = nodes[:, [0, 4, 2, 5, 1, 3]]
    config = dict(in_dim=DIM, k=K, attention=name, base=base, layers=2, width=4, hidden=8)
    free = make(EncoderConfig(**config, quartet_weights=False))
    torch.testing.assert_close(free(features[other]), free(features[nodes]))
    if "quartet" in name or "band" in name:
        tied = make(EncoderConfig(**config))
        assert not torch.allclose(tied(features[other]), tied(features[nodes]), atol=1e-6)


def test_untrained_identity_is_the_weighted_mean_of_the_neighbours():
    features, nodes, _ = sub_graphs()
    x = torch.nn.functional.normalize(features, dim=1)[nodes]
    tests = torch.nn.functional.normalize((x @ x.transpose(1, 2)).clamp(min=0), dim=-1)
    weights = (15 * tests[:, :1] @ tests.transpose(1, 2)).softmax(dim=-1)
    expected = torch.nn.functional.normalize((weights @ x)[:, 0], dim=-1)
    for out in (None, DIM):
        encoder = make(EncoderConfig(DIM, K, "quartet", out_dim=out, init="identity", floor=0.0))
        torch.testing.assert_close(encoder(x), expected)


def test_training_reaches_every_weight():
    features, nodes, mask = sub_graphs()
    for base, init in itertools.product(("gcn", "transformer"), ("random", "identity")):
        encoder = make(EncoderConfig(DIM, K, "band", base, 2, 4, width=4, init=init, hidden=8))
        for known in (None, encoder.precompute(features)):
            encoder.zero_grad()
            z = encoder.encode(features, nodes, mask, known)
            hinge_loss(z, torch.tensor([0, 0, 1, 1])).backward()
            # the first half of the identity's MLP waits for the second, which starts at zero
            waiting = ("first.weight", "first.bias") if init == "identity" else ()
            for name, parameter in encoder.named_parameters():
                assert parameter.grad is not None, name
                assert parameter.grad.any() or name.endswith(waiting), name


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(attention="pairs"), "attention must be one of none, self"),
        (dict(base="mlp"), "one of gcn, transformer"),
        (dict(fusion="max"), "fusion"),
        (dict(normalize="rows"), "normalize"),
        (dict(init="zeros"), "init"),
        (dict(in_dim=0), "in_dim must be a whole number from 1 on"),
        (dict(k=0), "k must be a whole number from 1 on"),
        (dict(layers=0), "from 1 to 3"),
        (dict(out_dim=0), "out_dim"),
        (dict(heads=4), "4 heads must divide in_dim=6"),
        (dict(scale=0.0), "scale"),
        (dict(scale=float("nan")), "scale"),
        (dict(base="transformer", concat=True), "GCN layers"),
    ],
)
def test_what_cannot_be_built_is_refused(wrong, message):
    with pytest.raises(kf.InputError, match=message):
        EncoderConfig(**{"in_dim": DIM, "k": K} | wrong)


def test_batches_of_another_shape_are_refused():
    encoder = make(EncoderConfig(DIM, K))
    x = torch.ones(2, K + 1, DIM, dtype=torch.float64)
    for wrong in (x[0], x[..., :3], x[:, :0]):
        with pytest.raises(kf.InputError, match="sub-graphs of the shape"):
            encoder(wrong)
    for mask in (torch.ones(2, K, dtype=torch.bool), torch.ones(2, K + 1)):
        with pytest.raises(kf.InputError, match="mask must be bool"):
            encoder(x, mask)
