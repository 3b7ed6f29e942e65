"""The losses against loops over pairs."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.nn import hinge_loss, supervised_contrastive


def cosine(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)


def mean(values):
    return sum(values) / len(values) if values else 0.0


def hinge_by_loops(z, labels, positive_margin, positive_weight, negative_margin, negatives):
    positive, negative = [], []
    for i in range(len(z)):
        for j in range(i):
            (positive if labels[i] == labels[j] else negative).append(cosine(z[i], z[j]))
    negative.sort(reverse=True)
    negative = negative[: {"hardest": 1, "all": None, "batch": len(z)}[negatives]]
    pull = mean([max(0.0, positive_margin - c) for c in positive])
    return positive_weight * pull + mean([max(0.0, negative_margin + c) for c in negative])


def contrastive_by_loops(z, labels, temperature):
    losses = []
    for i in range(len(z)):
        positives = [j for j in range(len(z)) if j != i and labels[j] == labels[i]]
        if positives:
            total = sum(math.exp(cosine(z[i], z[a]) / temperature) for a in range(len(z)) if a != i)
            chances = [math.log(math.exp(cosine(z[i], z[p]) / temperature) / total) for p in positives]
            losses.append(-mean(chances))
    return mean(losses)


def vectors(n, seed):
    return torch.randn(n, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


batches = given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.integers(0, 10**6))


@batches
@settings(deadline=None, max_examples=40)
@pytest.mark.parametrize("negatives", ["hardest", "all", "batch"])
def test_the_hinge_loss_equals_the_loop(negatives, labels, seed):
    z = vectors(len(labels), seed)
    for options in (
        dict(positive_margin=0.95, positive_weight=10.0, negative_margin=1.0),
        dict(positive_margin=0.5, positive_weight=2.0, negative_margin=-0.3),
    ):
        found = hinge_loss(z, torch.tensor(labels), negatives=negatives, **options)
        assert found.item() == pytest.approx(hinge_by_loops(z.tolist(), labels, **options, negatives=negatives))
    expected = hinge_by_loops(z.tolist(), labels, 0.95, 10.0, 1.0, "hardest")
    assert hinge_loss(z, torch.tensor(labels)).item() == pytest.approx(expected)


@batches
@settings(deadline=None, max_examples=60)
def test_the_contrastive_loss_equals_the_loop(labels, seed):
    z = vectors(len(labels), seed)
    for temperature in (0.05, 1.0):
        found = supervised_contrastive(z, torch.tensor(labels), temperature)
        assert found.item() == pytest.approx(contrastive_by_loops(z.tolist(), labels, temperature), abs=1e-12)


LOSSES = [
    hinge_loss,
    lambda z, y: hinge_loss(z, y, negatives="all"),
    lambda z, y: hinge_loss(z, y, negatives="batch", negative_margin=-0.2),
    lambda z, y: supervised_contrastive(z, y, 0.1),
]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 2], [0, 1, 2, 3, 4], [0, 0, 0, 0, 0], [7]])
def test_gradients_are_right_and_finite_also_without_positives_or_negatives(loss, labels):
    z = vectors(len(labels), 5).requires_grad_()
    y = torch.tensor(labels)
    value = loss(z, y)
    value.backward()
    assert value.dim() == 0
    assert torch.isfinite(value)
    assert z.grad is not None
    assert torch.isfinite(z.grad).all()
    assert torch.autograd.gradcheck(lambda z: loss(z, y), z)


def test_nothing_to_learn_from_costs_nothing():
    z = vectors(4, 0)
    assert supervised_contrastive(z, torch.arange(4)) == 0
    assert hinge_loss(z[:1], torch.zeros(1)) == 0
    assert hinge_loss(torch.ones(3, 2), torch.zeros(3)) == 0


def test_wrong_input_is_refused():
    z = vectors(4, 0)
    for loss in (hinge_loss, supervised_contrastive):
        with pytest.raises(kf.InputError, match="labels"):
            loss(z, torch.zeros(3))
    with pytest.raises(kf.InputError, match="hardest, all, batch"):
        hinge_loss(z, torch.zeros(4), negatives="semi")
    with pytest.raises(kf.InputError, match="temperature"):
        supervised_contrastive(z, torch.zeros(4), 0.0)
