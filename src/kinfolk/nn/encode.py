"""Encoding of many sub-graphs: what the networks make of every row, block after block."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor, nn

from kinfolk._core.threads import deal, one_torch_thread
from kinfolk.nn.attention import cosines
from kinfolk.nn.device import best_device
from kinfolk.nn.encoder import Encoder, take
from kinfolk.nn.formed import FormedEncoder
from kinfolk.nn.shared import SharedBatch, serves, shared_rows

BLOCK_ENTRIES = 1 << 20  # floats of a gathered block: what stays in the cache
DEEP_ENTRIES = 1 << 19  # the same where several layers add their own
RUN_ENTRIES = 1 << 22  # the same where most are never gathered, because a block is cut into runs that overlap
DEVICE_ENTRIES = 1 << 26  # the same on a GPU
HEAD_ROWS = 128
PROJECT_ROWS = 2048


def encode_all(
    encoder: Encoder, features: NDArray[np.float32], indices: NDArray[np.integer], probes: NDArray[np.float32] | None
) -> NDArray[np.float32]:
    """Return the encoded rows, block after block: features (n, d), indices (m, k) of each probe's neighbours -> (m, o).

    `probes`: the probes' own features where they are not the rows of `features`. Where they are, near probes go into
    the same block, and a block whose sub-graphs overlap much is encoded as one (see `kinfolk.nn.formed` and
    `kinfolk.nn.shared`).

    >>> from kinfolk.nn.encoder import EncoderConfig
    >>> encoder = Encoder(EncoderConfig(in_dim=2, k=1, init="identity"))
    >>> encode_all(encoder, np.eye(2, dtype=np.float32), np.array([[1], [0]]), None).shape
    (2, 2)
    """
    rows = torch.from_numpy(np.ascontiguousarray(features))
    own = rows if probes is None else torch.from_numpy(np.ascontiguousarray(probes))
    encoder.eval()
    if (device := best_device()).type != "cpu":
        return encode_on(device, encoder, own, rows, indices)
    near = near_order(np.asarray(indices, dtype=np.int64)) if probes is None else np.arange(len(indices))
    # with another number of threads the products of weights would have other bits
    with torch.inference_mode(), one_torch_thread():
        mix, finish, entries = _way(encoder, own, rows, indices)
    step = max(1, entries // ((indices.shape[1] + 1) * features.shape[1]))
    result = torch.empty(len(near), encoder.config.out_dim or encoder.config.in_dim)

    @torch.inference_mode()
    def encode(some: NDArray[np.int64]) -> None:
        blocks = [some[start : start + step] for start in range(0, len(some), step)]
        mixed = [mix(torch.from_numpy(me), torch.from_numpy(indices[me].astype(np.int64))) for me in blocks]
        result[torch.from_numpy(some)] = encoder.head(finish(torch.cat(mixed)))

    # the last weights are large beside a block of few probes: several blocks go through them together
    together = step * -(-HEAD_ROWS // step)
    deal(encode, [near[start : start + together] for start in range(0, len(near), together)])
    return result.numpy()


@torch.inference_mode()
def encode_on(
    device: torch.device,
    encoder: Encoder,
    own: Tensor,
    rows: Tensor,
    indices: NDArray[np.integer],
    counts: NDArray[np.integer] | None = None,
) -> NDArray[np.float32]:
    """Return the encoded rows as `encode_all` does, each sub-graph by itself: a GPU gains nothing by shared work.

    `counts` (m,): only the first so many neighbours of a probe belong to its sub-graph; None: all.

    >>> from kinfolk.nn.encoder import EncoderConfig
    >>> encoder = Encoder(EncoderConfig(in_dim=2, k=1, init="identity"))
    >>> encode_on(torch.device("cpu"), encoder, torch.eye(2), torch.eye(2), np.array([[1], [0]])).shape
    (2, 2)
    """
    encoder, own, rows = encoder.to(device), own.to(device), rows.to(device)
    entries = BLOCK_ENTRIES if device.type == "cpu" else DEVICE_ENTRIES
    step = max(1, entries // ((indices.shape[1] + 1) * rows.shape[1]))
    found = [torch.empty(0, encoder.config.out_dim or encoder.config.in_dim)]
    for start in range(0, len(indices), step):
        some = slice(start, start + step)
        neighbors = torch.from_numpy(indices[some].astype(np.int64)).to(device)
        mask = None if counts is None else _first(counts[some], indices.shape[1]).to(device)
        found.append(encoder(torch.cat([own[some, None], take(rows, neighbors)], dim=1), mask).cpu())
    return torch.cat(found).numpy()


def _first(counts: NDArray[np.integer], k: int) -> Tensor:
    """Return the mask (b, 1 + k) of the probes and of the first counts (b,) of their k neighbours."""
    return torch.from_numpy(np.arange(k + 1) <= counts[:, None])


Mix = Callable[[Tensor, Tensor], Tensor]
Finish = Callable[[Tensor], Tensor]


def _way(encoder: Encoder, own: Tensor, rows: Tensor, indices: NDArray[np.integer]) -> tuple[Mix, Finish, int]:
    """Return the quickest way from probes (P,) and their neighbors (P, k) to their rows of the last layer (P, d).

    It has two parts, the second for more probes at once, and comes with the floats of a block of the first.
    """

    def with_probe(me: Tensor, neighbors: Tensor) -> Tensor:
        return torch.cat([me[:, None], neighbors], dim=1)

    def shared(me: Tensor, neighbors: Tensor) -> Tensor:
        batch = SharedBatch.where_it_pays(own.index_select(0, me), rows, neighbors)
        return apart(me, neighbors) if batch is None else shared_rows(encoder, batch)

    def apart(me: Tensor, neighbors: Tensor) -> Tensor:
        return encoder.probe_rows(torch.cat([own.index_select(0, me)[:, None], take(rows, neighbors)], dim=1))

    entries = BLOCK_ENTRIES if len(encoder.layers) == 1 else DEEP_ENTRIES
    formed = FormedEncoder.of(encoder, indices.shape[1] + 1) if own is rows else None
    if formed is not None:
        known, entries = (_of_the_used(formed.project, rows, indices), entries) if formed.before else ({}, RUN_ENTRIES)
        return lambda me, neighbors: formed.joined(rows, known, with_probe(me, neighbors)), formed.finish, entries
    if serves(encoder) and indices.shape[1] > 0:
        return shared, nn.Identity(), entries
    if own is not rows:
        return apart, nn.Identity(), entries
    cache = _of_the_used(encoder.precompute, rows, indices)

    def in_full(me: Tensor, neighbors: Tensor) -> Tensor:
        return encoder.encode_rows(rows, with_probe(me, neighbors), cache=cache)

    return in_full, nn.Identity(), entries


def _of_the_used(
    project: Callable[[Tensor], dict[str, Tensor]], rows: Tensor, indices: NDArray[np.integer]
) -> dict[str, Tensor]:
    """Return project(rows), unset where a row is neither a probe nor in the indices (m, k) of the m probes."""
    used = np.zeros(len(rows), dtype=np.bool_)
    used[: len(indices)] = True
    used[indices] = True
    places = torch.from_numpy(np.flatnonzero(used))
    known = {name: torch.empty(len(rows), part.shape[1]) for name, part in project(rows[:1]).items()}

    @torch.inference_mode()
    def fill(some: Tensor) -> None:
        for name, part in project(rows.index_select(0, some)).items():
            known[name][some] = part

    deal(fill, [places[start : start + PROJECT_ROWS] for start in range(0, len(places), PROJECT_ROWS)])
    return known


@njit(cache=True)
def near_order(indices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return an order of the probes, in which near ones follow each other, in O(m k): indices (m, k) -> (m,).

    A walk: from a probe to the nearest of its neighbours not yet visited; where there is none, on from the first probe
    not yet visited.

    >>> near_order(np.array([[2, 1], [3, 2], [0, 3], [1, 0]])).tolist()
    [0, 2, 3, 1]
    """
    m = len(indices)
    visited = np.zeros(m, dtype=np.bool_)
    order = np.empty(m, dtype=np.int64)
    found = 0
    for first in range(m):
        at = first
        while at >= 0 and not visited[at]:
            visited[at] = True
            order[found] = at
            found += 1
            onward = -1
            for neighbor in indices[at]:
                if neighbor < m and not visited[neighbor]:
                    onward = neighbor
                    break
            at = onward
    return order


def vectors_of(
    encoder: Encoder,
    X: NDArray[np.float32],
    indices: NDArray[np.integer],
    counts: NDArray[np.integer] | None = None,
) -> Callable[[NDArray[np.integer]], Tensor]:
    """Return the function probes (b,) -> their vectors (b, o), for losses: each probe in its own sub-graph.

    Shapes: X (n, d), indices (n, k) neighbours; `counts` (n,): only the first so many belong to the sub-graph.

    >>> from kinfolk.nn.encoder import EncoderConfig
    >>> vectors = vectors_of(Encoder(EncoderConfig(in_dim=2, k=1)), np.eye(2, dtype=np.float32), np.array([[1], [0]]))
    >>> vectors(np.array([0])).shape
    torch.Size([1, 2])
    """
    device = best_device()
    encoder.to(device)
    rows = torch.from_numpy(X).to(device)

    def of(probes: NDArray[np.integer]) -> Tensor:
        nodes = np.concatenate([probes[:, None], indices[probes]], axis=1).astype(np.int64)
        mask = None if counts is None else _first(counts[probes], indices.shape[1]).to(device)
        return encoder(take(rows, torch.from_numpy(nodes).to(device)), mask)

    return of


@torch.inference_mode()
def maps_of(
    encoder: Encoder, subgraphs: NDArray[np.float32]
) -> tuple[NDArray[np.float32], dict[str, NDArray[np.float32]]]:
    """Return the cosines of sub-graphs (P, L, d) and the attention of each form in the last layer: (P, L, L) each.

    >>> from kinfolk.nn.encoder import EncoderConfig
    >>> cosine, weights = maps_of(Encoder(EncoderConfig(in_dim=2, k=1)), np.eye(2, dtype=np.float32)[None])
    >>> cosine.shape, sorted(weights)
    ((1, 2, 2), ['band', 'quartet', 'self'])
    """
    x = torch.from_numpy(subgraphs).to(next(encoder.parameters()).device)
    weights = encoder.eval().attention_maps(x)
    return cosines(x).cpu().numpy(), {form: found.mean(dim=1).cpu().numpy() for form, found in weights.items()}
