"""Attention maps of the last layer against the layer itself and against the equations."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk._core.errors import InputError
from kinfolk.nn import Encoder, EncoderConfig, make_attention


def an_encoder(**options):
    torch.manual_seed(0)
    return Encoder(EncoderConfig(**{"in_dim": 8, "k": 5, "width": 4, "hidden": 16, **options})).eval()


def an_input(size, batch=3, dim=8):
    return torch.randn(batch, size, dim, generator=torch.Generator().manual_seed(size))


VARIANTS = [
    dict(layers=layers, base=base, heads=heads, **more)
    for layers, base, heads in itertools.product((1, 2, 3), ("gcn", "transformer"), (1, 2))
    for more in ({}, dict(fusion="mul"), dict(attention="band_self"), dict(init="identity"))
]


@pytest.mark.parametrize("options", [*VARIANTS, dict(concat=True, norm=True), dict(concat=True, layers=2)], ids=str)
@torch.inference_mode()
def test_the_band_applied_to_the_last_layers_input_gives_the_probes_row(options):
    encoder, x = an_encoder(**options), an_input(6)
    given_to_last = x
    for layer in list(encoder.layers)[:-1]:
        given_to_last = layer(given_to_last)
    mixed = encoder.layers[-1].mix(encoder.attention_maps(x)["band"], given_to_last)
    torch.testing.assert_close(mixed[:, 0], encoder.probe_rows(x), atol=1e-5, rtol=1e-4)


@torch.inference_mode()
def test_one_plain_layer_is_the_weighted_mean_times_w():
    encoder, x = an_encoder(init="identity"), an_input(6)
    weights = encoder.attention_maps(x)["band"][:, 0]
    torch.testing.assert_close(encoder.probe_rows(x), (weights @ x)[:, 0] @ encoder.layers[0].weight)


def softmaxed(scores):
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@given(st.integers(2, 9), st.floats(-3, 3), st.floats(0.1, 20))
@settings(max_examples=25, deadline=None)
@torch.inference_mode()
def test_each_term_has_its_weight_in_the_band(size, theta_self, theta_quartet):
    attention = make_attention("band", dim=8, size=size, width=4)
    attention.theta_self.fill_(theta_self)
    attention.theta_quartet.fill_(theta_quartet)
    x = an_input(size)
    maps = attention.maps(x)
    for b in range(len(x)):
        X = x[b].double().numpy()
        pair, quartet = attention.self_attention, attention.quartet_attention
        queries, keys = X @ pair.query.double().numpy(), X @ pair.key.double().numpy()
        one = theta_self * queries @ keys.T / 2  # width 4
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        tests = unit @ unit.T
        tests /= np.linalg.norm(tests, axis=1, keepdims=True)
        many = theta_quartet * (tests @ quartet.query[0].double().numpy()) @ (tests @ quartet.key[0].double().numpy()).T
        for form, scores in dict(self=one, quartet=many, band=one + many).items():
            np.testing.assert_allclose(maps[form][b, 0], softmaxed(scores), atol=2e-4)


@torch.inference_mode()
def test_padding_gets_no_attention():
    encoder, x = an_encoder(layers=2), an_input(6)
    mask = torch.ones(3, 6, dtype=torch.bool)
    mask[:, 4:] = False
    for weights in encoder.attention_maps(x, mask).values():
        assert weights[..., 4:].abs().max() == 0
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, 1, 6))
    one_layer = an_encoder()
    shorter = one_layer.attention_maps(x[:, :4])["self"]
    torch.testing.assert_close(one_layer.attention_maps(x, mask)["self"][:, :, :4, :4], shorter)


@pytest.mark.parametrize("name", ["none", "self", "quartet", "quartet_self", "cosine", "kernel"])
@torch.inference_mode()
def test_an_attention_of_one_voice_has_one_map(name):
    encoder, x = an_encoder(attention=name, layers=2), an_input(6)
    maps = encoder.attention_maps(x)
    assert list(maps) == [name]
    mixed = encoder.layers[1].mix(maps[name], encoder.layers[0](x))
    torch.testing.assert_close(mixed[:, 0], encoder.probe_rows(x), atol=1e-5, rtol=1e-4)


def test_what_is_no_batch_of_subgraphs_is_refused():
    with pytest.raises(InputError, match="sub-graphs of the shape"):
        an_encoder().attention_maps(torch.ones(3, 6, 7))
