"""Clusterers: G-cut and its sweep at the size of MS-Celeb part 1, memory of Infomap, and the time of each over n."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN

import kinfolk as kf
from benchmarks.measure import measure
from benchmarks.page import Section, draw_lines
from kinfolk import cluster
from kinfolk.cluster._internal.tree import Tree

K = 80
PART1 = 8_573  # identities of MS-Celeb part 1: about 584K rows
OVER_N = {
    "G-cut, threshold auto": lambda n: cluster.GCut(k=K),
    "G-cut, Sim-M, guard 1": lambda n: cluster.GCut(k=K, similarity="sim_m", guard=1.0),
    "HAC, average": lambda n: cluster.HAC(),
    "HAC, complete": lambda n: cluster.HAC(linkage="complete"),
    "DBSCAN": lambda n: cluster.DBSCAN(),
    "Chinese Whispers": lambda n: cluster.ChineseWhispers(),
    "Leiden, modularity": lambda n: cluster.Leiden(),
    "Infomap, pruned": lambda n: cluster.Infomap(),
    "FINCH": lambda n: cluster.Finch(),
    "K-Means, n / 68 clusters": lambda n: cluster.KMeans(n // 68),
    "Kin, with its search": lambda n: cluster.Kin(),
    "HDBSCAN": lambda n: cluster.HDBSCAN(),
}
ON_FEATURES = ("FINCH", "K-Means, n / 68 clusters", "Kin, with its search")
PEER = "HDBSCAN of scikit-learn"
# beyond these rows it takes many minutes, then hours
SLOW = {PEER: 12_500, "K-Means, n / 68 clusters": 50_000, "Kin, with its search": 100_000}


def _prepare(folder: str, identities: int, sizes: tuple[int, ...]) -> int:
    path = Path(folder) / "x.kf"
    fs = kf.load(path) if path.exists() else kf.datasets.write(kf.datasets.REGIMES["celeb_like"], path, identities)
    for n in (*sizes, len(fs)):
        if not (Path(folder) / f"graph{n}").exists():
            kf.knn_graph(fs.features[:n], K, "ivf", recall=0.9, out=Path(folder) / f"graph{n}")
    return len(fs)


def _graph(folder: str, rows: int) -> kf.NeighborGraph:
    g = kf.NeighborGraph.load(Path(folder) / f"graph{rows}")
    # in memory: what is measured is the clustering, not the disk
    return kf.NeighborGraph(np.array(g.indices), np.array(g.similarities), len(g))


def _warm(clusterer: cluster.Clusterer, on_features: bool = False) -> None:
    """Compile before the clock starts."""
    fs = kf.datasets.celeb_like(12)
    clusterer.fit(fs if on_features else kf.knn_graph(fs, K, show_progress=False))


def _scored(clusters: np.ndarray, labels: np.ndarray) -> tuple[kf.metrics.Score, kf.metrics.Score]:
    return kf.metrics.pairwise(labels, clusters), kf.metrics.bcubed(labels, clusters)


def cut_and_sweep(folder: str, rows: int, repeats: int = 3) -> Callable[[], Any]:
    g = _graph(folder, rows)
    labels = np.array(kf.load(Path(folder) / "x.kf").labels[:rows])
    small = kf.datasets.celeb_like(12)
    cluster.GCut(k=20).fit(small).sweep(small.labels)
    _warm(cluster.GCut(k=20, similarity="sim_m", guard=1.0))

    def work() -> dict[str, float]:
        seconds = {}
        start = time.perf_counter()
        automatic = cluster.GCut(k=K).fit(g)
        seconds["auto"] = time.perf_counter() - start
        single = cluster.GCut(k=K, threshold=automatic.threshold_)
        steps = {
            "after": lambda: automatic.sweep(labels),
            "single": lambda: single.fit(g),
            "scored": lambda: _scored(single.fit_predict(g), labels),
            "sweep": lambda: single.fit(g).sweep(labels),
        }
        for name, step in steps.items():
            times = []
            for _ in range(repeats):
                start = time.perf_counter()
                step()
                times.append(time.perf_counter() - start)
            seconds[name] = min(times)
        levels = automatic.sweep(labels).thresholds[::10]
        start = time.perf_counter()
        for level in levels:
            cluster.GCut(k=K, threshold=float(level)).fit(g)
        seconds["mean"] = (time.perf_counter() - start) / len(levels)
        start = time.perf_counter()
        cluster.GCut(k=K, similarity="sim_m", guard=1.0, threshold=0.2).fit(g)
        seconds["guard"] = time.perf_counter() - start
        return seconds

    return work


def gcut(folder: str, identities: int = PART1) -> Section:
    n = _prepare(folder, identities, ())
    m = measure(cut_and_sweep, folder, n)
    seconds, memory = m.result, f"{m.gib:.2f} GiB"
    names = {
        "single": "one cut at a given threshold",
        "scored": "one cut at a given threshold, and its Pairwise and BCubed scores",
        "mean": "one cut, the mean over every tenth of the sweep's thresholds",
        "sweep": "the cut, then scores at 100 thresholds (`sweep`)",
        "after": '`sweep` after threshold="auto"',
        "auto": "`GCut(k=80)`: threshold without labels, cut",
        "guard": "cut on Sim-M with guard=1.0",
    }
    ratio, scored = (seconds["sweep"] / seconds[one] for one in ("single", "scored"))
    return Section(
        f"G-cut at {n:,} rows",
        f"celeb_like (generated), a neighbour graph with k = {K} in memory; the fastest of 3 for cuts and sweeps. "
        "Memory is the most that any of them held beyond the graph.",
        ["what", "time", "relative to one cut", "peak memory"],
        [
            [name, f"{seconds[key]:.2f} s", f"{seconds[key] / seconds['single']:.1f}", memory]
            for key, name in names.items()
        ],
        f"Asked: G-cut after the neighbour search under 1 minute, a 100-point sweep at most 3 cuts. Measured: "
        f"{seconds['auto']:.0f} s with the threshold chosen; a sweep, which scores all its cuts, costs {scored:.1f} "
        f'scored cuts from scratch and {seconds["after"] / seconds["scored"]:.1f} after threshold="auto"; in cuts that '
        f"nobody scores {ratio:.1f} and {seconds['after'] / seconds['single']:.1f}. A cut at a high threshold looks at "
        "few edges, a sweep at all of them.",
    )


def infomap_run(folder: str, rows: int, threshold: str | None) -> Callable[[], Any]:
    g = _graph(folder, rows)
    _warm(cluster.Infomap(threshold=threshold))
    return lambda: cluster.Infomap(threshold=threshold).fit(g).n_clusters_


def infomap(folder: str, identities: int = PART1, sizes: tuple[int, ...] = (100_000, 200_000)) -> Section:
    n = _prepare(folder, identities, sizes)
    rows = []
    for size in (*sizes, n):
        for name, threshold in (("pruned (default)", "auto"), ("all edges", None)):
            m = measure(infomap_run, folder, size, threshold)
            each = f"{m.gib / size * (1 << 20):.1f} KiB"
            rows.append([f"{size:,}, {name}", f"{m.seconds:.0f} s", f"{m.gib:.2f} GiB", each, f"{m.result:,}"])
    return Section(
        "Infomap in bounded memory",
        "`Infomap(k=20)` on celeb_like (generated); pruned: only the edges that `kf.prune` keeps. Memory is what was "
        "held beyond the graph.",
        ["rows", "time", "peak memory", "memory a row", "clusters"],
        rows,
        "Existing programs needed 60 GB at 400,000 rows.",
    )


def run(folder: str, rows: int, name: str) -> Callable[[], Any]:
    features = kf.load(Path(folder) / "x.kf").features[:rows]
    if name == PEER:
        unit = np.array(features) / np.linalg.norm(features, axis=1, keepdims=True)
        return lambda: HDBSCAN(copy=True).fit(unit).labels_.max() + 1
    _warm(cluster.KMeans(3) if name.startswith("K-Means") else OVER_N[name](rows), on_features=name in ON_FEATURES)
    given = features if name in ON_FEATURES else _graph(folder, rows)
    return lambda: OVER_N[name](rows).fit(given).n_clusters_


def over_n(folder: str, sizes: tuple[int, ...] = (12_500, 25_000, 50_000, 100_000, 200_000)) -> Section:
    _prepare(folder, int(sizes[-1] / 60) + 10, sizes)
    rows, seconds = [], {}
    for name in (*OVER_N, PEER):
        fit = [n for n in sizes if n <= SLOW.get(name, n)]
        seconds[name] = {n: measure(run, folder, n, name).seconds for n in fit}
        rows.append([name, *(f"{seconds[name][n]:.1f} s" if n in fit else "" for n in sizes)])
        print(rows[-1], flush=True)
    draw_lines("clusterers-over-n.svg", [("seconds", {name: seconds[name] for name in seconds})])
    return Section(
        "Clusterers over n",
        "celeb_like (generated), defaults. Methods on a graph are given it: the neighbour search is not counted. The "
        "others find what they need; FINCH and Kin search exactly up to 100,000 rows, with inverted lists beyond. "
        "Empty: not measured, it would take too long. "
        "![Time over n](images/clusterers-over-n.svg)",
        ["method", *(f"{n:,}" for n in sizes)],
        rows,
    )


def fit_and_cut(folder: str, rows: int) -> Callable[[], Any]:
    features = kf.load(Path(folder) / "x.kf").features[:rows]
    _warm(cluster.Kin(), on_features=True)

    def work() -> tuple[float, list[float]]:
        start = time.perf_counter()
        kin = cluster.Kin().fit(features)
        return time.perf_counter() - start, cut_times(kin)

    return work


def cut_made_up(rows: int) -> Callable[[], Any]:
    """Cut a tree in which each row, in a random order, is merged with a random one before it."""
    rng = np.random.default_rng(0)
    order = rng.permutation(rows)
    before = order[rng.integers(0, np.arange(1, rows))]
    kin = cluster.Kin()
    kin._tree = Tree(order[1:].astype(np.int32), before.astype(np.int32), np.linspace(1, 0, rows - 1), rows)
    kin.labels_ = np.zeros(rows, dtype=np.int64)
    kin.cut()
    return lambda: cut_times(kin)


def cut_times(kin: cluster.Kin) -> list[float]:
    """Return the seconds of the cuts at 0, 0.1, ..., 1."""
    times = []
    for probability in np.linspace(0, 1, 11).tolist():
        start = time.perf_counter()
        kin.cut(probability)
        times.append(time.perf_counter() - start)
    return times


def kin_cuts(folder: str, fitted: int = 12_500, made_up: tuple[int, ...] = (12_500, 100_000)) -> Section:
    _prepare(folder, int(fitted / 60) + 10, ())
    fit, times = measure(fit_and_cut, folder, fitted).result
    cuts = {f"{fitted:,}, celeb_like (generated)": times}
    cuts |= {f"{n:,}, a tree made up": measure(cut_made_up, n).result for n in made_up}
    slowest = 1000 * max(map(max, cuts.values()))
    return Section(
        "Finer and coarser clusters: `Kin.cut`",
        "Eleven cuts, at 0, 0.1, ..., 1. In the tree that is made up each row is merged with a random one, which costs "
        "a cut more than classes do.",
        ["rows", "a cut, mean", "slowest"],
        [[name, f"{1000 * np.mean(each):.1f} ms", f"{1000 * max(each):.1f} ms"] for name, each in cuts.items()],
        f"Asked: under 0.2 s a cut at 100,000 rows. Measured: at most {slowest:.0f} ms. The fit of the {fitted:,} rows "
        f"took {fit:.1f} s, as long as {fit / max(times):,.0f} of its slowest cuts.",
    )
