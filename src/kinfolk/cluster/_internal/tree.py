r"""One tree for nested cuts: rows are joined in the order of how probable it is that their clusters are kin.

    s(A, B) = sum over pairs of w_i w_j q_ij / (w(A) w(B)),     q_ij = p_ij on an edge, (1 - u_i u_j) / 2 without one
            = 1/2 + (e(A, B) - m(A) m(B) / 2) / (w(A) w(B))

with p, u, w, m and e as in `kinfolk.cluster._internal.potts`: two clusters have s > 1/2 where joining them is a gain.
The tree has three parts, and a cut at probability t makes all merges of height >= t:

    rows that must be together              height 1
    inside each cluster of the optimum      average linkage of s; heights in (1/2, 1)
    between these clusters                  average linkage of s along edges; heights in [0, 1/2)

so the cut at 1/2 is the optimum itself. Heights never rise from one merge to the next. Inside a cluster, parts whose s
is at most 1/2 are joined last, at the lowest height. Clusters without an edge between them are joined at height 0 only:
nothing was observed that speaks for them, and at 0 every pair is probable enough. Clusters that must be apart are never
joined; the cut at 0 leaves no two clusters that could be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kinfolk._core.checks import check_number
from kinfolk._core.kernels import kernel
from kinfolk.cluster._internal.hash_map import DELETED, EMPTY, rehashed, slot_of
from kinfolk.cluster._internal.linkage import (
    _attach,
    _heap,
    _linked_lists,
    _pair_key,
    _remove,
    _sift_down,
    _sift_up,
)
from kinfolk.cluster._internal.potts import Nodes, by_appearance, joined, members_of, potts_nodes
from kinfolk.cluster._internal.union_find import connected

EVEN_ODDS = 0.5
BELOW_ONE = float(np.nextafter(1.0, 0.0))  # at 1 are only rows that must be together
ABOVE_EVEN = float(np.nextafter(EVEN_ODDS, 1.0))
BELOW_EVEN = float(np.nextafter(EVEN_ODDS, 0.0))
# Links of a cluster that are all brought up to date after each merge; those of a cluster with more only when it has
# doubled. That bounds the time of a hub: each of its links is updated log2 n times instead of n times.
FRESH_LINKS = 64


@dataclass(frozen=True, eq=False)
class Tree:
    """Merges of nodes by falling height; a node is a set of rows that must be together.

    Attributes
    ----------
    nodes : (n,) int64, the node of each row, numbered 0, 1, 2, ...
    left, right : (m,) int32, a node of each of the two clusters that are joined.
    height : (m,) float64, from 1 down to 0.
    """

    nodes: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    height: NDArray[np.float64]

    def cut(self, probability: float) -> NDArray[np.int64]:
        """Return the cluster of each row (n,), numbered by their first rows, after all merges of at least this height.

        The clusters of a higher probability lie inside those of a lower one.

        Parameters
        ----------
        probability : from 0, everything that may be joined, to 1, only rows that must be together.

        Examples
        --------
        >>> tree = Tree(np.arange(3), np.array([0, 1]), np.array([1, 2]), np.array([0.9, 0.2]))
        >>> tree.cut(0.5), tree.cut(0.2)
        (array([0, 0, 1]), array([0, 0, 0]))
        """
        check_number("probability", probability, 0, 1)
        count = int(np.searchsorted(-self.height, -probability, side="right"))
        merged = connected(int(self.nodes.max(initial=-1)) + 1, self.left[:count], self.right[:count])
        return by_appearance(merged[self.nodes])


def kinship_tree(
    graph: csr_array,
    labels: NDArray[np.integer],
    *,
    closed: NDArray[np.floating] | None = None,
    copies: NDArray[np.number] | None = None,
    together: NDArray[np.integer] | None = None,
    apart: NDArray[np.integer] | None = None,
) -> Tree:
    """Return the tree whose cut at 1/2 is the given clustering.

    Memory: about 100 bytes an edge, of those between clusters and of those inside the largest cluster.

    Parameters
    ----------
    graph : (n, n) symmetric, the p of observed pairs.
    labels : (n,) a clustering that keeps the constraints.
    closed, copies, together, apart : as in `group_by_potts`.

    Examples
    --------
    >>> p = csr_array([[0, 0.9, 0.0, 0], [0.9, 0, 0.4, 0], [0, 0.4, 0, 0.8], [0, 0, 0.8, 0]])
    >>> tree = kinship_tree(p, np.array([0, 0, 1, 1]))
    >>> tree.height.round(2)
    array([0.9, 0.8, 0.1])
    """
    nodes = potts_nodes(graph, EVEN_ODDS, closed, copies, together, apart)
    number = np.arange(graph.shape[0]) if together is None else np.asarray(together, dtype=np.int64)
    cluster = np.empty(len(nodes.shut), dtype=np.int64)
    cluster[number] = by_appearance(labels)
    inside, between = _merges_inside(nodes, cluster), _merges_between(nodes, cluster)
    left, right = np.concatenate([inside[0], between[0]]), np.concatenate([inside[1], between[1]])
    height = np.concatenate([inside[2], between[2]])
    order = np.argsort(-height, kind="stable")
    last_left, last_right = _merges_at_zero(connected(len(cluster), left, right), apart)
    return Tree(
        number,
        np.concatenate([left[order], last_left]),
        np.concatenate([right[order], last_right]),
        np.concatenate([height[order], np.zeros(len(last_left))]),
    )


Merged = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]


def _merges_inside(nodes: Nodes, cluster: NDArray[np.int64]) -> Merged:
    """Return the merges that join the nodes of each cluster (n,)."""
    left, right, height = _link_inside(*nodes, cluster, *members_of(cluster))
    return left, right, np.clip(height, ABOVE_EVEN, BELOW_ONE)


def _merges_between(nodes: Nodes, cluster: NDArray[np.int64]) -> Merged:
    """Return the merges of whole clusters along edges; each is named by its first node."""
    clusters = joined(nodes, cluster)
    one, other, weight = _upper(clusters.starts, clusters.targets, clusters.weights)
    left, right, height, _ = _agglomerate(one, other, weight, clusters.shut, clusters.copies, -1.0, FRESH_LINKS)
    first = np.unique(cluster, return_index=True)[1].astype(np.int32)
    falling = np.minimum.accumulate(height)
    return first[left], first[right], np.clip(falling, 0.0, BELOW_EVEN)


def _merges_at_zero(
    merged: NDArray[np.int32], apart: NDArray[np.integer] | None
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return merges of clusters (n,), numbered by their lowest nodes, after which no two are left that may be joined.

    Each cluster goes to the first group with none that it must be apart from: two groups have such a pair for certain.
    """
    roots = np.unique(merged)
    rivals: dict[int, set[int]] = {}
    for a, b in [] if apart is None or len(apart) == 0 else merged[apart].tolist():
        rivals.setdefault(a, set()).add(b)
        rivals.setdefault(b, set()).add(a)
    group = dict.fromkeys(roots.tolist(), 0)
    placed: set[int] = set()
    for root in sorted(rivals):
        taken = {group[rival] for rival in rivals[root] & placed}
        group[root] = next(g for g in range(len(taken) + 1) if g not in taken)
        placed.add(root)
    groups = np.fromiter(group.values(), dtype=np.int64, count=len(group))
    _, first = np.unique(groups, return_index=True)
    to_join = np.setdiff1d(np.arange(len(roots)), first)
    return roots[first[groups[to_join]]], roots[to_join]


@kernel()
def _upper(
    starts: NDArray[np.int64], targets: NDArray[np.int32], weights: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return each edge once: its ends and its weight."""
    count = 0
    for i in range(len(starts) - 1):
        for edge in range(starts[i], starts[i + 1]):
            count += targets[edge] > i
    one, other, weight = (np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.float64))
    at = 0
    for i in range(len(starts) - 1):
        for edge in range(starts[i], starts[i + 1]):
            if targets[edge] > i:
                one[at], other[at], weight[at] = i, targets[edge], weights[edge]
                at += 1
    return one, other, weight


@kernel()
def _link_inside(
    starts: NDArray[np.int64],
    targets: NDArray[np.int32],
    weights: NDArray[np.float32],
    shut: NDArray[np.float64],
    copies: NDArray[np.float64],
    cluster: NDArray[np.int64],
    order: NDArray[np.int64],
    bounds: NDArray[np.int64],
) -> Merged:
    """Return the merges of one cluster after the other: small heaps stay in the processor's cache."""
    n, count = len(cluster), len(bounds) - 1
    left, right, height = (np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.float64))
    place, done = np.empty(n, np.int64), 0
    for c in range(count):
        members = order[bounds[c] : bounds[c + 1]]
        edges = 0
        for at in range(len(members)):
            place[members[at]] = at
            for edge in range(starts[members[at]], starts[members[at] + 1]):
                edges += cluster[targets[edge]] == c and targets[edge] > members[at]
        one, other, weight = (np.empty(edges, np.int32), np.empty(edges, np.int32), np.empty(edges, np.float64))
        used = 0
        for i in members:
            for edge in range(starts[i], starts[i + 1]):
                if cluster[targets[edge]] == c and targets[edge] > i:
                    one[used], other[used], weight[used] = place[i], place[targets[edge]], weights[edge]
                    used += 1
        # s above 1/2 can only fall by pairs without an edge, whose q is at most 1/2: no key needs to be raised
        a, b, s, kept = _agglomerate(one, other, weight, shut[members], copies[members], EVEN_ODDS, 0)
        lowest = 1.0
        for merge in range(len(a)):
            lowest = min(lowest, s[merge])
            left[done], right[done], height[done] = members[a[merge]], members[b[merge]], lowest
            done += 1
        for part in kept[1:]:
            left[done], right[done], height[done] = members[kept[0]], members[part], EVEN_ODDS
            done += 1
    return left[:done], right[:done], height[:done]


@kernel()
def _mean(weight: float, shut: float, copies: float) -> float:
    """Return s of two clusters from e(A, B), m(A) m(B) and w(A) w(B)."""
    return EVEN_ODDS + (weight - 0.5 * shut) / copies


@kernel()
def _means(
    one: NDArray[np.int32],
    other: NDArray[np.int32],
    weight: NDArray[np.float64],
    shut: NDArray[np.float64],
    copies: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return s of the ends of each edge."""
    means = np.empty(len(one))
    for e in range(len(one)):
        means[e] = _mean(weight[e], shut[one[e]] * shut[other[e]], copies[one[e]] * copies[other[e]])
    return means


@kernel()
def _agglomerate(
    one: NDArray[np.int32],
    other: NDArray[np.int32],
    weight: NDArray[np.float64],
    shut: NDArray[np.float64],
    copies: NDArray[np.float64],
    lowest: float,
    fresh_links: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    """Return the merges of linked nodes with s above `lowest`, and a node of each cluster that is left.

    As `sparse_linkage`: the key of a pair may be above its s, and is recomputed at the top of the heap. Where pairs
    without an edge may raise s, fresh_links > 0 says for how many links of a merged cluster that is made good at once.
    """
    n, edges = len(shut), len(one)
    shut, copies, updated = shut.copy(), copies.copy(), copies.copy()
    first, following, links, keys, numbers = _linked_lists(n, one, other)
    used, length = edges, edges
    key = _means(one, other, weight, shut, copies)
    heap, where = _heap(key)
    left, right, height = (np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.float64))
    gone, merges = np.zeros(n, np.bool_), 0
    while length > 0:
        top = heap[0]
        a, b = one[top], other[top]
        now = _mean(weight[top], shut[a] * shut[b], copies[a] * copies[b])
        if now < key[top]:
            key[top] = now
            _sift_down(heap, where, key, 0, length)
            continue
        if now <= lowest:
            break
        if links[a] > links[b]:
            a, b = b, a
        left[merges], right[merges], height[merges], gone[a] = a, b, now, True
        merges += 1
        length = _remove(heap, where, key, top, length)
        shut[b] += shut[a]
        copies[b] += copies[a]
        half = first[a]
        while half >= 0:
            after, e = following[half], half // 2
            if where[e] >= 0:
                c = other[e] if half % 2 == 0 else one[e]
                numbers[slot_of(keys, _pair_key(a, c, n))] = DELETED
                slot = slot_of(keys, _pair_key(b, c, n))
                known = numbers[slot] if keys[slot] != EMPTY else DELETED
                if known != DELETED and where[known] >= 0:
                    weight[known] += weight[e]
                    length = _remove(heap, where, key, e, length)
                    key[known] = _mean(weight[known], shut[b] * shut[c], copies[b] * copies[c])
                    _sift_up(heap, where, key, where[known])
                    _sift_down(heap, where, key, where[known], length)
                else:
                    used += keys[slot] == EMPTY
                    keys[slot], numbers[slot] = _pair_key(b, c, n), e
                    _attach(half, b, one, other, first, following, links)
                    if 2 * used > len(keys):
                        keys, numbers, used = rehashed(keys, numbers)
            half = after
        if fresh_links > 0 and (links[b] <= fresh_links or copies[b] >= 2 * updated[b]):
            updated[b] = copies[b]
            links[b] = _refresh(b, one, other, weight, shut, copies, first, following, heap, where, key, length)
    return left[:merges], right[:merges], height[:merges], np.flatnonzero(~gone)


@kernel()
def _refresh(
    cluster: int,
    one: NDArray[np.int32],
    other: NDArray[np.int32],
    weight: NDArray[np.float64],
    shut: NDArray[np.float64],
    copies: NDArray[np.float64],
    first: NDArray[np.int64],
    following: NDArray[np.int64],
    heap: NDArray[np.int32],
    where: NDArray[np.int32],
    key: NDArray[np.float64],
    length: int,
) -> int:
    """Bring the keys of all links of a cluster up to date, forget those that are gone, and return their number."""
    half, kept, count = first[cluster], np.int64(-1), 0
    while half >= 0:
        after, e = following[half], half // 2
        if where[e] >= 0:
            key[e] = _mean(weight[e], shut[one[e]] * shut[other[e]], copies[one[e]] * copies[other[e]])
            _sift_up(heap, where, key, where[e])
            _sift_down(heap, where, key, where[e], length)
            following[half], kept = kept, half
            count += 1
        half = after
    first[cluster] = kept
    return count
