"""Encoding of many sub-graphs in blocks, on one core each or on a GPU.

The blocks go through one of four computations with equal results up to rounding, the first that applies:

`SingleLayer`   one layer with A_qart or A_band of one head, probes among the rows
`MergedLayers`  several GCN layers with A_band of one head, probes among the rows
projected       several layers, probes among the rows: the first layer's projections are computed once a node
plain           every sub-graph by itself

What each saves is in docs/attention.md, its last section.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kinfolk._core.threads import deal, one_torch_thread
from kinfolk.nn._overlap import near_order
from kinfolk.nn.attention import cosines
from kinfolk.nn.device import best_device
from kinfolk.nn.encoder import Encoder, take
from kinfolk.nn.inference import MergedLayers, SingleLayer

BLOCK_ENTRIES = 1 << 20  # floats of the gathered sub-graphs of a block, to fit into the cache
DEEP_ENTRIES = 1 << 19  # the same with several layers, which need memory of their own
RUN_ENTRIES = 1 << 22  # the same for the merged single layer, which gathers each distinct node of a run once
DEVICE_ENTRIES = 1 << 26  # the same on a GPU
HEAD_ROWS = 128  # probes that go through the last weights together, which are large beside a block
PROJECT_ROWS = 2048  # rows projected at once


def encode_all(
    encoder: Encoder, features: NDArray[np.float32], indices: NDArray[np.integer], probes: NDArray[np.float32] | None
) -> NDArray[np.float32]:
    """Return the vectors of all probes: features (n, d), indices (m, k) of each probe's neighbours -> (m, o).

    `probes` (m, d): features of the probes where they are not the first m rows of `features`.

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
    order = near_order(np.asarray(indices, dtype=np.int64)) if probes is None else np.arange(len(indices))
    # with another number of threads the products of weights would have other bits
    with torch.inference_mode(), one_torch_thread():
        rows_of, entries = _block_encoder(encoder, own, rows, indices)
    step = max(1, entries // ((indices.shape[1] + 1) * features.shape[1]))
    result = torch.empty(len(order), encoder.config.out_dim or encoder.config.in_dim)

    @torch.inference_mode()
    def encode(some: NDArray[np.int64]) -> None:
        blocks = [torch.from_numpy(some[start : start + step]) for start in range(0, len(some), step)]
        found = rows_of([(me, torch.from_numpy(indices[me.numpy()].astype(np.int64))) for me in blocks])
        result[torch.from_numpy(some)] = encoder.head(found)

    together = step * -(-HEAD_ROWS // step)
    deal(encode, [order[start : start + together] for start in range(0, len(order), together)])
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
    """Return the vectors as `encode_all` does, with plain computation on a device: own (m, d), rows (n, d).

    `counts` (m,): number of neighbours in each sub-graph, the others are padding; None: all k.

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


Blocks = list[tuple[Tensor, Tensor]]


def _block_encoder(
    encoder: Encoder, own: Tensor, rows: Tensor, indices: NDArray[np.integer]
) -> tuple[Callable[[Blocks], Tensor], int]:
    """Return the fastest function from blocks to the probes' rows of the last layer, and the floats of a block.

    A block is probes (P,) and their neighbours (P, k); the rows of all blocks are returned together, (sum of P, d).
    """
    size = indices.shape[1] + 1
    entries = BLOCK_ENTRIES if len(encoder.layers) == 1 else DEEP_ENTRIES
    if own is not rows:
        return lambda blocks: torch.cat([_plain_rows(encoder, own, rows, *block) for block in blocks]), entries
    if (single := SingleLayer.of(encoder, size)) is not None:
        return lambda blocks: single.finish(
            *_joined([single.mix(rows, _nodes(*block)) for block in blocks])
        ), RUN_ENTRIES
    if (merged := MergedLayers.of(encoder, size)) is not None:
        projected = _project_used(merged.project, rows, indices)

        def merged_rows(blocks: Blocks) -> Tensor:
            return merged.finish(*_joined([merged.mix(rows, projected, _nodes(*block)) for block in blocks]))

        return merged_rows, entries
    cache = _project_used(encoder.precompute, rows, indices)
    return lambda blocks: torch.cat([encoder.encode_rows(rows, _nodes(*b), cache=cache) for b in blocks]), entries


def _plain_rows(encoder: Encoder, own: Tensor, rows: Tensor, probes: Tensor, neighbors: Tensor) -> Tensor:
    return encoder.probe_rows(torch.cat([own.index_select(0, probes)[:, None], take(rows, neighbors)], dim=1))


def _nodes(probes: Tensor, neighbors: Tensor) -> Tensor:
    return torch.cat([probes[:, None], neighbors], dim=1)


def _joined(pairs: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    return torch.cat([own for own, _ in pairs]), torch.cat([mixed for _, mixed in pairs])


def _project_used(
    project: Callable[[Tensor], dict[str, Tensor]], rows: Tensor, indices: NDArray[np.integer]
) -> dict[str, Tensor]:
    """Return project(rows), left unset for rows that are neither among the m probes nor in the indices (m, k)."""
    used = np.zeros(len(rows), dtype=np.bool_)
    used[: len(indices)] = True
    used[indices] = True
    places = torch.from_numpy(np.flatnonzero(used))
    projected = {name: torch.empty(len(rows), part.shape[1]) for name, part in project(rows[:1]).items()}

    @torch.inference_mode()
    def fill(some: Tensor) -> None:
        for name, part in project(rows.index_select(0, some)).items():
            projected[name][some] = part

    deal(fill, [places[start : start + PROJECT_ROWS] for start in range(0, len(places), PROJECT_ROWS)])
    return projected


def vectors_of(
    encoder: Encoder,
    X: NDArray[np.float32],
    indices: NDArray[np.integer],
    counts: NDArray[np.integer] | None = None,
) -> Callable[[NDArray[np.integer]], Tensor]:
    """Return the function probes (b,) -> vectors (b, o) with gradients, each probe encoded in its own sub-graph.

    Shapes: X (n, d), indices (n, k) neighbours; `counts` (n,): neighbours in each sub-graph, the others are padding.

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
