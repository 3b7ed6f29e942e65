r"""The kinship network: from the tests of an edge to the probability that its two ends belong together.

    p_ij = sigmoid(MLP((t_ij - mean) / spread)),     t_ij: the 13 tests of the edge (`kinfolk.kinship.edge_tests`)

    MLP: 13 -> 32 -> 32 -> 1 with ReLU, 1,537 weights

It reads ranks, shares and relative similarities only, never the features, so the same weights serve any data set. They
were trained on generated sets (research/kinship_training.py) and are evaluated here without torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from kinfolk._core.kernels import kernel, over_spans
from kinfolk.kinship.edge_tests import NAMES

SHIPPED = Path(__file__).with_name("kinship.safetensors")
HIDDEN = 32
OUTLIER = 4.0  # standardised tests are clipped here: the training sets hold hardly any beyond
TILE = 64  # edges evaluated together: one row of activations fills a few vector registers
SHAPES = {
    "mean": (len(NAMES),),
    "spread": (len(NAMES),),
    "layers.0.weight": (HIDDEN, len(NAMES)),
    "layers.0.bias": (HIDDEN,),
    "layers.2.weight": (HIDDEN, HIDDEN),
    "layers.2.bias": (HIDDEN,),
    "layers.4.weight": (1, HIDDEN),
    "layers.4.bias": (1,),
}


class KinshipNetwork:
    """The trained network, evaluated by a compiled kernel.

    Parameters
    ----------
    tensors : the weights by name, with the shapes of `SHAPES`.

    Examples
    --------
    >>> net = KinshipNetwork.shipped()
    >>> sum(values.size for name, values in net.tensors.items() if name.startswith("layers"))
    1537
    >>> net.log_probability(np.zeros((5, 13), dtype=np.float32)).shape
    (5,)
    """

    def __init__(self, tensors: Mapping[str, NDArray[np.float32]]) -> None:
        """Check the shapes and keep the weights as the kernel wants them."""
        for name, shape in SHAPES.items():
            if tensors[name].shape != shape:
                raise ValueError(f"{name} has the shape {tensors[name].shape}, {shape} is expected")
        self.tensors = {name: np.ascontiguousarray(tensors[name], dtype=np.float32) for name in SHAPES}

    @classmethod
    def shipped(cls) -> KinshipNetwork:
        """Return the network that comes with the package.

        >>> KinshipNetwork.shipped() is KinshipNetwork.shipped()
        True
        """
        return _shipped()

    def log_probability(self, tests: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return log p of the edges with these tests: (..., 13) -> (...)."""
        flat = np.ascontiguousarray(tests, dtype=np.float32).reshape(-1, len(NAMES))
        result = np.empty(len(flat), dtype=np.float32)
        weights = tuple(self.tensors.values())
        over_spans(lambda a, b: _log_probability(flat[a:b], weights, result[a:b]), len(flat))
        return result.reshape(tests.shape[:-1])


@cache
def _shipped() -> KinshipNetwork:
    return KinshipNetwork(load_file(SHIPPED))


@kernel(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def _log_probability(
    tests: NDArray[np.float32], weights: tuple[NDArray[np.float32], ...], result: NDArray[np.float32]
) -> None:
    mean, spread, weight1, bias1, weight2, bias2, weight3, bias3 = weights
    edges, inputs = tests.shape
    hidden = len(bias1)
    low, high = np.float32(-OUTLIER), np.float32(OUTLIER)
    for first in range(0, edges, TILE):
        count = min(TILE, edges - first)
        x = np.zeros((inputs, TILE), dtype=np.float32)
        for c in range(inputs):
            for e in range(count):
                x[c, e] = min(max((tests[first + e, c] - mean[c]) / spread[c], low), high)
        h1 = _dense_relu(x, weight1, bias1)
        h2 = _dense_relu(h1, weight2, bias2)
        odds = np.full(TILE, bias3[0], dtype=np.float32)
        for c in range(hidden):
            w = weight3[0, c]
            for e in range(TILE):
                odds[e] += w * h2[c, e]
        for e in range(count):
            # log sigmoid without overflow
            o = odds[e]
            result[first + e] = min(o, np.float32(0)) - np.log1p(np.exp(-abs(o)))


@kernel(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def _dense_relu(x: NDArray[np.float32], weight: NDArray[np.float32], bias: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return relu(W x + b) of a tile of edges, (inputs, TILE) -> (outputs, TILE)."""
    outputs, inputs = weight.shape
    h = np.empty((outputs, TILE), dtype=np.float32)
    for o in range(outputs):
        row = h[o]
        row[:] = bias[o]
        for c in range(inputs):
            w = weight[o, c]
            for e in range(TILE):
                row[e] += w * x[c, e]
        for e in range(TILE):
            row[e] = max(row[e], np.float32(0))
    return h
