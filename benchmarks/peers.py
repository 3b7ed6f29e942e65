"""The learned peers of the paper: seconds of training at 20,000 rows, and of clustering over n."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import kinfolk as kf
from benchmarks.measure import measure
from benchmarks.page import Section
from kinfolk import cluster

IDENTITIES = 300  # about 20,000 rows
SIZES = (5_000, 10_000, 20_000)
NAMES = {"Ada-NETS": "AdaNets", "STAR-FC": "StarFC", "Clusformer": "Clusformer"}


def learn_and_cluster(name: str, identities: int, sizes: tuple[int, ...]) -> Callable[[], Any]:
    fs = kf.datasets.celeb_like(identities)
    small = kf.datasets.celeb_like(12)
    getattr(cluster, NAMES[name])(k=5, steps=2).fit(small, small.labels).predict(small)  # compiles

    def work() -> tuple[float, dict[int, float]]:
        start = time.perf_counter()
        model = getattr(cluster, NAMES[name])().fit(fs, fs.labels)
        learned = time.perf_counter() - start
        seconds = {}
        for n in sizes:
            some = np.sort(np.random.default_rng(0).permutation(len(fs))[:n])
            start = time.perf_counter()
            model.predict(fs.features[some])
            seconds[len(some)] = time.perf_counter() - start
        return learned, seconds

    return work


def row(name: str, identities: int = IDENTITIES, sizes: tuple[int, ...] = SIZES) -> list[str]:
    m = measure(learn_and_cluster, name, identities, sizes)
    learned, seconds = m.result
    return [name, f"{learned:.0f} s", *(f"{s:.1f} s" for s in seconds.values()), f"{m.gib:.2f} GiB"]


def section(rows: list[list[str]]) -> Section:
    return Section(
        "The learned peers",
        f"celeb_like (generated) with {IDENTITIES} identities, about 20,000 rows of 256 dimensions: `fit` with its two "
        "networks and the choice of its settings, then `predict` of n rows, with its neighbour search.",
        ["method", "fit", *(f"predict, {n:,} rows" for n in SIZES), "peak memory"],
        rows,
        "Asked: training under 5 minutes each on 2 cores, clustering linear in n (but for the exact neighbour search).",
    )


def peers(folder: str) -> Section:
    return section([row(name) for name in NAMES])
