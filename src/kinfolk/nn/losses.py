"""Losses over the vectors of a batch: near for the same label, far for different ones."""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import normalize, relu

from kinfolk._core.checks import check_choice
from kinfolk._core.errors import InputError

Negatives = Literal["hardest", "all", "batch"]


def hinge_loss(
    z: Tensor,
    labels: Tensor,
    *,
    positive_margin: float = 0.95,
    positive_weight: float = 10.0,
    negative_margin: float = 1.0,
    negatives: Negatives = "hardest",
) -> Tensor:
    """Return the hinge loss over the cosines of all pairs of the batch.

    positive_weight * mean over pairs of one label of   max(0, positive_margin - cos)
                    + mean over the chosen other pairs of   max(0, negative_margin + cos)

    A batch without pairs of one kind has 0 for that kind.

    Parameters
    ----------
    z : vectors (B, M) of any length.
    labels : (B,).
    positive_margin, positive_weight, negative_margin : see the equation.
    negatives : "hardest": the pair of different labels with the largest cosine; "batch": the B hardest; "all".

    Returns
    -------
    loss : a single number.

    Examples
    --------
    >>> z = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> round(hinge_loss(z, torch.tensor([0, 0, 1])).item(), 4)  # 10 (0.95 - 0.6) + (1 + 0.8)
    5.3
    """
    check_choice("negatives", negatives, get_args(Negatives))
    _check(z, labels)
    first, second = torch.triu_indices(len(z), len(z), offset=1, device=z.device)
    unit = normalize(z, dim=-1)
    cosine = (unit @ unit.T)[first, second]
    same = labels[first] == labels[second]
    others = cosine[~same]
    if negatives != "all":
        wanted = 1 if negatives == "hardest" else len(z)
        others = others.topk(min(wanted, len(others))).values
    return positive_weight * _mean(relu(positive_margin - cosine[same])) + _mean(relu(negative_margin + others))


def supervised_contrastive(z: Tensor, labels: Tensor, temperature: float = 0.1) -> Tensor:
    """Return the supervised contrastive loss: each vector should find those of its label among all others.

    mean over anchors i of   -1/|P_i| sum over p in P_i of  log( exp(cos_ip / t) / sum over a != i of exp(cos_ia / t) )

    P_i are the others of the anchor's label. Anchors without any are left out; when none has any the loss is 0.

    Shapes: z (B, M) of any length, labels (B,)  ->  a single number.

    Parameters
    ----------
    z : vectors.
    labels : their labels.
    temperature : t, above 0.

    Examples
    --------
    >>> z = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> round(supervised_contrastive(z, torch.tensor([0, 0, 1]), temperature=1.0).item(), 4)  # log(1 + 1/e)
    0.3133
    """
    _check(z, labels)
    if not temperature > 0:
        raise InputError(f"the temperature must be above 0, not {temperature}")
    return _SupervisedContrastive.apply(normalize(z, dim=-1), labels, temperature)  # type: ignore[no-untyped-call]


class _SupervisedContrastive(torch.autograd.Function):
    """The loss of rows of length one and its gradient in one go: half the time of what autograd would record.

    With S = U U^T / t, Q_ia = softmax over a != i of S_ia and P_ia = 1 / |P_i| for a in P_i, over n anchors:

        dL/dS = (Q - P) / n,     dL/dU = (dL/dS + dL/dS^T) U / t
    """

    @staticmethod
    def forward(ctx: Any, unit: Tensor, labels: Tensor, temperature: float) -> Tensor:
        positive = (labels[:, None] == labels).to(unit.dtype)
        positive.fill_diagonal_(0.0)
        others = positive.sum(dim=1)
        anchors = others > 0
        count = int(anchors.sum())
        if not count:
            ctx.save_for_backward(torch.zeros_like(unit))
            return unit.new_zeros(())
        positive *= (anchors / (others.clamp(min=1) * count))[:, None]
        scores = (unit @ unit.T).div_(temperature)
        scores.fill_diagonal_(-torch.inf)
        log_q = scores.log_softmax(dim=-1)
        slope = log_q.exp().mul_((anchors.to(unit.dtype) / count)[:, None]).sub_(positive)
        ctx.save_for_backward((slope + slope.T) @ unit / temperature)
        return -log_q.fill_diagonal_(0.0).mul_(positive).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return outer * gradient, None, None


def _check(z: Tensor, labels: Tensor) -> None:
    if z.dim() != 2 or labels.shape != z.shape[:1]:
        raise InputError(f"vectors (B, M) and labels (B,) are expected, not {tuple(z.shape)} and {tuple(labels.shape)}")


def _mean(values: Tensor) -> Tensor:
    return values.sum() / max(len(values), 1)
