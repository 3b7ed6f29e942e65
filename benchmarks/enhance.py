"""Encoders of sub-graphs against the dense way, and the label-free enhancer over n."""

import runpy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import kinfolk as kf
from benchmarks.measure import measure
from benchmarks.page import Section
from kinfolk._core.threads import thread_count
from kinfolk.features import unit_rows
from kinfolk.nn import Encoder, EncoderConfig, hinge_loss
from kinfolk.nn.encode import encode_all

K, DIM, PROBES, BATCH, REPEATS = 120, 256, 2048, 32, 3
DENSE_BATCH = 8  # of 4, 8, 16, 32, 64, 128 the one where dense is at its best
PART1 = 8_573  # identities of MS-Celeb part 1
dense = runpy.run_path(str(Path(__file__).parent.parent / "tests" / "nn" / "dense.py"))["forward_all_rows"]


def _seconds(*works: Callable[[], Any]) -> list[float]:
    """Return the fastest time of each, taking turns."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(REPEATS + 1):
        for work, found in zip(works, times, strict=True):
            start = time.perf_counter()
            work()
            found.append(time.perf_counter() - start)
    return [min(found[1:]) for found in times]


def _encoder(layers: int) -> Encoder:
    torch.manual_seed(0)
    return Encoder(
        EncoderConfig(in_dim=DIM, k=K, attention="band", layers=layers, concat=True, norm=True, out_dim=2048)
    )


def encoders(folder: str) -> Section:
    torch.set_num_threads(thread_count())
    X = unit_rows(kf.datasets.celeb_like(300, dim=DIM))
    indices = kf.knn_graph(X, k=K).indices
    features, labels = torch.from_numpy(X), torch.arange(BATCH) // 8
    nodes = torch.from_numpy(np.column_stack([np.arange(PROBES), indices[:PROBES]]).astype(np.int64))
    rows = []

    def dense_way(encoder: Encoder) -> torch.Tensor:
        with torch.inference_mode():
            return torch.cat([dense(encoder, features[batch]) for batch in nodes.split(DENSE_BATCH)])

    for layers in (1, 3):
        encoder = _encoder(layers)
        far = np.abs(encode_all(encoder, X, indices[:PROBES], None) - dense_way(encoder).numpy()).max()
        theirs, ours = _seconds(
            lambda e=encoder: dense_way(e), lambda e=encoder: encode_all(e, X, indices[:PROBES], None)
        )
        each = f"{theirs / PROBES * 1e3:.2f} ms", f"{ours / PROBES * 1e3:.2f} ms"
        rows.append([f"transform, {layers} layer{'s' * (layers > 1)}", *each, f"{theirs / ours:.1f}", f"{far:.0e}"])
    encoder = _encoder(1)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=1e-4, momentum=0.9)

    def step(forward: Callable[[torch.Tensor], torch.Tensor]) -> None:
        optimizer.zero_grad()
        hinge_loss(forward(features[nodes[:BATCH]]), labels).backward()
        optimizer.step()

    theirs, ours = _seconds(lambda: step(lambda x: dense(encoder, x)), lambda: step(encoder))
    each = f"{theirs / BATCH * 1e3:.2f} ms", f"{ours / BATCH * 1e3:.2f} ms"
    rows.append(["training step, 1 layer", *each, f"{theirs / ours:.1f}", ""])
    return Section(
        "Sub-graph encoders",
        f"The band of attention at k = {K}, {DIM} dimensions, output 2048, on the neighbour graph of celeb_like "
        f"({len(X):,} rows, 300 identities, generated), its first {PROBES} rows as probes, time of a probe. Dense: the "
        f"same equations for all rows of all layers, Q and K formed for every sub-graph, {DENSE_BATCH} sub-graphs a "
        "batch, where it is at its best. kinfolk: products of weights formed once, only the probe's row in the last "
        "layer, the first layer's projections once a node (they are in the time), and its pairs of nodes once for near "
        "probes whose sub-graphs overlap. The neighbourhoods of a graph overlap, which is what a single layer uses; "
        f"with random neighbours there is none to use. The fastest of {REPEATS} each, taking turns in one process.",
        ["what", "dense", "kinfolk", "times faster", "largest difference"],
        rows,
    )


def label_free(folder: str, rows: int) -> Callable[[], Any]:
    X = kf.load(Path(folder) / "x.kf").features[:rows]
    kf.GraphEnhancer(k=4, show_progress=False).fit_transform(np.asarray(X[:500]))  # compile before the clock starts
    return lambda: kf.GraphEnhancer(k=40, show_progress=False).fit(X).transform(X)


def over_n(folder: str) -> Section:
    fs = kf.datasets.write(kf.datasets.REGIMES["celeb_like"], Path(folder) / "x.kf", PART1)
    rows = []
    for n in (25_000, 50_000, 100_000, len(fs)):
        m = measure(label_free, folder, n)
        each = f"{m.seconds / n * 1e6:.0f} µs"
        rows.append([f"{n:,}", f"{m.seconds:.1f} s", each, f"{m.gib:.2f} GiB", f"{m.gib / n * (1 << 20):.2f} KiB"])
    return Section(
        "The label-free enhancer over n",
        "`GraphEnhancer(k=40).fit(X).transform(X)` on celeb_like (generated), 256 dimensions, a memory-mapped file, "
        "the neighbour search included (exact up to 100,000 rows, inverted lists with recall 0.99 beyond).",
        ["rows", "time", "a row", "peak memory", "memory a row"],
        rows,
    )
