r"""What the user knows about pairs of rows: those that must be in one cluster, and those that cannot be.

    together   the smallest equivalence on the rows that has every pair of must_link
    apart      the pairs of its classes that have a pair of cannot_link between them

A pair of cannot_link inside a class is a contradiction: the error names the chain of must_link pairs between its rows.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.checks import is_whole
from kinfolk._core.errors import InputError
from kinfolk.cluster._internal.union_find import connected


class Constraints(NamedTuple):
    """Constraints without contradiction.

    Shapes: together (n,) int64, the class of each row, numbered 0, 1, 2, ... by their first rows; apart (m, 2) int64,
    pairs of classes, the lower one first, each pair once.
    """

    together: NDArray[np.int64]
    apart: NDArray[np.int64]


def read_constraints(n: int, must_link: Any = None, cannot_link: Any = None) -> Constraints:
    """Return the constraints on n rows, or raise InputError.

    Parameters
    ----------
    n : number of rows.
    must_link, cannot_link : pairs of row numbers, as a list or an array (m, 2); None or empty: no pairs.

    Examples
    --------
    >>> read_constraints(4, must_link=[(1, 3)], cannot_link=[(3, 0)])
    Constraints(together=array([0, 1, 2, 1]), apart=array([[0, 1]]))
    >>> read_constraints(4, must_link=[(1, 3), (2, 3)], cannot_link=[(1, 2)])
    Traceback (most recent call last):
    kinfolk.InputError: rows 1 and 2 are in cannot_link, but must_link joins them by (1, 3), (2, 3); remove one of these
    pairs
    """
    must, cannot = _pairs("must_link", must_link, n), _pairs("cannot_link", cannot_link, n)
    loop = np.flatnonzero(cannot[:, 0] == cannot[:, 1])
    if len(loop):
        raise InputError(f"cannot_link keeps row {cannot[loop[0], 0]} apart from itself: remove pair {loop[0]}")
    _, together = np.unique(connected(n, must[:, 0], must[:, 1]), return_inverse=True)  # by lowest rows: in order
    together = together.astype(np.int64, copy=False)
    apart = np.sort(together[cannot], axis=1)
    inside = np.flatnonzero(apart[:, 0] == apart[:, 1])
    if len(inside):
        raise InputError(_contradiction(must, cannot[inside]))
    return Constraints(together, np.unique(apart, axis=0))


def chain_between(pairs: NDArray[np.int64], start: int, end: int) -> list[tuple[int, int]]:
    """Return a shortest chain of pairs (m, 2), as they were given, from one row to another that it leads to.

    >>> chain_between(np.array([[1, 3], [2, 3], [5, 6]]), 1, 2)
    [(1, 3), (2, 3)]
    """
    links: dict[int, list[tuple[int, int, int]]] = {}
    for a, b in pairs.tolist():
        links.setdefault(a, []).append((b, a, b))
        links.setdefault(b, []).append((a, a, b))
    came_by: dict[int, tuple[int, tuple[int, int]]] = {start: (start, (start, start))}
    waiting = deque([start])
    while end not in came_by:
        row = waiting.popleft()
        for other, a, b in links.get(row, []):
            if other not in came_by:
                came_by[other] = (row, (a, b))
                waiting.append(other)
    chain, row = [], end
    while row != start:
        row, pair = came_by[row]
        chain.append(pair)
    return chain[::-1]


def _contradiction(must: NDArray[np.int64], refused: NDArray[np.int64]) -> str:
    a, b = refused[0].tolist()
    chain = ", ".join(str(pair) for pair in chain_between(must, a, b))
    more = f" ({len(refused) - 1:,} more in cannot_link like them)" if len(refused) > 1 else ""
    return f"rows {a} and {b} are in cannot_link, but must_link joins them by {chain}; remove one of these pairs{more}"


def _pairs(name: str, given: Any, n: int) -> NDArray[np.int64]:
    """Return pairs of rows as an array (m, 2), or raise InputError with the first wrong one."""
    if given is None:
        return np.empty((0, 2), dtype=np.int64)
    try:
        pairs = np.asarray(given if hasattr(given, "__array__") else list(given))
    except (TypeError, ValueError, OverflowError):  # no list at all, or pairs of different lengths
        raise InputError(_expected(name, given)) from None
    if pairs.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(_expected(name, given))
    if pairs.dtype.kind not in "iu":
        wrong = next(value for value in pairs.ravel().tolist() if not is_whole(value, 0) or value >= n)
        raise InputError(f"{name} must name rows by whole numbers from 0 to {n - 1}, not by {wrong!r}")
    outside = np.flatnonzero(((pairs < 0) | (pairs >= n)).any(axis=1))
    if len(outside):
        a, b = pairs[outside[0]].tolist()
        raise InputError(f"{name} has the pair ({a}, {b}), but the rows are numbered from 0 to {n - 1}")
    return pairs.astype(np.int64)


def _expected(name: str, given: Any) -> str:
    text = repr(given)
    shown = text if len(text) <= 60 else f"{text[:60]}..."
    return f"{name} must be pairs of row numbers, such as [(0, 1), (4, 7)], not {shown}"
