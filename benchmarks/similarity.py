"""Sim-M: against sparse matrix products, over n, and at the size of MS-Celeb part 1."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import kinfolk as kf
from benchmarks.measure import measure
from benchmarks.page import Section

K = 80
BLOCK = 2_000
PART1 = 8_573  # identities of MS-Celeb part 1


def numba_sim_m(folder: str, rows: int) -> Callable[[], Any]:
    g = _graph(folder, rows).restrict(K)
    kf.sim_m(g.restrict(2), candidates="neighbors")  # compile before the clock starts
    return lambda: kf.sim_m(g, candidates="neighbors")


def scipy_product(folder: str, rows: int) -> Callable[[], Any]:
    matrix = _graph(folder, rows).restrict(K).to_scipy()
    matrix.data = np.maximum(matrix.data, 0)
    pattern = matrix.copy()
    pattern.data[:] = 1
    across = matrix.T.tocsr()

    def work() -> sparse.csr_array:
        # in blocks of rows: the whole product of 100,000 rows would not fit
        parts = [(matrix[s : s + BLOCK] @ across).multiply(pattern[s : s + BLOCK]) for s in range(0, rows, BLOCK)]
        return sparse.vstack(parts).tocsr() / K

    return work


def exact_auc(folder: str, rows: int) -> Callable[[], Any]:
    g = _graph(folder, rows)
    labels = kf.load(Path(folder) / "x.kf").labels[:rows]
    scores = kf.sim_s(g)
    kf.metrics.pair_auc(g.restrict(2), scores[:, :2], labels)
    return lambda: kf.metrics.pair_auc(g, scores, labels)


def _graph(folder: str, rows: int) -> kf.NeighborGraph:
    return kf.NeighborGraph.load(Path(folder) / f"graph{rows}")


def sim_m_section(folder: str) -> Section:
    fs = kf.datasets.write(kf.datasets.REGIMES["celeb_like"], Path(folder) / "x.kf", PART1)
    sizes = (25_000, 50_000, 100_000, 200_000, len(fs))
    for n in sizes:
        k = 160 if n == len(fs) else K
        kf.knn_graph(fs.features[:n], k, "ivf", recall=0.9, out=Path(folder) / f"graph{n}")
    pairs = [(measure(numba_sim_m, folder, 100_000), measure(scipy_product, folder, 100_000)) for _ in range(3)]
    ours, theirs = (min(side, key=lambda m: m.seconds) for side in zip(*pairs, strict=True))
    ratio = theirs.seconds / ours.seconds
    graph = _graph(folder, 100_000).restrict(K)
    starts = np.arange(len(graph) + 1) * K
    distance = abs(sparse.csr_array((ours.result.ravel(), graph.indices.flatten(), starts)) - theirs.result).max()
    rows = [
        ["scipy.sparse A @ A.T on the same pairs, 100,000 rows", f"{theirs.seconds:.1f} s", f"{theirs.gib:.2f} GiB"],
    ]
    for n in sizes:
        m = measure(numba_sim_m, folder, n)
        each = f"{m.seconds / n * 1e6:.1f} µs a row"
        rows.append([f"kf.sim_m, {n:,} rows", f"{m.seconds:.2f} s ({each})", f"{m.gib:.2f} GiB"])
    auc = measure(exact_auc, folder, len(fs))
    rows.append([f"exact AUC of {len(fs):,} × 160 pairs", f"{auc.seconds:.1f} s", f"{auc.gib:.2f} GiB"])
    return Section(
        "Many tests at scale",
        f"Sim-M of every edge, k = {K}, on a neighbour graph of celeb_like (generated). scipy computes the whole "
        "product in blocks of rows and keeps the graph's pairs (the fastest of 3 each). Memory is what was held beyond "
        "the graph. The number of look-ups is the same for every row; the time of a row grows where the scratch array "
        "of 4 n bytes outgrows the caches.",
        ["what", "time", "peak memory"],
        rows,
        f"Asked: 10 times faster than scipy, values equal to 1e-5, under 6 GiB at 584K rows, the AUC within 2 minutes. "
        f"Measured: {ratio:.0f} times, values within {distance:.1e}.",
    )
