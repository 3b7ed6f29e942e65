"""Peers for features on data as people have them: mAP of each set, regime, draw and method, one line of JSON each.

    python -m research.features_on_albums                                        # everything
    python -m research.features_on_albums --methods label-free --again           # remove its lines, measure it anew

Sets, regimes and the file's rules are those of research/peers_on_albums.py; the file is
research/results/features_on_albums.jsonl. mAP is that of ../shared/checks/quality.py, computed independently of the
project: 3,000 fixed queries against all other rows. Re-rankers have no features: their rows are sorted by distance, by
the same rules (`mean_ap`). No labels reach a method; constants are those of the papers, named in each setting.

Expansion on both sides, Z_i = x_i + sum over the 10 nearest j of max(cos, 0)^3 x_j: alpha query expansion (Radenović
2019) of queries and gallery. Propagation as in GCR (Zhang 2023, arXiv 2306.08792, its program's setting for persons,
without its cameras), three times, with the 15 nearest of each row, itself among them, found anew each time:

    S_ij = exp(cos(i, j) / 0.2),      Z = D_row^(-1/2) S D_column^(-1/2) X, its rows of length one
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kinfolk import GraphEnhancer
from kinfolk.features import unit_rows
from kinfolk.neighbors import knn_graph
from kinfolk.rerank._pool import Neighbors, Pool
from kinfolk.rerank._settings import rank_lists
from kinfolk.rerank._sparse import SparseRows, add_rows
from kinfolk.rerank.expanded_cross_neighborhood import DEFAULTS as ECN
from kinfolk.rerank.expanded_cross_neighborhood import expanded_neighbors
from kinfolk.rerank.k_reciprocal import DEFAULTS as K_RECIPROCAL
from kinfolk.rerank.k_reciprocal import reciprocal_rows
from research._page import RESULTS
from research.peers_on_albums import ALBUMS, EASY, Cell, Method, check_sets, load_albums, parse, run, set_names

QUALITY = ALBUMS.with_name("quality.py")
FILE = RESULTS / "features_on_albums.jsonl"
QUERIES, BLOCK = 3000, 500  # those of quality.py
ALPHA, EXPANDED = 3.0, 10
TEMPERATURE, NEAREST, ROUNDS = 0.2, 15, 3

Rows = NDArray[np.float32]
Distances = Callable[[NDArray[np.int64]], Rows]  # rows (b,) to their distances from all rows (b, n)


def expansion(X: Rows) -> Rows:
    """Return every row with its nearest added, alpha query expansion on both sides: (n, d)."""
    g = knn_graph(X, min(EXPANDED, len(X) - 1), show_progress=False)
    weights = np.maximum(g.similarities, 0) ** ALPHA
    return unit_rows(X + np.einsum("ik,ikd->id", weights, X[g.indices]))


def gcr(X: Rows) -> Rows:
    """Return the features after three rounds of propagation: (n, d)."""
    for _ in range(ROUNDS):
        g = knn_graph(X, min(NEAREST, len(X)) - 1, show_progress=False)
        near = np.hstack([np.arange(len(X))[:, None], g.indices])
        weights = np.exp(np.hstack([np.ones((len(X), 1)), g.similarities]) / TEMPERATURE)
        S = sparse.csr_array((weights.ravel(), near.ravel(), np.arange(len(X) + 1) * near.shape[1]))
        rows, columns = np.sqrt(S.sum(axis=1)), np.sqrt(S.sum(axis=0))
        X = unit_rows(((S @ (X / columns[:, None])) / rows[:, None]).astype(np.float32))
    return X


def everything(X: Rows, length: int) -> tuple[Rows, Neighbors]:
    """Return the unit vectors, and the lists of `length` rows that begin with the row itself: each row comes once.

    kf.rerank takes queries and gallery apart; here every row is both.
    """
    pool = Pool(X[:1], X[1:], show_progress=False)
    return pool.unit, rank_lists(pool, None, length)


def k_reciprocal(X: Rows) -> Distances:
    """Return d* of kf.rerank.k_reciprocal with its published k1, k2 and lambda, of any rows to all."""
    k1, k2 = (min(K_RECIPROCAL.paper[name], len(X)) for name in ("k1", "k2"))
    share = K_RECIPROCAL.paper["lambda_value"]
    unit, lists = everything(X, max(k1, k2))
    V = reciprocal_rows(unit, lists, k1, max(1, round(k1 / 2)), strict=False)
    V = matrix(add_rows(V, np.ascontiguousarray(lists.indices[:, :k2]), 1 / k2))
    columns = V.tocsc()
    farthest = np.maximum(1 - lists.lowest, np.finfo(np.float32).tiny)

    def distances(rows: NDArray[np.int64]) -> Rows:
        first = np.maximum(1 - unit[rows] @ unit.T, 0) / farthest[rows, None]
        common = np.stack([smaller_sums(V, columns, row) for row in rows])
        return (1 - share) * (1 - common / (2 - common)) + share * first

    return distances


def smaller_sums(V: sparse.csr_array, columns: sparse.csc_array, row: int) -> NDArray[np.float64]:
    """Return the sum over j of min(V_row,j, V_i,j) for every row i: (n,)."""
    begin, end = V.indptr[row : row + 2]
    mine = columns[:, V.indices[begin:end]]
    smaller = np.minimum(mine.data, np.repeat(V.data[begin:end], np.diff(mine.indptr)))
    return np.bincount(mine.indices, smaller, minlength=V.shape[0])


def expanded_cross_neighborhood(X: Rows) -> Distances:
    """Return the distances of kf.rerank.expanded_cross_neighborhood on lists with its published k, t and q."""
    k, t, q = min(ECN.paper["k"], len(X)), *(min(ECN.paper[name], len(X) - 1) for name in ("t", "q"))
    unit, lists = everything(X, max(k, q + 1))
    near = lists.indices[:, :k]
    places = np.arange(k, k - near.shape[1], -1, dtype=np.float32)
    v = SparseRows(np.arange(len(X) + 1) * near.shape[1], near.ravel(), np.tile(places, len(X)))
    members = expanded_neighbors(lists.indices[:, 1:], t, q)
    U, V = matrix(add_rows(v, members, 1 / (2 * members.shape[1] * float(places @ places)))), matrix(v)
    U_columns, V_columns = U.T.tocsc(), V.T.tocsc()

    def distances(rows: NDArray[np.int64]) -> Rows:
        shared = (U[rows] @ V_columns + V[rows] @ U_columns).toarray()
        return np.where(shared > 0, 1 - shared, 2 - unit[rows] @ unit.T)

    return distances


def matrix(rows: SparseRows) -> sparse.csr_array:
    """Return sparse rows as a matrix: (n, n)."""
    n = len(rows.starts) - 1
    return sparse.csr_array((rows.values, rows.columns, rows.starts), shape=(n, n))


def mean_ap(distances: Distances, y: NDArray[Any]) -> float:
    """Return the mAP x 100 of the queries of quality.py, those without a second row of their class left out.

    >>> x = np.array([0.0, 1.0, 3.0, 3.5])
    >>> mean_ap(lambda rows: abs(x[rows, None] - x), np.array([0, 0, 0, 1])).__round__(1)
    86.1
    """
    n = len(y)
    queries = np.random.default_rng(0).choice(n, min(n, QUERIES), replace=False)
    found = []
    for start in range(0, len(queries), BLOCK):
        rows = queries[start : start + BLOCK]
        D = np.array(distances(rows))
        D[np.arange(len(rows)), rows] = np.inf
        hit = y[np.argsort(D, axis=1, kind="stable")[:, :-1]] == y[rows, None]
        precision, total = hit.cumsum(axis=1) / np.arange(1, n), hit.sum(axis=1)
        found.append((precision * hit).sum(axis=1)[total > 0] / total[total > 0])
    return 100 * float(np.concatenate(found).mean())


def feature_scores(quality: ModuleType) -> Callable[[Cell, Any, ModuleType], dict[str, float]]:
    """Return the function that scores features, or distances, of a cell by mAP."""

    def scores(cell: Cell, found: Rows | Distances, albums: ModuleType) -> dict[str, float]:
        value = mean_ap(found, cell.y) if callable(found) else quality.mean_ap(found, cell.y, QUERIES)
        return dict(score=round(value, 3))

    return scores


def method(make: Callable[[Rows], Rows | Distances], setting: str, stage: int = 1) -> Method:
    return Method(lambda X, y, score: (make(X), setting), stage)


def enhanced(**settings: Any) -> Callable[[Rows], Rows]:
    """Return a function that enhances features without labels."""
    return lambda X: np.asarray(GraphEnhancer(show_progress=False, **settings).fit(X).transform(X))


METHODS = {
    "raw": method(lambda X: X, "default"),
    "k-reciprocal": method(k_reciprocal, "k1=20, k2=6, lambda=0.3"),
    "ECN": method(expanded_cross_neighborhood, "k=25, t=3, q=8"),
    "expansion, both sides": method(expansion, f"k={EXPANDED}, alpha={ALPHA:g}"),
    "GCR": method(gcr, f"temperature={TEMPERATURE}, k={NEAREST}, rounds={ROUNDS}"),
    "training-free": method(enhanced(pretrained=False), "GraphEnhancer(pretrained=False)", 2),
    "label-free": method(enhanced(), "GraphEnhancer()", 2),
}


def main() -> None:
    options = parse(None, METHODS, __doc__)
    albums, quality = load_albums(), load_albums(QUALITY)
    options.sets = options.sets or [name for name in set_names(albums) if name != EASY]
    options.regimes = options.regimes or ["plain", "zipf", "few-large", "loners", "bursts"]
    check_sets(options, albums)
    warnings.simplefilter("ignore")
    run(albums, options, FILE, METHODS, feature_scores(quality))


if __name__ == "__main__":
    main()
