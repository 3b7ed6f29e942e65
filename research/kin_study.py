"""How far the probabilities of Kin can be trusted, and what answers of a user change: one line of JSON a cell.

    python -m research.kin_study                                    # one draw of everything: minutes on one core
    python -m research.kin_study --only calibration --sets omniglot --draws 3

The sets and regimes are those of ../shared/checks/albums.py; no label reaches Kin, but as an answer. Lines are appended
to research/results/kin.jsonl. What was measured with this code of Kin and this judge is not measured again, and lines
of another are dropped. `python -m research.make_kin_page` writes all lines into docs/kin.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kinfolk as kf
from kinfolk.cluster import Kin
from kinfolk.cluster._internal.medoids import medoids
from kinfolk.cluster._internal.union_find import connected, find
from kinfolk.experiments.resume import commit
from research._page import RESULTS, ROOT, write
from research.peers_on_albums import EASY, Cell, append, cells_of, load_albums, read, set_names

FILE = RESULTS / "kin.jsonl"
BINS = 10
ANSWERS = (10, 50, 200)
CORRECTED = (("market1501", "plain"), ("omniglot", "few-large"), ("clinc150", "zipf"))
MOST_ROWS = 4000  # of a set that is corrected: it is fitted ten times
NEAREST = 10  # among which a pair is drawn at random

Row = dict[str, Any]
Labels = NDArray[np.int64]
Questions = Generator[tuple[int, int], bool, None]
Answer = tuple[int, int, bool]


def fingerprint() -> str:
    """Return a short hash of the code of Kin and of its judge."""
    folder = ROOT / "src" / "kinfolk" / "cluster"
    found = hashlib.sha256()
    for file in [folder / "kin.py", *sorted(folder.glob("_internal/*.*"))]:
        found.update(file.read_bytes())
    return found.hexdigest()[:12]


def calibration(cell: Cell) -> Iterator[Row]:
    """Yield one line: how often rows are of the class that most rows of their cluster are of, in ten bins."""
    kin = Kin().fit(cell.X)
    right = of_main_class(kin.labels_, cell.y)
    bins = np.minimum((kin.probabilities_ * BINS).astype(int), BINS - 1)
    counted = (np.bincount(bins, weight, BINS) for weight in (None, kin.probabilities_, right))
    rows, probability, correct = ([round(float(value), 3) for value in column] for column in counted)
    yield dict(
        rows=rows,
        probability=probability,
        right=correct,
        expected_purity=float(kin.probabilities_.mean()),
        purity=float(right.mean()),
        alone=float((np.bincount(kin.labels_)[kin.labels_] == 1).mean()),
    )


def of_main_class(clusters: Labels, y: Labels) -> NDArray[np.bool_]:
    """Return for each row whether it is of the class that most rows of its cluster are of.

    >>> of_main_class(np.array([0, 0, 0, 1]), np.array([5, 5, 7, 7])).tolist()
    [True, True, False, True]
    """
    _, y = np.unique(y, return_inverse=True)
    pairs, counts = np.unique(clusters * (y.max() + 1) + y, return_counts=True)
    main = np.empty(clusters.max() + 1, dtype=np.int64)
    order = np.argsort(counts, kind="stable")
    main[pairs[order] // (y.max() + 1)] = pairs[order] % (y.max() + 1)  # the last of a cluster is its largest
    return main[clusters] == y


def random_neighbors(kin: Kin, X: NDArray[np.float32], rng: np.random.Generator) -> Questions:
    """Ask about a row drawn at random and one of its nearest."""
    nearest = kf.knn_graph(X, NEAREST, show_progress=False).indices
    while True:
        row = int(rng.integers(len(X)))
        yield row, int(rng.choice(nearest[row]))


def least_sure(kin: Kin, X: NDArray[np.float32], rng: np.random.Generator) -> Questions:
    """Ask about rows by rising probability: is it with the middle of its cluster, and if not, of its second choice?"""
    middle = middles(kin.labels_, X)
    for row in np.argsort(kin.probabilities_, kind="stable").tolist():
        own, second = middle[kin.labels_[row]], kin.second_[row]
        if (own == row or not (yield row, own)) and second >= 0:
            yield row, middle[second]


def most_moved(kin: Kin, X: NDArray[np.float32], rng: np.random.Generator) -> Questions:
    """Ask about the two sides of a merge, by falling min(p, 1 - p) times the rows of the smaller side.

    That is how many rows are expected to change sides.
    """
    left, right, p, n = kin._tree
    moved = np.minimum(p, 1 - p) * smaller_sides(left, right, n)
    for merge in np.argsort(-moved, kind="stable").tolist():
        before = connected(n, left[:merge], right[:merge])
        ends = [np.flatnonzero(before == before[side[merge]]) for side in (left, right)]
        one, other = (int(rows[medoids(np.zeros(len(rows), int), X[rows]).argmax()]) for rows in ends)
        yield (one, other) if len(ends[0]) <= len(ends[1]) else (other, one)


ORDERS: dict[str, Callable[[Kin, NDArray[np.float32], np.random.Generator], Questions]] = {
    "random neighbours": random_neighbors,
    "least sure rows": least_sure,
    "merges that move most": most_moved,
}


def middles(clusters: Labels, X: NDArray[np.float32]) -> list[int]:
    """Return the row in the middle of each cluster 0, 1, 2, ...

    >>> middles(np.array([1, 0, 0, 0]), np.array([[0, 1.0], [1, 0], [1, 0.1], [1, 0.2]], dtype=np.float32))
    [2, 0]
    """
    rows = np.flatnonzero(medoids(clusters, X))
    return rows[np.argsort(clusters[rows])].tolist()  # type: ignore[no-any-return]


def smaller_sides(left: NDArray[np.int32], right: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    """Return for each merge how many rows its smaller side has; 0 where both ends were together before.

    >>> smaller_sides(np.array([0, 2, 0, 0]), np.array([1, 3, 3, 1]), 5).tolist()
    [1, 1, 2, 0]
    """
    parent, size = np.arange(n, dtype=np.int32), [1] * n
    result = []
    for ends in zip(left.tolist(), right.tolist(), strict=True):
        small, large = sorted((find(parent, end) for end in ends), key=size.__getitem__)
        result.append(0 if small == large else size[small])
        if small != large:
            parent[small] = large
            size[large] += size[small]
    return np.array(result, dtype=np.int64)


def answer(questions: Questions, y: Labels, known: Sequence[Answer], most: int) -> list[Answer]:
    """Return the answers known and those to the next questions, `most` in all; none is asked twice.

    >>> answer((pair for pair in [(0, 1), (1, 0), (1, 2)]), np.array([4, 4, 5]), [], 2)
    [(0, 1, True), (1, 2, False)]
    """
    answers = list(known)
    said = {frozenset(pair): same for *pair, same in answers}
    pair = next(questions, None)
    while pair is not None and len(answers) < most:
        if frozenset(pair) not in said:
            said[frozenset(pair)] = bool(y[pair[0]] == y[pair[1]])
            answers.append((*pair, said[frozenset(pair)]))
        try:
            pair = questions.send(said[frozenset(pair)])
        except StopIteration:
            break
    return answers


def moved_alone(clusters: Labels, answers: Sequence[Answer]) -> Labels:
    """Return clusters in which the asked rows have moved, and no others: what the answers explain by themselves.

    >>> moved_alone(np.array([0, 0, 1, 1]), [(0, 1, False), (2, 1, True)]).tolist()
    [2, 0, 0, 1]
    """
    result = clusters.copy()
    for row, other, same in answers:
        if same:
            result[row] = result[other]
        elif result[row] == result[other]:
            result[row] = result.max() + 1
    return result


def corrections(cell: Cell, score: Callable[[Labels, Labels], float]) -> Iterator[Row]:
    """Yield a line for each order and number of answers; asked again after each fit, as a user would be."""
    X, y = whole_classes(cell.X, cell.y, MOST_ROWS)
    first = Kin().fit(X)
    for order, ask in ORDERS.items():
        rng = np.random.default_rng(cell.draw)
        kin, answers = first, list[Answer]()
        for most in ANSWERS:
            answers = answer(ask(kin, X, rng), y, answers, most)
            must, cannot = ([(a, b) for a, b, same in answers if same == wanted] for wanted in (True, False))
            kin = Kin(must_link=must, cannot_link=cannot).fit(X)
            rest = np.setdiff1d(np.arange(len(y)), [row for pair in answers for row in pair[:2]])
            yield dict(
                order=order,
                answers=len(answers),
                rows=len(y),
                score=score(y, kin.labels_),
                before=score(y, first.labels_),
                alone=score(y, moved_alone(first.labels_, answers)),
                rest=score(y[rest], kin.labels_[rest]),
                rest_before=score(y[rest], first.labels_[rest]),
            )


def whole_classes(X: NDArray[np.float32], y: Labels, most: int) -> tuple[NDArray[np.float32], Labels]:
    """Return the rows of as many classes, in a random order, as have at most so many rows in all.

    >>> whole_classes(np.eye(4), np.array([0, 0, 1, 1]), 3)[1].tolist() in ([0, 0], [1, 1])
    True
    """
    order = np.random.default_rng(0).permutation(np.unique(y))
    sizes = np.bincount(y)[order]
    rows = np.isin(y, order[np.cumsum(sizes) <= most])
    return X[rows], y[rows]


def run(albums: ModuleType, options: argparse.Namespace, path: Path = FILE) -> None:
    """Measure what is not in the file yet, and append the lines of each cell as soon as they are known."""
    code = fingerprint()
    measures = {
        "calibration": (calibration, lambda cell: True),
        "corrections": (
            lambda cell: corrections(cell, albums.score),
            lambda cell: (cell.set, cell.regime) in CORRECTED,
        ),
    }
    rows = read(path)
    current = [row for row in rows if row["code"] == code]
    if len(current) < len(rows):
        print(f"{len(rows) - len(current)} lines of another Kin are dropped.", flush=True)
        write(path, "".join(f"{json.dumps(row)}\n" for row in current))
    done = {(row["kind"], row["set"], row["regime"], row["draw"]) for row in current}
    for draw in range(options.draws):
        for name in options.sets or [name for name in set_names(albums) if name != EASY]:
            for cell in cells_of(albums, name, draw, options.regimes):
                for kind in options.only or measures:
                    measure, wanted = measures[kind]
                    if (kind, name, cell.regime, draw) in done or not wanted(cell):
                        continue
                    where = dict(kind=kind, set=name, regime=cell.regime, draw=draw)
                    lines = [where | line | dict(code=code, commit=commit()) for line in measure(cell)]
                    for line in lines:
                        append(path, line)
                    print(*where.values(), f"{len(cell.y):,} rows", flush=True)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=("calibration", "corrections"), help="without it, both")
    parser.add_argument("--sets", nargs="*", help="names of the real sets; without any, all")
    parser.add_argument("--regimes", nargs="*", help="plain, zipf, few-large, loners, bursts; without any, all")
    parser.add_argument("--draws", type=int, default=1, help="how many of each regime")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    run(load_albums(), parse())
