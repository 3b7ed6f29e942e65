"""The cosines of all pairs of rows of a sub-graph, and the adjacency A_X computed from them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.linalg import vector_norm
from torch.nn.functional import normalize

_TINY = 1e-12  # lengths below it count as this


def cosines(x: Tensor, mask: Tensor | None = None, floor: float | None = None) -> Tensor:
    """Return the cosines of all pairs of rows, at least `floor` where it is given, and 0 where a row is padding.

    C_ij = x_i . x_j / (||x_i|| ||x_j||)

    Parameters
    ----------
    x : (B, L, M).
    mask : (B, L), True where a row is real; None: all are.
    floor : the smallest value of a cosine; None: no limit.

    Returns
    -------
    cosines : (B, L, L).

    Examples
    --------
    >>> import torch
    >>> cosines(torch.tensor([[[1.0, 0.0], [3.0, 4.0]]]))
    tensor([[[1.0000, 0.6000],
             [0.6000, 1.0000]]])
    """
    products = x @ x.transpose(-1, -2)
    inverse = products.diagonal(dim1=-2, dim2=-1).clamp(min=_TINY**2).rsqrt()
    cosine = products * inverse[:, :, None] * inverse[:, None, :]
    return only_real(cosine if floor is None else cosine.clamp(min=floor), mask)


def adjacency(x: Tensor, mask: Tensor | None = None, floor: float | None = None) -> Tensor:
    """Return A_X, the cosines of all pairs of rows, each row L2-normalised.

    A_X = X X^T with the rows of X, then of A_X, divided by their lengths.

    Parameters
    ----------
    x : (B, L, M).
    mask : (B, L), True where a row is real; None: all are.
    floor : the smallest value of a cosine; None: no limit.

    Returns
    -------
    adjacency : (B, L, L), rows of length one.

    Examples
    --------
    >>> import torch
    >>> adjacency(torch.tensor([[[1.0, 0.0], [3.0, 4.0], [0.0, -1.0]]]), floor=0.0)[0].square().sum(dim=1)
    tensor([1., 1., 1.])
    """
    return normalize(cosines(x, mask, floor), dim=-1)


def gram(x: Tensor) -> Tensor:
    """Return X X^T, (..., L, M) -> (..., L, L), with half the work of x @ x.mT; no gradient goes through.

    >>> import torch
    >>> gram(torch.tensor([[[1.0, 0.0], [3.0, 4.0]]])).tolist()
    [[[1.0, 3.0], [3.0, 25.0]]]
    """
    rows = x.numpy()
    return torch.from_numpy(
        rows @ rows.swapaxes(-1, -2)
    )  # numpy computes one half of a product of a matrix with its transpose, torch both


def adjacency_of(products: Tensor, floor: float | None = None) -> Tensor:
    """Return A_X from X X^T (B, L, L), which is overwritten: no gradient goes through.

    >>> import torch
    >>> x = torch.tensor([[[1.0, 0.0], [3.0, 4.0]]])
    >>> bool(torch.allclose(adjacency_of(x @ x.transpose(1, 2)), adjacency(x)))
    True
    """
    inverse = products.diagonal(dim1=-2, dim2=-1).clamp(min=_TINY**2).rsqrt()
    products *= inverse[:, None, :]
    if floor is not None:  # without a floor the length of x_i cancels in the normalisation of the row
        products *= inverse[:, :, None]
        products.clamp_(min=floor)
    products *= 1 / vector_norm(products, dim=-1, keepdim=True).clamp(min=_TINY)
    return products


def only_real(matrix: Tensor, mask: Tensor | None) -> Tensor:
    """Return the matrix (B, L, L) or (B, H, L, L) with 0 in the rows and columns of padding.

    >>> import torch
    >>> only_real(torch.ones(1, 2, 2), torch.tensor([[True, False]])).tolist()
    [[[1.0, 0.0], [0.0, 0.0]]]
    """
    if mask is None:
        return matrix
    real = mask[:, :, None] & mask[:, None, :]
    return matrix.masked_fill(~(real if matrix.dim() == 3 else real[:, None]), 0.0)
