"""Slow, obvious forms of what kinfolk.cluster does fast."""

import numpy as np


def rows(n, d, seed):
    """Random rows."""
    return np.random.default_rng(seed).standard_normal((n, d))


def blobs(classes=6, size=15, noise=0.15, seed=0):
    """Rows around as many axes as there are classes, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(classes), size))
    return np.eye(classes * 2)[y] + noise * rng.standard_normal((len(y), classes * 2)), y


def same_partition(a, b):
    """Whether two labellings put the same rows together."""
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist())) == len(set(b.tolist()))


def components(n, edges):
    """Labels of the connected parts, by networkx."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges)
    labels = np.empty(n, dtype=int)
    for number, part in enumerate(nx.connected_components(graph)):
        labels[list(part)] = number
    return labels


def agglomerate(S, linkage):
    """Merge heights and the labels after every merge, from a full similarity matrix, by the definition."""
    rule = {"single": np.max, "average": np.mean, "complete": np.min}[linkage]
    clusters = [[i] for i in range(len(S))]
    heights, partitions = [], []
    while len(clusters) > 1:
        pairs = [(a, b) for a in range(len(clusters)) for b in range(a)]
        values = [rule(S[np.ix_(clusters[a], clusters[b])]) for a, b in pairs]
        best = int(np.argmax(values))
        if values[best] <= 0:
            break
        a, b = pairs[best]
        clusters[b] += clusters.pop(a)
        labels = np.empty(len(S), dtype=int)
        for number, rows in enumerate(clusters):
            labels[rows] = number
        heights.append(values[best])
        partitions.append(labels)
    return np.array(heights), partitions


def finch(X):
    """Partitions by linking first neighbours, with full similarity matrices."""
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    labels, means, partitions = np.arange(len(X)), X, []
    while len(means) > 1:
        S = means @ means.T / np.outer(np.linalg.norm(means, axis=1), np.linalg.norm(means, axis=1))
        np.fill_diagonal(S, -np.inf)
        labels = components(len(means), enumerate(S.argmax(axis=1)))[labels]
        if partitions and labels.max() == 0:
            break
        partitions.append(labels)
        means = np.array([X[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
    return partitions


def modularity(labels, edges, weights):
    """Modularity of an undirected weighted multigraph, by the definition."""
    total = sum(weights)
    inside = sum(w for (i, j), w in zip(edges, weights, strict=True) if labels[i] == labels[j])
    ends = np.zeros(labels.max() + 1)
    for (i, j), w in zip(edges, weights, strict=True):
        ends[labels[i]] += w
        ends[labels[j]] += w
    return inside / total - np.sum((ends / (2 * total)) ** 2)


def whisper(weights, threshold, orders):
    """Chinese Whispers on a full symmetric matrix, dictionaries and loops."""
    n = len(weights)
    classes = list(range(n))
    for order in orders:
        for i in order:
            support = {classes[i]: 0.0}
            for j in range(n):
                if weights[i, j] >= threshold and weights[i, j] > 0:
                    support[classes[j]] = support.get(classes[j], 0.0) + weights[i, j]
            best = max(support.values())
            if support[classes[i]] < best:
                classes[i] = min(c for c, s in support.items() if s == best)
    return np.array(classes)
