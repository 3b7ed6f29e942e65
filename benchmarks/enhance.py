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
from kinfolk.nn import Encoder, EncoderConfig, hinge_loss
from kinfolk.threads import thread_count

K, DIM, PROBES, REPEATS = 120, 256, 256, 5
PART1 = 8_573  # identities of MS-Celeb part 1
dense = runpy.run_path(str(Path(__file__).parent.parent / "tests" / "nn" / "dense.py"))["forward_all_rows"]


def _seconds(work: Callable[[], Any]) -> float:
    work()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _encoder(layers: int) -> Encoder:
    torch.manual_seed(0)
    return Encoder(
        EncoderConfig(in_dim=DIM, k=K, attention="band", layers=layers, concat=True, norm=True, out_dim=2048)
    )


def encoders(folder: str) -> Section:
    torch.set_num_threads(thread_count())
    features = torch.nn.functional.normalize(torch.randn(20_000, DIM), dim=1)
    nodes = torch.randint(len(features), (PROBES, K + 1))
    labels = torch.arange(PROBES) // 8
    rows = []
    for layers in (1, 3):
        encoder = _encoder(layers)
        cache = encoder.precompute(features)
        with torch.inference_mode():
            far = (encoder.encode(features, nodes, cache=cache) - dense(encoder, features[nodes])).abs().max()
            ours = _seconds(lambda e=encoder, c=cache: e.encode(features, nodes, cache=c))
            theirs = _seconds(lambda e=encoder: dense(e, features[nodes]))
        each = f"{theirs / PROBES * 1e3:.2f} ms", f"{ours / PROBES * 1e3:.2f} ms"
        rows.append([f"transform, {layers} layer{'s' * (layers > 1)}", *each, f"{theirs / ours:.1f}", f"{far:.0e}"])
    encoder = _encoder(1)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=1e-4, momentum=0.9)

    def step(forward: Callable[[torch.Tensor], torch.Tensor]) -> None:
        optimizer.zero_grad()
        hinge_loss(forward(features[nodes]), labels).backward()
        optimizer.step()

    ours, theirs = _seconds(lambda: step(encoder)), _seconds(lambda: step(lambda x: dense(encoder, x)))
    each = f"{theirs / PROBES * 1e3:.2f} ms", f"{ours / PROBES * 1e3:.2f} ms"
    rows.append(["training step, 1 layer", *each, f"{theirs / ours:.1f}", ""])
    return Section(
        "Sub-graph encoders",
        f"The band of attention at k = {K}, {DIM} dimensions, output 2048, {PROBES} probes a batch, time of a probe. "
        "Dense: the same equations for all rows of all layers, Q and K formed for every sub-graph. kinfolk: only the "
        "probe's row in the last layer by association order, W_Q W_K^T formed once a batch, projections of the first "
        f"layer once a node. The fastest of {REPEATS} each, one after the other in one process.",
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
