"""The tests behind the Sim-M of one pair of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.checks import is_whole
from kinfolk._core.errors import InputError
from kinfolk.neighbors import NeighborGraph
from kinfolk.similarity.sim_m import sim_m

SHOWN = 5  # common candidates, and others, that an explanation prints


class Voucher(NamedTuple):
    """A common candidate: its similarity to each of the two rows, and its term of their Sim-M."""

    candidate: int
    to_first: float
    to_second: float
    adds: float


class Failed(NamedTuple):
    """A candidate of only one of the two rows, and its similarity to that row."""

    candidate: int
    known_to: int
    similarity: float


@dataclass(frozen=True)
class Explanation:
    """The tests behind the Sim-M of a pair of rows; printed are 5 of each kind.

    Attributes
    ----------
    first, second : the rows.
    sim_m : their Sim-M with its default settings.
    cosine : None if neither row is a neighbour of the other, so that the graph does not have it.
    candidates : of each row: its neighbours and itself.
    vouchers : common candidates, the largest term of the Sim-M first.
    failed : candidates of one of the rows only, the most similar first.
    """

    first: int
    second: int
    sim_m: float
    cosine: float | None
    candidates: int
    vouchers: list[Voucher]
    failed: list[Failed]

    def __str__(self) -> str:
        cosine = "not neighbours" if self.cosine is None else f"cosine {self.cosine:.3f}"
        lines = [
            f"rows {self.first} and {self.second}: Sim-M {self.sim_m:.3f}, {cosine}; "
            f"{len(self.vouchers)} of the {self.candidates} candidates of a row vouch"
        ]
        lines += [
            f"  {v.candidate}: {v.to_first:.3f} to {self.first}, {v.to_second:.3f} to {self.second}, adds {v.adds:.4f}"
            for v in self.vouchers[:SHOWN]
        ]
        lines += _more(len(self.vouchers), f"vouch and add {sum(v.adds for v in self.vouchers[SHOWN:]):.4f}")
        lines += [f"  {f.candidate}: known to {f.known_to} only ({f.similarity:.3f})" for f in self.failed[:SHOWN]]
        lines += _more(len(self.failed), "are known to one of them only")
        return "\n".join(lines)


def explain(g: NeighborGraph, i: int, j: int) -> Explanation:
    """Return the tests behind one pair of rows: common candidates with their similarities, and candidates of one only.

    S_ij = sum(v.adds for v in vouchers),   v.adds = max(s_ic, 0) max(s_cj, 0) / (k + 1)

    Parameters
    ----------
    g : a NeighborGraph.
    i, j : rows, neighbours or not.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [1, 0.2], [0, 1.0]], k=2)
    >>> print(kf.explain(g, 0, 1))
    rows 0 and 1: Sim-M 0.989, cosine 0.995; 3 of the 3 candidates of a row vouch
      0: 1.000 to 0, 0.995 to 1, adds 0.3317
      1: 0.995 to 0, 1.000 to 1, adds 0.3317
      2: 0.981 to 0, 0.995 to 1, adds 0.3253
    """
    for row in (i, j):
        if not is_whole(row, least=0) or row >= len(g):
            raise InputError(f"row {row} is not in the graph: rows go from 0 to {len(g) - 1}")
    first, second = _candidates(g, i), _candidates(g, j)
    count = g.k + 1
    vouchers = [
        Voucher(c, first[c], second[c], max(first[c], 0.0) * max(second[c], 0.0) / count) for c in first.keys() & second
    ]
    failed = [Failed(c, i, s) for c, s in first.items() if c not in second]
    failed += [Failed(c, j, s) for c, s in second.items() if c not in first]
    return Explanation(
        first=i,
        second=j,
        sim_m=float(sim_m(g, pairs=np.array([[i, j]]))[0]),
        cosine=first.get(j, second.get(i)),
        candidates=count,
        vouchers=sorted(vouchers, key=lambda v: (-v.adds, v.candidate)),
        failed=sorted(failed, key=lambda f: (-f.similarity, f.candidate)),
    )


def _more(count: int, what: str) -> list[str]:
    return [f"  … and {count - SHOWN} more {what}"] if count > SHOWN else []


def _candidates(g: NeighborGraph, row: int) -> dict[int, float]:
    """Return the neighbours of a row and itself, with their similarities."""
    neighbors: NDArray[np.int32] = g.indices[row]
    return {row: 1.0} | dict(zip(neighbors.tolist(), g.similarities[row].tolist(), strict=True))
