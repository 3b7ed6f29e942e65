"""Every attention by its name against loops over single numbers, and the rules all of them keep."""

import itertools
import math
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest
import torch
from torch.func import functional_call

import kinfolk as kf
from kinfolk.nn import (
    BandAttention,
    QuartetAttention,
    SelfAttention,
    adjacency,
    make_attention,
    masked_softmax,
)
from kinfolk.nn.attention import Name
from kinfolk.nn.attention.factory import SELF_SCALE

loops = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "loops.py")))

DIM, SIZE, WIDTH = 5, 6, 4
NAMES = get_args(Name)
QUARTETS = ("quartet", "band", "quartet_self", "band_self")
# every name, and every choice where it changes something
VARIANTS = [
    *((name, {}) for name in NAMES),
    *((name, {"heads": 2}) for name in NAMES),
    *((name, {"quartet_weights": False}) for name in QUARTETS),
    *((name, {"normalize": "qk", "heads": heads}) for name in QUARTETS for heads in (1, 2)),
    *((name, {"floor": 0.0}) for name in ("quartet", "band")),
    *((name, {"fusion": fusion}) for name in ("band", "band_self") for fusion in ("add", "mul")),
    *((name, {"init": "identity"}) for name in ("self", *QUARTETS)),
    *(("band", {"init": "identity", "fusion": fusion}) for fusion in ("add", "mul")),
    ("quartet", {"quartet_weights": False, "heads": 2, "normalize": "qk"}),
]
IDS = ["-".join([name, *(f"{key}={value}" for key, value in options.items())]) for name, options in VARIANTS]
each_variant = pytest.mark.parametrize(("name", "options"), VARIANTS, ids=IDS)


def make(name, options, dtype=torch.float64, size=SIZE):
    """An attention with every parameter, the thetas too, moved away from where it starts."""
    torch.default_generator.manual_seed(0)
    attention = make_attention(name, DIM, size, width=WIDTH, **options).to(dtype)
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return attention


def batch(b=3, size=SIZE, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(b, size, DIM, generator=generator, dtype=torch.float64).to(dtype)
    mask = torch.rand(b, size, generator=generator) < 0.6
    mask[:, 0] = True
    return x, mask


def self_by_loops(attention, x, head):
    width = attention.query.shape[1] // attention.heads
    columns = slice(head * width, (head + 1) * width)
    query, key = attention.query[:, columns].tolist(), attention.key[:, columns].tolist()
    scores = np.array(loops.self_scores(x.tolist(), query, key))
    return scores if attention.theta is None else attention.theta[head].item() * scores


def quartet_by_loops(attention, x, real, head, tests=None):
    tests = loops.cosines(x.tolist(), real, attention.floor) if tests is None else loops.without_padding(tests, real)
    one = np.eye(len(x)).tolist()
    query = one if attention.query is None else attention.query[head].tolist()
    key = one if attention.key is None else attention.key[head].tolist()
    if attention.query is not None and len(query) != len(x):
        if attention.normalize == "adjacency":
            # only their product matters, and the product is what is carried over
            query, key = loops.carried_over(loops.matmul(query, loops.transpose(key)), len(x)), one
        else:
            query, key = loops.carried_over(query, len(x)), loops.carried_over(key, len(x))
    scores = np.array(loops.quartet_scores(tests, query, key, attention.normalize))
    return scores if attention.theta is None else attention.theta[head].item() * scores


def kernel_by_loops(x, sigma):
    return np.array([[-(math.dist(a, b) ** 2) / (2 * sigma**2) for b in x.tolist()] for a in x.tolist()])


def fused_by_loops(name, attention, x, real, head):
    self_scores = self_by_loops(attention.self_attention, x, head)
    tests = self_scores.tolist() if name.endswith("_self") else None
    quartet = quartet_by_loops(attention.quartet_attention, x, real, head, tests)
    if name == "quartet_self":
        return quartet
    if attention.fusion == "theta":
        return attention.theta_self[head].item() * self_scores + attention.theta_quartet[head].item() * quartet
    return self_scores * quartet if attention.fusion == "mul" else self_scores + quartet


def by_loops(name, attention, x, real, head):
    """The scores of one sub-graph and one head; the weights for "none"."""
    plain = {
        "none": lambda: np.array(loops.gcn_weights(x.tolist(), real)),
        "cosine": lambda: attention.log_scale[head].exp().item() * np.array(loops.cosines(x.tolist(), [True] * len(x))),
        "kernel": lambda: kernel_by_loops(x, attention.log_sigma[head].exp().item()),
        "self": lambda: self_by_loops(attention, x, head),
        "quartet": lambda: quartet_by_loops(attention, x, real, head),
    }
    return plain[name]() if name in plain else fused_by_loops(name, attention, x, real, head)


@each_variant
def test_scores_and_weights_equal_the_loops(name, options):
    attention = make(name, options)
    for size, masked in itertools.product((SIZE, 4, 8), (False, True)):
        x, mask = batch(2, size)
        scores = attention(x, mask if masked else None)
        weights = attention.weights(x, mask if masked else None)
        assert scores.shape == weights.shape == (2, attention.heads, size, size)
        for b, head in itertools.product(range(2), range(attention.heads)):
            real = mask[b].tolist() if masked else [True] * size
            expected = by_loops(name, attention, x[b], real, head)
            kept = np.array(real)
            np.testing.assert_allclose(scores[b, head].detach()[kept][:, kept], expected[kept][:, kept], atol=1e-10)
            if name != "none":
                expected = np.array([loops.softmax(row, real) for row in expected.tolist()])
            np.testing.assert_allclose(weights[b, head].detach()[kept], expected[kept], atol=1e-10)
            assert not weights[b, head][kept][:, ~kept].any()


@each_variant
def test_the_probes_row_is_the_first_of_all_rows(name, options):
    attention = make(name, options, torch.float32)
    # squared distances of the kernel are differences of large numbers: their last bits depend on the processor
    near = 1e-4 if name == "kernel" else 1e-5
    for size, masked in itertools.product((SIZE, 4, 9), (False, True)):
        x, mask = batch(size=size, dtype=torch.float32)
        known = mask if masked else None
        everything, weights = attention(x, known), attention.weights(x, known)
        near = 1e-4 if name == "kernel" else 1e-5  # a distance of 0 is a difference of squares
        for rows in (1, 3):
            torch.testing.assert_close(attention(x, known, rows), everything[:, :, :rows], atol=near, rtol=1e-5)
        torch.testing.assert_close(attention.weights(x, known, 1), weights[:, :, :1], atol=1e-5, rtol=1e-5)


@each_variant
def test_projections_made_beforehand_change_nothing(name, options):
    attention = make(name, options)
    x, mask = batch()
    torch.testing.assert_close(attention(x, mask, None, attention.project(x)), attention(x, mask))


@each_variant
def test_gradients(name, options):
    attention = make(name, options)
    x, mask = batch(2)
    names = [key for key, _ in attention.named_parameters()]

    def scores(x, *values):
        state = dict(zip(names, values, strict=True))
        return functional_call(attention, state, (x, mask)), functional_call(attention, state, (x, mask, 1))

    inputs = [x.requires_grad_(), *(p.detach().clone().requires_grad_() for p in attention.parameters())]
    assert torch.autograd.gradcheck(scores, inputs, fast_mode=True)


@each_variant
def test_padding_is_the_same_as_no_padding(name, options):
    x, mask = batch(1)
    mask[:] = torch.arange(SIZE) < 4
    attention, short = make(name, options), make(name, options, size=4)
    with torch.no_grad():
        for cut, whole in zip(short.parameters(), attention.parameters(), strict=True):
            if whole.dim() == 3:  # tied to the ranks: those that are there
                whole[:, :, 4:] = 0
                cut.copy_(whole[:, :4, :4])
            else:
                cut.copy_(whole)
    padded = attention.weights(x, mask)[:, :, :4]
    torch.testing.assert_close(padded[..., :4], short.weights(x[:, :4]))
    assert not padded[..., 4:].any()


@each_variant
def test_the_batch_a_sub_graph_is_in_does_not_matter(name, options):
    attention = make(name, options)
    x, mask = batch(7)
    together = attention(x, mask, 1)
    alone = torch.cat([attention(x[b : b + 1], mask[b : b + 1], 1) for b in range(7)])
    torch.testing.assert_close(together, alone, atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_the_neighbours_matters_only_where_weights_are_tied_to_it(name):
    order = torch.tensor([0, 3, 5, 1, 4, 2])
    x, mask = batch()
    attention = make(name, {"quartet_weights": False})
    whole = attention(x, mask)
    torch.testing.assert_close(attention(x[:, order], mask[:, order]), whole[:, :, order][..., order])
    if name in QUARTETS:
        ranked = make(name, {})
        assert not torch.allclose(ranked(x[:, order], mask[:, order]), ranked(x, mask)[:, :, order][..., order])


@pytest.mark.parametrize("weighted", [True, False])
def test_untrained_identity_is_the_training_free_form(weighted):
    x, mask = batch()
    x = x / x.norm(dim=-1, keepdim=True)
    tests = adjacency(x, mask, 0.0)
    expected = masked_softmax(20 * (tests @ tests.transpose(1, 2))[:, None], mask)
    options = dict(init="identity", scale=20.0, floor=0.0, quartet_weights=weighted, width=64)
    torch.testing.assert_close(make_attention("quartet", DIM, SIZE, **options).double().weights(x, mask), expected)
    self_scores = make_attention("self", DIM, SIZE, **options).double()
    torch.testing.assert_close(self_scores(x), SELF_SCALE * (x @ x.transpose(1, 2))[:, None], atol=1e-5, rtol=0)
    band = make_attention("band", DIM, SIZE, **options).double()
    torch.testing.assert_close(band.weights(x, mask), expected, atol=0.02, rtol=0)
    product = make_attention("band", DIM, SIZE, fusion="mul", **options).double()
    alike = (tests @ tests.transpose(1, 2)) * (x @ x.transpose(1, 2))
    torch.testing.assert_close(product.weights(x, mask), masked_softmax(20 * alike[:, None], mask), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "none"])
def test_every_weight_gets_a_gradient_from_the_identity(name):
    attention = make_attention(name, DIM, SIZE, width=WIDTH, init="identity").double()
    x, mask = batch()
    attention.weights(x, mask).square().sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in attention.parameters())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_attention("pairs", 4, 3), "none, self, quartet, band, quartet_self, band_self"),
        (lambda: make_attention("band", 4, 3, fusion="max"), "theta, add, mul"),
        (lambda: make_attention("quartet", 4, 3, normalize="rows"), "adjacency, qk"),
        (lambda: make_attention("self", 4, 3, init="zeros"), "random, identity"),
        (lambda: make_attention("self", 4, 3, width=5, heads=2), "cannot be split over 2 heads"),
        (lambda: make_attention("cosine", 4, 3, heads=0), "heads must be a whole number from 1 on"),
        (lambda: make_attention("quartet", 4, 1), "one neighbour or more"),
        (lambda: QuartetAttention(3, weights="none"), "rank, identity"),
        (lambda: BandAttention(SelfAttention(4, 4), QuartetAttention(3, heads=2)), "the same number of heads"),
    ],
)
def test_unknown_choices_are_refused(call, message):
    with pytest.raises(kf.InputError, match=message):
        call()
