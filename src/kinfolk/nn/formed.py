"""Encoders of GCN layers with A_band where nothing is learned: many sub-graphs on one core, quickly.

Products of weights are formed once (`FormedLayer`), and neighbours share neighbours: the P sub-graphs of near probes
hold U nodes, far fewer than P L. Their cosines T (U, U) and self attention are worked out once, and each sub-graph
takes its part. A single layer needs the probes' rows only, which is little beside T: there the probes are cut into runs
of sub-graphs that overlap, so that the U^2 pairs of a run are few beside the P L^2 of its sub-graphs one by one.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from kinfolk.nn.attention import FormedBand, Projected
from kinfolk.nn.encoder import Encoder, take
from kinfolk.nn.layers import FormedLayer, GCNLayer

PAYS = 1.5  # pairs of U nodes for each pair of the sub-graphs one by one: of the U^2 half are worked out, at once
JOINED_BELOW = 2.0  # pairs a sub-graph may add, for each of its own: with a single layer
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
        """Return what the first of several layers makes of each node alone, (N, in_dim) -> (N, ...) each."""
        return self.before[0].project(features) if self.before else {}

    def joined(self, features: Tensor, projected: Projected, nodes: Tensor) -> Tensor:
        """Return [X, A X] of the probes in the last layer, A X alone without concat, (P, 2 in_dim or in_dim).

        Shapes: features (N, in_dim), projected = project(features), nodes (P, L) int64, the probe first.
        """
        if not self.before:
            return self.last.join(*self._only(features, nodes))
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

    def _only(self, features: Tensor, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Return X and A X of the probes in a single layer, (P, M) each: features (N, M), nodes (P, L)."""
        own = features.index_select(0, nodes[:, 0])
        runs = overlapping_runs(nodes.numpy(), JOINED_BELOW).tolist()
        asked = torch.split(own @ self.last.band.asking, runs)
        together = zip(asked, torch.split(nodes, runs), strict=True)
        return own, torch.cat([self._mixed(features, *some) for some in together])

    def _mixed(self, features: Tensor, asked: Tensor, nodes: Tensor) -> Tensor:
        """Return A X of the probes in a single layer, (P, M), the tests of their sub-graphs worked out together."""
        unique, places = distinct(nodes.numpy())
        x, directions = with_directions(features.numpy(), unique)
        tests = directions @ directions.T
        if self.last.band.floor is not None:
            np.maximum(tests, self.last.band.floor, out=tests)
        return torch.from_numpy(mix_probes(tests, x, places, asked.numpy(), self.last.band.middle.numpy()))


@njit(cache=True, nogil=True)
def overlapping_runs(nodes: NDArray[np.int64], most: float) -> NDArray[np.int64]:
    """Return how many sub-graphs go together, one run of nodes (P, L) after the other, (runs,) that sum up to P.

    The next sub-graph belongs to the run where the pairs it adds to U^2 are at most `most` times the L^2 of its own.

    >>> overlapping_runs(np.array([[0, 1, 2], [1, 2, 0], [5, 6, 7]]), 1.0)
    array([2, 1])
    """
    _, places = distinct(nodes)
    last_run = np.full(nodes.size, -1)
    sizes = np.zeros(len(nodes), dtype=np.int64)
    run, union, pairs = 0, 0, most * nodes.shape[1] ** 2
    for p in range(len(places)):
        new = 0
        for place in places[p]:
            new += last_run[place] != run
        if sizes[run] and (union + new) ** 2 - union**2 > pairs:
            run, union, new = run + 1, 0, places.shape[1]
        last_run[places[p]] = run
        union += new
        sizes[run] += 1
    return sizes[: run + 1]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def with_directions(
    features: NDArray[np.float32], nodes: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the rows of the nodes (U,) in features (N, dim), and the same of length one, (U, dim) each.

    >>> with_directions(np.array([[0.0, 2.0], [0.0, 0.0], [3.0, 4.0]]), np.array([2, 1]))
    (array([[3., 4.],
           [0., 0.]]), array([[0.6, 0.8],
           [0. , 0. ]]))
    """
    x = np.empty((len(nodes), features.shape[1]), dtype=features.dtype)
    directions = np.empty_like(x)
    for u in range(len(nodes)):
        row = features[nodes[u]]
        squares = features.dtype.type(0)
        for d in range(len(row)):
            x[u, d] = row[d]
            squares += row[d] * row[d]
        scale = features.dtype.type(1 / max(np.sqrt(squares), _TINY))
        for d in range(len(row)):
            directions[u, d] = row[d] * scale
    return x, directions


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def mix_probes(
    tests: NDArray[np.float32],
    x: NDArray[np.float32],
    places: NDArray[np.int64],
    asked: NDArray[np.float32],
    middle: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return softmax(x_0 M X^T + a_0 N A_X^T) X of each probe, the first of its sub-graph: (P, dim).

    Shapes: tests T (U, U), the cosines of U nodes, x (U, dim), places (P, L) of each sub-graph's nodes among them,
    asked = x_0 M (P, dim), middle N (L, L). A_X has the rows and columns of T at the places, its rows of length one.

    >>> tests, x = np.array([[1.0, 0.75], [0.75, 1.0]]), np.array([[2.0], [4.0]])
    >>> mix_probes(tests, x, np.array([[0, 1]]), np.zeros((1, 1)), np.zeros((2, 2)))
    array([[3.]])
    """
    count, size = places.shape
    one = tests.dtype.type(1)
    own, through, scores = np.empty((3, size), dtype=tests.dtype)
    result = np.zeros((count, x.shape[1]), dtype=tests.dtype)
    for p in range(count):
        mine = places[p]
        squares = tests.dtype.type(0)
        for i in range(size):
            own[i] = tests[mine[0], mine[i]]
            squares += own[i] * own[i]
        through[:] = 0
        for i in range(size):
            part = own[i]
            for j in range(size):
                through[j] += part * middle[i, j]
        through *= one / max(np.sqrt(squares), _TINY)
        for j in range(size):
            row, here = tests[mine[j]], x[mine[j]]
            squares, alike, duet = tests.dtype.type(0), tests.dtype.type(0), tests.dtype.type(0)
            for i in range(size):
                test = row[mine[i]]
                squares += test * test
                alike += through[i] * test
            for d in range(len(here)):
                duet += asked[p, d] * here[d]
            scores[j] = duet + alike / max(np.sqrt(squares), _TINY)
        scores[:] = np.exp(scores - scores.max())
        scores *= one / scores.sum()
        mixed = result[p]
        for j in range(size):
            weight, here = scores[j], x[mine[j]]
            for d in range(len(here)):
                mixed[d] += weight * here[d]
    return result


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
