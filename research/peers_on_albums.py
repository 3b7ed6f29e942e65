"""Peers on data as people have them: one line of JSON for each set, regime, draw and method.

    python -m research.peers_on_albums                                    # everything, the most important first
    python -m research.peers_on_albums --methods Kin HAC --sets omniglot easy --regimes zipf loners --draws 3
    python -m research.peers_on_albums --methods Kin --again              # remove its lines and measure it anew

The sets and regimes are those of ../shared/checks/albums.py, and "all": all intents of the text sets, both parts
together, with the accuracy that the literature reports. Lines are appended to research/results/peers_on_albums.jsonl;
cells that are there are not measured again, so the same command goes on where it was stopped (without --again). No
labels reach a method, but for those marked as oracles. Seconds are of the processor, all threads together, so that
other work on the machine counts little; run with one thread (OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1
OPENBLAS_NUM_THREADS=1), so that they can be compared.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from kinfolk import cluster
from kinfolk.cluster._internal.hierarchy import Merges, cut
from kinfolk.cluster.hac import EXACT_ROWS, exact_linkage
from kinfolk.experiments.resume import commit
from kinfolk.features import unit_rows
from kinfolk.metrics import ari, nmi
from kinfolk.neighbors import knn_graph
from research._page import RESULTS, ROOT, write
from research.fc_es import fc_es

ALBUMS = ROOT.parent / "shared" / "checks" / "albums.py"
FILE = RESULTS / "peers_on_albums.jsonl"
EASY = "easy"
TEXTS = ("clinc150", "banking77")  # sets whose intents of both parts are also measured together
ALL = "all"
ONE_DRAW = ("plain", ALL)  # nothing is drawn: every draw is the same
MOST_DRAWS = 10

Key = tuple[str, str, int, str]  # set, regime, draw, method

Labels = NDArray[Any]
Score = Callable[[Labels, Labels], float]
Run = Callable[[NDArray[np.float32], Labels, Score], tuple[Any, str]]

CUTS = 250  # numbers of clusters at which the oracle cuts a hierarchy, each about 4 % above the last
PAIRS_ROWS = 15_000  # most rows whose pairs the oracle of HAC compares: 22,500 would take 12 GB
RESOLUTIONS = np.geomspace(0.0005, 0.7, 16)  # of CPM: the best ones on the real sets are far inside
NEIGHBORS = (5, 10, 20, 40, 80)  # k of Infomap
UMAP_LIMIT = 60.0  # seconds, after which UMAP is not run on further draws of a set and regime


class Method(NamedTuple):
    """How a method is run and measured.

    run(X, y, score) -> labels (or features), setting; y and score are for oracles only. Stages are measured in rising
    order; stage 0 only where the method is named. limit: seconds, above which further draws of a cell are left out.
    """

    run: Run
    stage: int
    draws: int = 3
    oracle: bool = False
    package: str = "kinfolk"
    limit: float = float("inf")


def own(name: str) -> Run:
    """Run a clusterer of kinfolk with its defaults."""
    return lambda X, y, score: (getattr(cluster, name)().fit_predict(X), "default")


def all_alone(X: NDArray[np.float32], y: Labels, score: Score) -> tuple[Labels, str]:
    return np.arange(len(X)), "default"


def k_means(X: NDArray[np.float32], y: Labels, score: Score) -> tuple[Labels, str]:
    """K-Means, told the true number of classes."""
    n_clusters = len(np.unique(y))
    return cluster.KMeans(n_clusters=n_clusters).fit_predict(X), f"n_clusters={n_clusters}"


def evoc(X: NDArray[np.float32], y: Labels, score: Score) -> tuple[Labels, str]:
    from evoc import EVoC  # type: ignore[import-untyped]

    return EVoC(random_state=0).fit_predict(X), "default, random_state=0"


def umap_hdbscan(X: NDArray[np.float32], y: Labels, score: Score) -> tuple[Labels, str]:
    """UMAP to 5 dimensions, then scikit-learn's HDBSCAN by Euclidean distance, as is usual."""
    from sklearn.cluster import HDBSCAN
    from umap import UMAP  # type: ignore[import-untyped]

    small = UMAP(n_components=5, n_neighbors=15, metric="cosine", random_state=0).fit_transform(X)
    return HDBSCAN(min_cluster_size=10, copy=True).fit_predict(small), "5-d, n_neighbors=15, min_cluster_size=10"


def best(found: Iterable[tuple[Labels, str]], y: Labels, score: Score) -> tuple[Labels, str]:
    """Return the labels and the setting with the best score."""
    return max(found, key=lambda one: score(y, one[0]))


def hac_oracle(X: NDArray[np.float32], y: Labels, score: Score) -> tuple[Labels, str]:
    """The best cut of the hierarchy of all pairs; with many rows also of that of the graph, which the default cuts."""
    model = cluster.HAC().fit(X)
    hierarchies = {"all pairs" if len(X) <= EXACT_ROWS else "graph": model.merges_}
    if EXACT_ROWS < len(X) <= PAIRS_ROWS:
        hierarchies["all pairs"] = exact_linkage(unit_rows(X), "average")

    def cuts() -> Iterable[tuple[Labels, str]]:
        yield model.labels_, "threshold=auto"
        for name, merges in hierarchies.items():
            for count in counts(merges, len(X)):
                cosine = merges.similarity[count - 1] if count else 1.0
                yield cut(merges, len(X), count), f"{name}, threshold={cosine:.4f}"

    return best(cuts(), y, score)


def counts(merges: Merges, n: int) -> list[int]:
    """Return how many merges are done at each tried cut: numbers of clusters in geometric steps from 1 to n.

    >>> counts(Merges(np.zeros(3), np.zeros(3), np.zeros(3)), 4)
    [0, 1, 2, 3]
    """
    clusters = np.unique(np.geomspace(1, n, CUTS).round().astype(int))
    return sorted({int(n - c) for c in clusters if n - c <= len(merges.left)} | {len(merges.left)})


def cpm_oracle(X: NDArray[np.float32], y: Labels, score: Score) -> tuple[Labels, str]:
    """Leiden with the constant Potts model at its best resolution, on the graph of its default k."""
    graph = knn_graph(X, cluster.Leiden().k, show_progress=False)
    tried = (
        (cluster.Leiden(objective="cpm", resolution=r).fit_predict(graph), f"resolution={r:.4f}")
        for r in RESOLUTIONS.tolist()
    )
    return best(tried, y, score)


def infomap_oracle(X: NDArray[np.float32], y: Labels, score: Score) -> tuple[Labels, str]:
    tried = ((cluster.Infomap(k=k).fit_predict(X), f"k={k}") for k in NEIGHBORS if k < len(X))
    return best(tried, y, score)


Methods = Mapping[str, Method]


def infomap_20(X: NDArray[np.float32], y: Labels, score: Score) -> tuple[Labels, str]:
    """Infomap on 20 neighbours, as is usual; that of kinfolk chooses its own k."""
    return cluster.Infomap(k=20).fit_predict(X), "default"


METHODS: Methods = {
    "all alone": Method(all_alone, 1, 10),
    "HAC": Method(own("HAC"), 1, 10),
    "ChineseWhispers": Method(own("ChineseWhispers"), 1, 10),
    "Infomap": Method(infomap_20, 1, 10, package="infomap"),
    "HDBSCAN": Method(own("HDBSCAN"), 1, 10),
    "EVoC": Method(evoc, 2, 10, package="evoc"),
    "HAC, best threshold": Method(hac_oracle, 3, oracle=True),
    "Leiden CPM, best resolution": Method(cpm_oracle, 4, oracle=True, package="leidenalg"),
    "Leiden": Method(own("Leiden"), 5, package="leidenalg"),
    "Finch": Method(own("Finch"), 5),
    "DBSCAN": Method(own("DBSCAN"), 5),
    "FC-ES": Method(lambda X, y, score: (fc_es(X), "k=80, stop 0.22"), 5, package="infomap"),
    "KMeans, true number": Method(k_means, 5, oracle=True),
    "Infomap, best k": Method(infomap_oracle, 6, oracle=True, package="infomap"),
    "UMAP + HDBSCAN": Method(umap_hdbscan, 7, package="umap-learn", limit=UMAP_LIMIT),
    "Kin": Method(own("Kin"), 0, 10),
}


class Cell(NamedTuple):
    """One drawn set: its name, regime and draw, unit features (n, d) and labels (n,)."""

    set: str
    regime: str
    draw: int
    X: NDArray[np.float32]
    y: NDArray[np.int64]


Scores = Callable[[Cell, Any, ModuleType], dict[str, float]]  # of what a method found in a cell


def load_albums(path: Path = ALBUMS) -> ModuleType:
    """Return the module with the regimes (or another one of the folder), or end with a sentence where it is missing."""
    if not path.is_file():
        sys.exit(f"{path} is missing: it draws or scores the sets, so put the folder shared beside this project.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def set_names(albums: ModuleType) -> list[str]:
    """Return the names of all sets, the easy ones first."""
    return [EASY, *(file.stem for file in sorted(albums.DATA.glob("*.npz")))]


def cells_of(albums: ModuleType, name: str, draw: int, regimes: Sequence[str] | None) -> Iterator[Cell]:
    """Yield the cells of one draw of a set; those with a single draw at draw 0 only."""
    if name == EASY:
        found = albums.easy() if draw == 0 else ()
    else:
        found = albums.regimes(*albums.test_part(albums.DATA / f"{name}.npz"), draw)
    if name in TEXTS and draw == 0 and (not regimes or ALL in regimes):
        found = chain(found, [(ALL, *both_parts(albums.DATA / f"{name}.npz"))])
    for regime, X, y in found:
        if (not regimes or regime in regimes) and not (regime in ONE_DRAW and draw > 0):
            yield Cell(name, regime, draw, X, y)


def both_parts(file: Path) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the unit features (n, d) and the labels (n,) of all rows of a set."""
    with np.load(file) as data:
        return unit_rows(data["features"].astype(np.float32)), data["labels"].astype(np.int64)


def accuracy(y: Labels, labels: Labels) -> float:
    """Return the share of rows in the cluster of their class, each class with one cluster: the best such matching.

    >>> accuracy(np.array([0, 0, 1, 1]), np.array([5, 5, 5, 7]))
    0.75
    """
    y, labels = (np.unique(values, return_inverse=True)[1] for values in (y, labels))
    table = np.zeros((y.max() + 1, labels.max() + 1), dtype=np.int64)
    np.add.at(table, (y, labels), 1)
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / len(y))


def alone(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return labels in which every row of noise (below zero) is a cluster of its own.

    >>> alone(np.array([0, -1, 0, -1])).tolist()
    [0, 1, 0, 2]
    """
    labels = np.asarray(labels).astype(np.int64).copy()
    noise = labels < 0
    labels[noise] = labels.max(initial=-1) + 1 + np.arange(noise.sum())
    return labels


def cluster_scores(cell: Cell, found: Labels, albums: ModuleType) -> dict[str, float]:
    """Return the scores of the clusters of a cell, all times 100, and their number."""
    labels = alone(found)
    scores = dict(score=albums.score(cell.y, labels), nmi=100 * nmi(cell.y, labels), ari=100 * ari(cell.y, labels))
    if cell.regime == ALL:
        scores["accuracy"] = 100 * accuracy(cell.y, labels)
    return {name: round(float(value), 3) for name, value in scores.items()} | dict(clusters=len(np.unique(labels)))


def measure(cell: Cell, name: str, method: Method, scores: Scores, albums: ModuleType) -> dict[str, Any]:
    """Return the line of one cell; a method that raises an error has no score, and the error as its setting."""
    where = dict(set=cell.set, regime=cell.regime, draw=cell.draw, method=name, oracle=method.oracle)
    start = time.process_time()
    try:
        found, setting = method.run(cell.X, cell.y, albums.score)
    except Exception as error:  # a peer that fails is a result, and the run goes on
        found, setting = None, f"failed: {error!r}"[:200]
    seconds = round(time.process_time() - start, 2)
    scored = dict(score=None) if found is None else scores(cell, found, albums)
    return where | dict(setting=setting) | scored | dict(seconds=seconds, version=made_with(method))


def made_with(method: Method) -> str:
    """Return the versions that the numbers depend on: the method's package and the commit of kinfolk."""
    package = "" if method.package == "kinfolk" else f"{method.package} {version(method.package)}, "
    return f"{package}kinfolk {version('kinfolk')} {commit()}"


def read(path: Path = FILE) -> list[dict[str, Any]]:
    """Return the finished lines; one that was cut off in writing is left out."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            print(f"A line of {path.name} is cut off: its cell is measured again.", flush=True)
    return rows


def key(row: dict[str, Any]) -> Key:
    return row["set"], row["regime"], row["draw"], row["method"]


def append(path: Path, row: dict[str, Any]) -> None:
    """Add a line, on a line of its own where the last one was cut off."""
    text = path.read_bytes()[-1:] if path.exists() else b"\n"
    with path.open("a", encoding="utf-8") as file:
        file.write(("" if text in (b"\n", b"") else "\n") + json.dumps(row) + "\n")


def forget(path: Path, options: argparse.Namespace) -> None:
    """Remove the lines of the methods, sets and regimes that are asked for."""
    kept = [
        row
        for row in read(path)
        if row["method"] not in options.methods
        or (options.sets and row["set"] not in options.sets)
        or (options.regimes and row["regime"] not in options.regimes)
    ]
    write(path, "".join(json.dumps(row) + "\n" for row in kept))


def too_slow(rows: Sequence[dict[str, Any]], cell: Cell, name: str, limit: float) -> bool:
    """Whether another draw of this set and regime took longer than the limit."""
    same = [
        row["seconds"] for row in rows if (row["set"], row["regime"], row["method"]) == (cell.set, cell.regime, name)
    ]
    return max(same, default=0.0) > limit


def stages(names: Sequence[str] | None, draws: int, methods: Methods) -> list[tuple[list[str], int]]:
    """Return groups of methods with their draws, in the order in which they are measured."""
    groups: dict[int, list[str]] = {}
    for name, method in methods.items():
        if (names and name in names) or (not names and method.stage):
            groups.setdefault(method.stage, []).append(name)
    return [(group, min(draws, methods[group[0]].draws)) for _, group in sorted(groups.items())]


def run(
    albums: ModuleType,
    options: argparse.Namespace,
    path: Path = FILE,
    methods: Methods = METHODS,
    scores: Scores = cluster_scores,
) -> None:
    """Measure what is not in the file yet, and append each line as soon as it is known."""
    if options.again:
        forget(path, options)
    rows = read(path)
    done, warm = {key(row) for row in rows}, set[str]()
    for names, draws in stages(options.methods, options.draws, methods):
        for draw in range(draws):
            for set_name in options.sets or set_names(albums):
                for cell in cells_of(albums, set_name, draw, options.regimes):
                    for name in names:
                        method, this = methods[name], (cell.set, cell.regime, draw, name)
                        if this in done or too_slow(rows, cell, name, method.limit):
                            continue
                        if name not in warm:
                            warm_up(method, albums)
                            warm.add(name)
                        row = measure(cell, name, method, scores, albums)
                        append(path, row)
                        rows.append(row)
                        done.add(this)
                        print(*this, row["score"], row["setting"], f"{row['seconds']} s", sep=" | ", flush=True)


def warm_up(method: Method, albums: ModuleType) -> None:
    """Compile what a method compiles at its first call, on 40 classes of 15 rows, outside of the measured seconds."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 15)
    X = (rng.normal(size=(40, 32))[y] + 0.3 * rng.normal(size=(len(y), 32))).astype(np.float32)
    try:
        method.run(X / np.linalg.norm(X, axis=1, keepdims=True), y, albums.score)
    except ImportError as error:
        sys.exit(f"{method.package} is not installed ({error}): pip install {method.package}.")


def parse(arguments: Sequence[str] | None, methods: Methods, text: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="*", choices=list(methods), help="without any, all but Kin")
    parser.add_argument("--sets", nargs="*", help="easy, and the names of the real sets; without any, all")
    parser.add_argument("--regimes", nargs="*", help="plain, zipf, few-large, loners, bursts, all; without any, all")
    parser.add_argument("--draws", type=int, default=MOST_DRAWS, help="at most so many; oracles have 3")
    parser.add_argument("--again", action="store_true", help="remove the lines of --methods first")
    options = parser.parse_args(arguments)
    if options.again and not options.methods:
        parser.error("--again removes lines: name the --methods")
    return options


def main() -> None:
    options = parse(None, METHODS, __doc__)
    albums = load_albums()
    check_sets(options, albums)
    warnings.simplefilter("ignore")
    run(albums, options)


def check_sets(options: argparse.Namespace, albums: ModuleType) -> None:
    if unknown := set(options.sets or ()) - set(set_names(albums)):
        sys.exit(f"There is no set {', '.join(sorted(unknown))}: choose from {', '.join(set_names(albums))}.")


if __name__ == "__main__":
    main()
