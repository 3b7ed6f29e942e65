"""Encoders of GCN layers with A_band where nothing is learned: many sub-graphs on one core, quickly.

Products of weights are formed once (`FormedLayer`), and neighbours share neighbours: the P sub-graphs of near probes
hold U nodes, far fewer than P L. Their cosines T (U, U) and self attention are worked out once, and each sub-graph
takes its part. A single layer needs the probes' rows only, which is little beside T: there the probes of a block are
halved until their U^2 pairs are few beside the P L^2 of the sub-graphs one by one.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from kinfolk.nn.attention import FormedBand, Projected
from kinfolk.nn.attention.pairs import gram
from kinfolk.nn.encoder import Encoder, take
from kinfolk.nn.layers import FormedLayer, GCNLayer

PAYS = 1.5  # pairs of U nodes for each pair of the sub-graphs one by one: of the U^2 half are worked out, at once
HALVED_ABOVE = 2.0  # the same with a single layer
_TINY = 1e-12


class FormedEncoder:
    """An `Encoder` of GCN layers with A_band for inference.

    >>> from kinfolk.nn import EncoderConfig
    >>> encoder = Encoder(EncoderConfig(in_dim=2, k=1, layers=2))
    >>> features, nodes = torch.eye(2), torch.tensor([[0, 1], [1, 0]])
    >>> with torch.inference_mode():
    ...     formed = FormedEncoder.of(encoder, size=2)
    ...     rows = formed.finish(formed.joined(features, formed.project(features), nodes))
    ...     bool(torch.allclose(rows, encoder.probe_rows(features[nodes]), atol=1e-6))
    True
    """

    def __init__(self, layers: list[FormedLayer]) -> None:
        """Take the layers, first to last."""
        *self.before, self.last = layers

    @classmethod
    def of(cls, encoder: Encoder, size: int) -> FormedEncoder | None:
        """Return that of the encoder for sub-graphs of `size` rows, None where it is another kind of encoder."""
        layers = []
        for layer in encoder.layers:
            if not isinstance(layer, GCNLayer) or (band := FormedBand.of(layer.attention, size)) is None:
                return None
            layers.append(FormedLayer(layer, band))
        return cls(layers)

    def project(self, features: Tensor) -> dict[str, Tensor]:
        """Return what the first layer makes of each node alone, (N, in_dim) -> (N, ...) each; an only one just asks."""
        return self.before[0].project(features) if self.before else {"asked": features @ self.last.band.asking}

    def joined(self, features: Tensor, projected: Projected, nodes: Tensor) -> Tensor:
        """Return [X, A X] of the probes in the last layer, A X alone without concat, (P, 2 in_dim or in_dim).

        Shapes: features (N, in_dim), projected = project(features), nodes (P, L) int64, the probe first.
        """
        if not self.before:
            return self.last.join(*self._only(features, projected["asked"], nodes))
        first, *between = self.before
        unique, places = distinct(nodes.numpy())
        if len(unique) ** 2 <= PAYS * nodes.numel() * nodes.shape[1]:
            some = torch.from_numpy(unique)
            x, asked = features.index_select(0, some), projected["asked"].index_select(0, some)
            products, duet = (torch.from_numpy(blocks(pairs.numpy(), places)) for pairs in first.pairs(x, asked))
            mine = {name: take(known, nodes) for name, known in projected.items() if name != "asked"}
            x = first.all_rows(products, duet, mine)
        else:
            x = first.next_rows(take(features, nodes), {name: take(known, nodes) for name, known in projected.items()})
        for layer in between:
            x = layer.next_rows(x, layer.project(x))
        return self.last.joined(x)

    def finish(self, joined: Tensor) -> Tensor:
        """Return the probes' rows of the last layer, (P, in_dim)."""
        return self.last.finish(joined)

    def _only(self, features: Tensor, asked: Tensor, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Return X and A X of the probes in a single layer, (P, M) each: features, asked (N, M), nodes (P, L)."""
        unique, places = distinct(nodes.numpy())
        if len(unique) ** 2 > HALVED_ABOVE * nodes.numel() * nodes.shape[1]:
            halves = [self._only(features, asked, half) for half in nodes.tensor_split(2)]
            return torch.cat([own for own, _ in halves]), torch.cat([mixed for _, mixed in halves])
        band = self.last.band
        x = features.index_select(0, torch.from_numpy(unique))
        tests = gram(normalize(x, dim=-1)).numpy()
        if band.floor is not None:
            np.maximum(tests, band.floor, out=tests)
        through = torch.from_numpy(probes_tests(tests, places)) @ band.middle
        duet = asked.index_select(0, nodes[:, 0]) @ x.T
        weights = spread_softmax(seen_alike(tests, places, through.numpy()), duet.numpy(), places)
        return features.index_select(0, nodes[:, 0]), torch.from_numpy(weights) @ x


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def probes_tests(tests: NDArray[np.float32], places: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the probes' rows of A_X, of length one: T (U, U), places (P, L), the probe first -> (P, L).

    >>> probes_tests(np.array([[1.0, 0.75], [0.75, 1.0]]), np.array([[0, 1]])).tolist()
    [[0.8, 0.6]]
    """
    result = np.empty(places.shape, dtype=tests.dtype)
    for p in range(len(places)):
        row = tests[places[p, 0]]
        squares = tests.dtype.type(0)
        for i in range(places.shape[1]):
            test = row[places[p, i]]
            result[p, i] = test
            squares += test * test
        result[p] *= tests.dtype.type(1 / max(np.sqrt(squares), _TINY))
    return result


@njit(cache=True, nogil=True)
def spread_softmax(
    scores: NDArray[np.float32], duet: NDArray[np.float32], places: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return softmax(scores + duet at the places) at the places, 0 elsewhere: (P, L), (P, U), (P, L) -> (P, U).

    A place that comes twice has both its weights.

    >>> spread_softmax(np.array([[0.0, 1.0]]), np.array([[5.0, 1.0, 0.0]]), np.array([[1, 2]])).tolist()
    [[0.0, 0.5, 0.5]]
    """
    weights = np.zeros_like(duet)
    sums = np.empty(places.shape[1], dtype=duet.dtype)
    for p in range(len(places)):
        for j in range(len(sums)):
            sums[j] = scores[p, j] + duet[p, places[p, j]]
        sums[:] = np.exp(sums - sums.max())
        sums /= sums.sum()
        for j in range(len(sums)):
            weights[p, places[p, j]] += sums[j]
    return weights


@njit(cache=True, nogil=True)
def distinct(nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each of the nodes (P, L) once, as they come, (U,), and where each of them is found there, (P, L).

    What np.unique does, by a table of hashes in place of sorting.

    >>> distinct(np.array([[7, 2], [2, 5]]))
    (array([7, 2, 5]), array([[0, 1],
           [1, 2]]))
    """
    size = 2
    while size < 2 * nodes.size:
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    unique, places = np.empty(nodes.size, dtype=np.int64), np.empty(nodes.shape, dtype=np.int64)
    count = 0
    for p in range(nodes.shape[0]):
        for i in range(nodes.shape[1]):
            slot = nodes[p, i] * 0x9E3779B1 & (size - 1)
            while table[slot] >= 0 and unique[table[slot]] != nodes[p, i]:
                slot = (slot + 1) & (size - 1)
            if table[slot] < 0:
                table[slot], unique[count] = count, nodes[p, i]
                count += 1
            places[p, i] = table[slot]
    return unique[:count].copy(), places


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def seen_alike(
    tests: NDArray[np.float32], places: NDArray[np.int64], asked: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return a_p . T_p[j] / |T_p[j]|, T_p the rows and columns of T (U, U) at p's places; places, a (P, L) -> (P, L).

    >>> seen_alike(np.array([[1.0, 0.6], [0.6, 0.8]]), np.array([[0, 1]]), np.array([[0.0, 1.0]])).round(2)
    array([[0.51, 0.8 ]])
    """
    result = np.empty_like(asked)
    for p in range(len(places)):
        for j in range(places.shape[1]):
            row = tests[places[p, j]]
            squares, total = tests.dtype.type(0), tests.dtype.type(0)
            for i in range(places.shape[1]):
                test = row[places[p, i]]
                squares += test * test
                total += asked[p, i] * test
            result[p, j] = total / max(np.sqrt(squares), _TINY)
    return result


@njit(cache=True, nogil=True)
def blocks(matrix: NDArray[np.float32], places: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the rows and columns of the matrix (U, U) at the places (P, L) of each sub-graph, (P, L, L).

    >>> blocks(np.arange(9).reshape(3, 3), np.array([[2, 0]])).tolist()
    [[[8, 6], [2, 0]]]
    """
    count, size = places.shape
    result = np.empty((count, size, size), dtype=matrix.dtype)
    for p in range(count):
        for i in range(size):
            row = matrix[places[p, i]]
            for j in range(size):
                result[p, i, j] = row[places[p, j]]
    return result
