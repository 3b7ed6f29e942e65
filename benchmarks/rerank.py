"""Re-ranking: k-reciprocal against the dense definition, every method at the size of MSMT17, time and memory over n."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kinfolk as kf
from benchmarks.measure import measure
from benchmarks.page import Section, draw_lines
from kinfolk.rerank._pool import Pool

DIM = 2048
MARKET, MSMT17 = (3_368, 15_913), (11_659, 82_161)
OVER_N = (12_500, 25_000, 50_000)
ROWS_AN_IDENTITY = 28  # at least, on average, of person_like
TOP = 100
DENSE = [  # name, full lists sorted, V in two bytes a value
    ("dense numpy, lists sorted, V in float16", True, True),
    ("dense numpy, lists sorted", True, False),
    ("dense numpy, lists partitioned", False, False),
]
METHODS: dict[str, Callable[..., Any]] = {
    "cosine": lambda q, g: kf.rerank.cosine(q, g, top=TOP),
    "query expansion": lambda q, g: kf.rerank.query_expansion(q, g, preset="paper", top=TOP),
    "local blurring": lambda q, g: kf.rerank.local_blurring(q, g, preset="paper", top=TOP),
    "k-reciprocal": lambda q, g: kf.rerank.k_reciprocal(q, g, preset="paper", top=TOP),
    "k-reciprocal, settings from the data": lambda q, g: kf.rerank.k_reciprocal(q, g, top=TOP),
    "ECN, rank lists": lambda q, g: kf.rerank.expanded_cross_neighborhood(q, g, preset="paper", top=TOP),
    "ECN, cosine": lambda q, g: kf.rerank.expanded_cross_neighborhood(q, g, preset="paper", variant="cosine", top=TOP),
    "band": lambda q, g: kf.rerank.band(q, g, top=TOP),
}


def dense_k_reciprocal(
    query: np.ndarray,
    gallery: np.ndarray,
    by_sorting: bool,
    halves: bool,
    k1: int = 20,
    k2: int = 6,
    lambda_value: float = 0.3,
) -> np.ndarray:
    """Follow the definition with whole matrices, V in two bytes a value with `halves`: (nq, d), (ng, d) -> (nq, ng)."""
    nq = len(query)
    X = np.concatenate([query, gallery])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    D = 2 - 2 * (X @ X.T)
    D /= D.max(axis=1, keepdims=True)
    np.fill_diagonal(D, -1)
    if by_sorting:
        lists = np.argsort(D, axis=1).astype(np.int32)
    else:
        lists = np.argpartition(D, k1, axis=1)[:, :k1].astype(np.int32)
        lists = np.take_along_axis(lists, np.argsort(np.take_along_axis(D, lists, axis=1), axis=1), axis=1)
    np.fill_diagonal(D, 0)

    def reciprocal(row: int, k: int) -> np.ndarray:
        near = lists[row, :k]
        return near[(lists[near, :k] == row).any(axis=1)]

    V = np.zeros_like(D, dtype=np.float16 if halves else np.float32)
    for row in range(len(X)):
        around = reciprocal(row, k1)
        expanded = around
        for other in around:
            near = reciprocal(other, round(k1 / 2))
            if 3 * len(np.intersect1d(around, near)) >= 2 * len(near):
                expanded = np.append(expanded, near)
        expanded = np.unique(expanded)
        weights = np.exp(-D[row, expanded])
        V[row, expanded] = weights / weights.sum()
    V = np.stack([V[lists[row, :k2]].mean(axis=0) for row in range(len(X))])
    D = D[:nq, nq:].copy()
    columns = [np.flatnonzero(V[:, column]) for column in range(len(X))]
    for q in range(nq):
        common = np.zeros(len(X), dtype=np.float32)
        for column in np.flatnonzero(V[q]):
            rows = columns[column]
            common[rows] += np.minimum(V[q, column], V[rows, column])
        jaccard = 1 - common[nq:] / (2 - common[nq:])
        D[q] = (1 - lambda_value) * jaccard + lambda_value * D[q]
    return D


def _prepare(folder: str, rows: int) -> None:
    """Write generated rows in random order, so that queries and gallery share their identities."""
    identities = rows // ROWS_AN_IDENTITY + 1
    fs = kf.datasets.write(kf.datasets.REGIMES["person_like"], Path(folder) / "x.kf", identities, dim=DIM)
    order = np.random.default_rng(0).permutation(len(fs))[:rows]
    X = np.lib.format.open_memmap(Path(folder) / "x.npy", "w+", np.float32, (rows, DIM))
    for start in range(0, rows, 4096):
        X[start : start + 4096] = fs.features[order[start : start + 4096]]
    X.flush()


def _load(folder: str, n_queries: int, n_gallery: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.array(np.load(Path(folder) / "x.npy", mmap_mode="r")[: n_queries + n_gallery])
    if len(X) != n_queries + n_gallery:
        raise RuntimeError(f"only {len(X)} rows were generated")
    return X[:n_queries], X[n_queries:]


def run(folder: str, n_queries: int, n_gallery: int, name: str) -> Callable[[], Any]:
    query, gallery = _load(folder, n_queries, n_gallery)
    METHODS[name](query[:200], gallery[:2000])  # compile before the clock starts
    searching = []
    search = Pool.neighbors

    def timed(pool: Pool, k: int) -> Any:
        start = time.perf_counter()
        found = search(pool, k)
        searching.append(time.perf_counter() - start)
        return found

    Pool.neighbors = timed  # type: ignore[method-assign]

    def work() -> Any:
        ranking = METHODS[name](query, gallery)
        return sum(searching), ranking.indices

    return work


def dense(folder: str, n_queries: int, n_gallery: int, by_sorting: bool, halves: bool) -> Callable[[], Any]:
    query, gallery = _load(folder, n_queries, n_gallery)

    def work() -> Any:
        return 0.0, np.argpartition(dense_k_reciprocal(query, gallery, by_sorting, halves), TOP, axis=1)[:, :TOP]

    return work


def market(folder: str, sizes: tuple[int, int] = MARKET) -> Section:
    _prepare(folder, sum(sizes))
    ours = measure(run, folder, *sizes, "k-reciprocal")
    lines, ratios = [], []
    for name, by_sorting, halves in DENSE:
        m = measure(dense, folder, *sizes, by_sorting, halves)
        same = np.mean([len(np.intersect1d(a, b)) / TOP for a, b in zip(m.result[1], ours.result[1], strict=True)])
        ratios.append(m.seconds / ours.seconds)
        lines.append([name, f"{m.seconds:.1f} s", f"{m.gib:.2f} GiB", f"{ratios[-1]:.1f}", f"{same:.4f}"])
    own = ours.seconds - ours.result[0]
    lines.append(["`kf.rerank.k_reciprocal`", f"{ours.seconds:.2f} s", f"{ours.gib:.2f} GiB", "1", "1"])
    lines.append(["of which after the neighbour search", f"{own:.2f} s", "", "", ""])
    return Section(
        f"k-reciprocal re-ranking at the size of Market-1501 ({sizes[0]:,} + {sizes[1]:,})",
        f"person_like (generated), {DIM} dimensions, k1 = 20, k2 = 6, lambda = 0.3, the best {TOP} of each query; all "
        "times with the distances. Dense: the definition with whole matrices in numpy, its full lists sorted and V in "
        "float16 as in the program that is usually copied, or in float32, or the lists only "
        "partitioned. Agreement: the share of the best rows that are the same.",
        ["what", "time", "peak memory", "times slower", "agreement"],
        lines,
        f"Asked: 12 times faster, under 1.5 GiB. Measured: {ratios[1]:.1f} times ({ratios[0]:.1f} against float16, "
        f"{ratios[2]:.1f} against partitioned lists), {ours.gib:.2f} GiB.",
    )


def msmt17(folder: str, sizes: tuple[int, int] = MSMT17) -> Section:
    _prepare(folder, sum(sizes))
    lines, most, own = [], 0.0, 0.0
    for name in METHODS:
        m = measure(run, folder, *sizes, name)
        searching = m.result[0]
        after = m.seconds - searching
        own = after if name == "k-reciprocal" else own
        most = max(most, m.gib)
        lines.append([name, f"{m.seconds:.0f} s", f"{after:.0f} s" if searching else "", f"{m.gib:.2f} GiB"])
    return Section(
        f"Re-ranking at the size of MSMT17 ({sizes[0]:,} + {sizes[1]:,})",
        f"person_like (generated), {DIM} dimensions, settings of the literature unless it says otherwise, the best "
        f"{TOP} of each query. Memory is what was held beyond the features as given "
        f"({sum(sizes) * DIM * 4 / (1 << 30):.2f} GiB).",
        ["method", "time", "after the neighbour search", "peak memory"],
        lines,
        f"Asked: each under 8 GiB, k-reciprocal after the search under 3 minutes. Measured: at most {most:.2f} GiB, "
        f"{own:.0f} s. Existing programs were killed at 64 GB.",
    )


def over_n(folder: str, sizes: tuple[int, ...] = (*OVER_N, sum(MSMT17))) -> Section:
    _prepare(folder, sizes[-1])
    names = ["k-reciprocal", "ECN, rank lists", "query expansion"]
    found: dict[str, list[Any]] = {name: [] for name in names}
    lines = []
    for n in sizes:
        queries = n // 8
        for name in names:
            found[name].append(measure(run, folder, queries, n - queries, name))
        kr = found["k-reciprocal"][-1]
        cells = [f"{found[name][-1].seconds:.1f} s, {found[name][-1].gib:.2f} GiB" for name in names]
        lines.append([f"{n:,}", *cells, f"{kr.seconds - kr.result[0]:.1f} s", f"{kr.gib / n * (1 << 20):.1f} KiB"])
    panels = [
        (unit, {name: {n: getattr(m, part) for n, m in zip(sizes, found[name], strict=True)} for name in names})
        for unit, part in (("seconds", "seconds"), ("GiB", "gib"))
    ]
    draw_lines("rerank-over-n.svg", panels)
    return Section(
        "Re-ranking over n",
        f"person_like (generated), {DIM} dimensions, one row in eight a query, settings of the literature, the best "
        f"{TOP} of each. ![Time and memory over n](images/rerank-over-n.svg)",
        ["rows", *names, "k-reciprocal after the search", "its memory a row"],
        lines,
    )
