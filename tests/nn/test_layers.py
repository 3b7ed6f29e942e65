"""The layers against loops, with the attention's weights taken as given (test_attention checks those)."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.func import functional_call

import kinfolk as kf
from kinfolk.nn import GCNLayer, TransformerLayer, attend, make_attention

loops = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("loops.py"))))

DIM, SIZE = 4, 5
GCNS = [
    dict(),
    dict(concat=True),
    dict(concat=True, norm=True, activation="relu"),
    dict(norm=True, activation="none"),
    dict(activation="relu"),
]


def batch(dtype=torch.float64):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(3, SIZE, DIM, generator=generator, dtype=torch.float64).to(dtype)
    mask = torch.tensor([[True] * 5, [True, True, False, True, False], [True] + [False] * 4])
    return x, mask


def attention(heads, name="band"):
    torch.default_generator.manual_seed(0)
    return make_attention(name, DIM, SIZE, width=4, heads=heads)


def layers(dtype=torch.float64):
    """All layers, as (its options, the layer); one with an attention that has no softmax."""
    made = [(options, GCNLayer(DIM, 6, attention(heads), **options)) for options in GCNS for heads in (1, 2)]
    made += [({}, TransformerLayer(DIM, attention(heads), hidden=7)) for heads in (1, 2)]
    made += [({}, GCNLayer(DIM, 2, attention(1, "none"))), ({}, TransformerLayer(DIM, attention(1, "none"), hidden=3))]
    return [(options, layer.to(dtype)) for options, layer in made]


def mixed_by_loops(weights, x, weight):
    """A_h X W_h side by side, for one sub-graph: weights (H, L, L), x (L, M), weight (M, M')."""
    each = weight.shape[1] // len(weights)
    result = np.zeros((len(x), weight.shape[1]))
    for h in range(len(weights)):
        for i in range(len(x)):
            for column in range(each):
                for j in range(len(x)):
                    value = sum(x[j, m] * weight[m, h * each + column] for m in range(x.shape[1]))
                    result[i, h * each + column] += weights[h, i, j] * value
    return result


def gcn_by_loops(layer, options, weights, x):
    weight = layer.weight.detach().numpy()
    result = mixed_by_loops(weights, x, weight[-DIM:])
    if options.get("concat"):
        result += x @ weight[:DIM]
    if options.get("norm"):
        result = np.array([loops.layer_norm(row) for row in result.tolist()])
    below = {"prelu": 0.25, "relu": 0.0, "none": 1.0}[options.get("activation", "prelu")]
    return np.where(result > 0, result, below * result)


def transformer_by_loops(layer, weights, x):
    state = {name: value.numpy() for name, value in layer.state_dict().items()}
    mixed = mixed_by_loops(weights, x, state["value"]) @ state["output"]
    y = np.array([loops.layer_norm(row) for row in (x + mixed).tolist()])
    hidden = np.vectorize(loops.gelu)(y @ state["first.weight"].T + state["first.bias"])
    out = y + hidden @ state["second.weight"].T + state["second.bias"]
    return np.array([loops.layer_norm(row) for row in out.tolist()])


def test_layers_equal_the_loops():
    x, mask = batch()
    for options, layer in layers():
        found = layer(x, mask).detach().numpy()
        weights = layer.attention.weights(x, mask).detach().numpy()
        for b in range(len(x)):
            if isinstance(layer, GCNLayer):
                expected = gcn_by_loops(layer, options, weights[b], x[b].numpy())
            else:
                expected = transformer_by_loops(layer, weights[b], x[b].numpy())
            np.testing.assert_allclose(found[b], expected, atol=1e-10)


def test_the_probes_row_is_the_first_of_all_rows():
    x, mask = batch(torch.float32)
    for _, layer in layers(torch.float32):
        for known in (None, mask):
            everything = layer(x, known)
            torch.testing.assert_close(layer(x, known, 1), everything[:, :1], atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(layer(x, known, 2), everything[:, :2], atol=1e-5, rtol=1e-5)


def test_projections_made_beforehand_change_nothing():
    x, mask = batch()
    for _, layer in layers():
        for rows in (None, 1):
            torch.testing.assert_close(layer(x, mask, rows, layer.project(x)), layer(x, mask, rows))


@pytest.mark.parametrize("number", range(len(layers())))
@pytest.mark.parametrize("rows", [None, 1])
def test_gradients(number, rows):
    _, layer = layers()[number]
    x, mask = batch()
    names = [name for name, _ in layer.named_parameters()]

    def output(x, *values):
        return functional_call(layer, dict(zip(names, values, strict=True)), (x, mask, rows))

    inputs = [x.requires_grad_(), *(p.detach().clone().requires_grad_() for p in layer.parameters())]
    assert torch.autograd.gradcheck(output, inputs, fast_mode=True)


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize(("few", "size", "dim", "out"), [(1, 9, 8, 6), (9, 9, 2, 30), (9, 9, 30, 3), (4, 4, 6, 6)])
def test_either_order_of_the_product_gives_the_same(heads, few, size, dim, out):
    generator = torch.Generator().manual_seed(0)
    weights = torch.rand(2, heads, few, size, generator=generator, dtype=torch.float64)
    x = torch.randn(2, size, dim, generator=generator, dtype=torch.float64)
    weight = torch.randn(dim, out, generator=generator, dtype=torch.float64)
    found = attend(weights, x, weight)
    torch.testing.assert_close(found, attend(weights, x, weight, x @ weight))
    for b in range(2):
        full = torch.zeros(heads, size, size, dtype=torch.float64)
        full[:, :few] = weights[b]
        expected = mixed_by_loops(full.numpy(), x[b].numpy(), weight.numpy())[:few]
        np.testing.assert_allclose(found[b], expected, atol=1e-10)


def test_untrained_identities_are_the_training_free_form():
    x, mask = batch()
    mixed = attention(1).double().weights(x, mask)[:, 0] @ x
    for concat in (False, True):
        for out in (2, DIM, DIM + 1):
            layer = GCNLayer(DIM, out, attention(1), concat, activation="none", init="identity").double()
            expected = torch.nn.functional.pad(mixed, (0, max(0, out - DIM)))[..., :out]
            torch.testing.assert_close(layer(x, mask), expected)
    layer = TransformerLayer(DIM, attention(1), hidden=3, init="identity").double()
    expected = torch.nn.functional.layer_norm(x + mixed, (DIM,))
    torch.testing.assert_close(layer(x, mask), expected, atol=1e-4, rtol=0)


def test_unknown_choices_are_refused():
    with pytest.raises(kf.InputError, match="prelu, relu, none"):
        GCNLayer(4, 4, attention(1), activation="tanh")
    with pytest.raises(kf.InputError, match="5 columns cannot be split over 2 heads"):
        GCNLayer(4, 5, attention(2))
    with pytest.raises(kf.InputError, match="random, identity"):
        TransformerLayer(4, attention(1), init="zeros")
