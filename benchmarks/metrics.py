"""Scores at scale: clustering against dictionaries of sets, mean average precision against the bare product."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

import kinfolk as kf
from benchmarks.measure import measure
from benchmarks.page import Section
from kinfolk.features import unit_rows

PART1, PART9 = 8_573, 76_640  # identities of MS-Celeb parts 1 and 9: about 584K and 5.21M rows
ROWS, DIM, REPEATS = 50_000, 256, 3


def predicted(identities: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels of celeb_like sizes, and clusters with the usual mistakes: split, merged, stray and left alone."""
    rng = np.random.default_rng(seed)
    sizes = np.clip(rng.lognormal(4.0, 0.68, identities), 5, 400).astype(np.int64)
    y = rng.permutation(np.repeat(np.arange(identities), sizes))
    p = 3 * np.where(y % 10 == 0, y + 1, y) + (rng.random(len(y)) < 0.2)
    stray = rng.random(len(y)) < 0.05
    p[stray] = 3 * rng.integers(identities, size=np.count_nonzero(stray))
    p[rng.random(len(y)) < 0.05] = -1
    return y, p


def table_scores(identities: int) -> Callable[[], Any]:
    y, p = predicted(identities)
    kf.metrics.clustering_report(y[:100], p[:100])  # compile before the clock starts

    def work() -> tuple[float, ...]:
        report = kf.metrics.clustering_report(y, p)
        return (report.items, *report.pairwise, *report.bcubed)

    return work


def intervals(identities: int) -> Callable[[], Any]:
    y, p = predicted(identities)
    scores = kf.metrics.clustering_scores(y, p)
    return lambda: kf.metrics.bootstrap(scores, resamples=1000)


def sets(labels: list[int], clusters: list[int]) -> tuple[dict, dict, list[int]]:
    cluster_of = [cluster if cluster >= 0 else -1 - item for item, cluster in enumerate(clusters)]
    classes, groups = defaultdict(set), defaultdict(set)
    for item, (label, cluster) in enumerate(zip(labels, cluster_of, strict=True)):
        classes[label].add(item)
        groups[cluster].add(item)
    return classes, groups, cluster_of


def scores(n: int, together: int, groups: dict, classes: dict, precision: float, recall: float) -> tuple[float, ...]:
    pairs = [together / sum(len(s) * (len(s) - 1) for s in sets.values()) for sets in (groups, classes)]
    cubed = [precision / n, recall / n]
    f = [2 * p * r / (p + r) for p, r in (pairs, cubed)]
    return (n, *pairs, f[0], *cubed, f[1])


def sets_by_item(identities: int) -> Callable[[], Any]:
    labels, clusters = (column.tolist() for column in predicted(identities))

    def work() -> tuple[float, ...]:
        classes, groups, cluster_of = sets(labels, clusters)
        together, precision, recall = 0, 0.0, 0.0
        for label, cluster in zip(labels, cluster_of, strict=True):
            common = len(classes[label] & groups[cluster])
            together += common - 1
            precision += common / len(groups[cluster])
            recall += common / len(classes[label])
        return scores(len(labels), together, groups, classes, precision, recall)

    return work


def sets_by_cell(identities: int) -> Callable[[], Any]:
    labels, clusters = (column.tolist() for column in predicted(identities))

    def work() -> tuple[float, ...]:
        classes, groups, cluster_of = sets(labels, clusters)
        together, precision, recall = 0, 0.0, 0.0
        for mine in classes.values():
            for cluster in {cluster_of[item] for item in mine}:
                common = len(mine & groups[cluster])
                together += common * (common - 1)
                precision += common * common / len(groups[cluster])
                recall += common * common / len(mine)
        return scores(len(labels), together, groups, classes, precision, recall)

    return work


def clustering(folder: str) -> Section:
    by_item, by_cell, ours = (
        min((measure(way, PART1) for _ in range(REPEATS)), key=lambda m: m.seconds)
        for way in (sets_by_item, sets_by_cell, table_scores)
    )
    large, resampled = measure(table_scores, PART9), measure(intervals, PART1)
    distance = max(abs(a - b) for way in (by_item, by_cell) for a, b in zip(ours.result, way.result, strict=True))
    ratios = [way.seconds / ours.seconds for way in (by_item, by_cell)]
    n, most = f"{ours.result[0]:,}", f"{large.result[0]:,}"
    rows = [
        [f"sets in dictionaries, item by item, {n} items", f"{by_item.seconds:.2f} s", f"{by_item.gib:.2f} GiB"],
        [
            f"the same for each class and cluster that meet, {n} items",
            f"{by_cell.seconds:.2f} s",
            f"{by_cell.gib:.2f} GiB",
        ],
        [f"`clustering_report`, {n} items", f"{ours.seconds:.3f} s", f"{ours.gib:.2f} GiB"],
        [f"`clustering_report`, {most} items", f"{large.seconds:.2f} s", f"{large.gib:.2f} GiB"],
        [f"`bootstrap`, 1000 resamples of {PART1:,} classes", f"{resampled.seconds:.1f} s", f"{resampled.gib:.2f} GiB"],
    ]
    return Section(
        "Scores of clusterings",
        "Classes of the sizes of MS-Celeb, clusters with classes split and merged, strays, single items (generated). "
        "Python dictionaries: each class and each cluster a set of items, Pairwise and BCubed from the sizes of their "
        f"common parts. kinfolk: these and all other scores from one table. The fastest of {REPEATS} each at {n}.",
        ["what", "time", "peak memory"],
        rows,
        "Asked: Pairwise and BCubed of 5.21M items under 10 s, at 584K 50 times faster than dictionaries of sets, same "
        f"numbers. Measured: {large.seconds:.2f} s; {ratios[0]:.0f} times (item by item) and {ratios[1]:.0f} times "
        f"(class by cluster), numbers within {distance:.0e}.",
    )


def _rows() -> tuple[np.ndarray, np.ndarray]:
    fs = kf.datasets.celeb_like(800, dim=DIM, seed=0)
    return np.asarray(fs.features)[:ROWS], fs.labels[:ROWS]


def ranking() -> Callable[[], Any]:
    X, y = _rows()
    kf.metrics.mean_average_precision(X[:500], y[:500])  # compile before the clock starts
    return lambda: kf.metrics.mean_average_precision(X, y)


def product() -> Callable[[], Any]:
    unit = unit_rows(_rows()[0])

    def work() -> float:
        # in blocks of the same size: 10 GB for all of it at once is what nobody holds
        return sum(float((unit[s : s + 335] @ unit.T)[0, 0]) for s in range(0, len(unit), 335))

    return work


def retrieval(folder: str) -> Section:
    pairs = [(measure(product), measure(ranking)) for _ in range(REPEATS)]
    bare, ours = (min(side, key=lambda m: m.seconds) for side in zip(*pairs, strict=True))
    return Section(
        "Mean average precision",
        f"Every one of {ROWS:,} × {DIM} rows (celeb_like, generated) against all others, exact; beside it the matrix "
        f"product alone, in the same blocks (the fastest of {REPEATS} each, in turn).",
        ["what", "time", "peak memory"],
        [
            ["the matrix product X Xᵀ", f"{bare.seconds:.1f} s", f"{bare.gib:.2f} GiB"],
            ["`mean_average_precision`", f"{ours.seconds:.1f} s", f"{ours.gib:.2f} GiB"],
        ],
        f"Asked: within 3 times the product. Measured: {ours.seconds / bare.seconds:.2f} times.",
    )
