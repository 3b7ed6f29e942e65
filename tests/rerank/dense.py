"""The re-rankers as their papers define them: whole matrices, sets and loops. Slow, and obvious."""

import numpy as np


def unit(X):
    X = np.asarray(X, dtype=np.float64)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def cosines(query, gallery):
    X = unit(np.concatenate([query, gallery]))
    return X @ X.T


def rank_lists(S):
    """Every row's list over all rows, itself first."""
    S = S.copy()
    np.fill_diagonal(S, np.inf)
    return np.argsort(-S, axis=1, kind="stable")


def k_reciprocal(query, gallery, k1, k2, lambda_value, helper=False):
    S, nq = cosines(query, gallery), len(query)
    squared = 2 - 2 * S
    D = squared / squared.max(axis=1, keepdims=True)
    lists = rank_lists(S)
    whole, half = k1 + helper, max(1, round(k1 / 2) + helper)

    def reciprocal(p, k):
        return {int(g) for g in lists[p, :k] if p in lists[g, :k]}

    V = np.zeros(S.shape)
    for p in range(len(S)):
        around = reciprocal(p, whole)
        expanded = set(around)
        for q in around:
            near = reciprocal(q, half)
            share = 3 * len(around & near) - 2 * len(near)
            if share > 0 or (share == 0 and not helper):
                expanded |= near
        columns = sorted(expanded)
        weights = np.exp(-D[p, columns])
        V[p, columns] = weights / weights.sum()
    V = np.stack([V[lists[p, :k2]].mean(axis=0) for p in range(len(S))])
    result = np.empty((nq, len(gallery)))
    for p in range(nq):
        for g in range(len(gallery)):
            jaccard = 1 - np.minimum(V[p], V[nq + g]).sum() / np.maximum(V[p], V[nq + g]).sum()
            result[p, g] = (1 - lambda_value) * jaccard + lambda_value * D[p, nq + g]
    return result


def expanded_cross_neighborhood(query, gallery, k, t, q, variant):
    S, nq = cosines(query, gallery), len(query)
    lists = rank_lists(S)
    d = 1 - S
    if variant == "rank":
        position = np.argsort(lists, axis=1) + 1
        weights = np.maximum(k + 1 - position, 0)
        likeness = (weights @ weights.T).astype(float)
        d = 1 - likeness / likeness.max()

    def neighborhood(p):
        near = lists[p, 1 : t + 1]
        return [*near, *(second for first in near for second in lists[first, 1 : q + 1])]

    around = [neighborhood(p) for p in range(len(S))]
    result = np.empty((nq, len(gallery)))
    for p in range(nq):
        for g in range(len(gallery)):
            there = [d[j, nq + g] for j in around[p]]
            back = [d[j, p] for j in around[nq + g]]
            result[p, g] = (sum(there) + sum(back)) / (len(there) + len(back))
    return result


def query_expansion(query, gallery, k, alpha):
    P, G = unit(query), unit(gallery)
    expanded = []
    for p in P:
        s = G @ p
        first = np.argsort(-s, kind="stable")[:k]
        expanded.append(p + sum(max(s[g], 0) ** alpha * G[g] for g in first))
    return 1 - unit(expanded) @ G.T


def local_blurring(query, gallery, n, temperature):
    P, G = unit(query), unit(gallery)
    result = 1 - P @ G.T
    for row, p in zip(result, P, strict=True):
        first = np.argsort(row, kind="stable")[:n]
        W = np.exp(G[first] @ G[first].T / temperature)
        row[first] = 1 - (W / W.sum(axis=1, keepdims=True)) @ G[first] @ p
    return result


def generated(n_queries, n_gallery, n_classes=8, dim=6, noise=0.5, seed=0):
    """Return queries and gallery of random classes."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((n_classes, dim))
    n = n_queries + n_gallery
    X = centres[rng.integers(n_classes, size=n)] + noise * rng.standard_normal((n, dim))
    return X[:n_queries], X[n_queries:]


def whole(ranking):
    """Return the distances of a ranking of the whole gallery, in the order of the gallery."""
    D = np.empty(ranking.distances.shape)
    np.put_along_axis(D, ranking.indices.astype(int), ranking.distances, axis=1)
    return D


def reid_scores(ranking, query, gallery):
    """mAP^R and R1, gallery items of the query's identity and camera left out, queries without a match too."""
    precisions, first = [], []
    for order, label, camera in zip(ranking.indices, query.labels, query.cameras, strict=True):
        same = gallery.labels[order] == label
        hits = np.flatnonzero(same[~(same & (gallery.cameras[order] == camera))])
        if len(hits):
            precisions.append(np.mean(np.arange(1, len(hits) + 1) / (hits + 1)))
            first.append(hits[0] == 0)
    return 100 * np.mean(precisions), 100 * np.mean(first)
