"""The case study of a sub-graph: its attention weights, every form of attention side by side."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from kinfolk.experiments.results import CaseStudy
from kinfolk.report.page import PageCase


def case_section(study: CaseStudy) -> PageCase:
    """Return what the page needs to show a case study.

    >>> study = CaseStudy(data="toy", text="", nodes=("a", "b"), labels=(0, 1), similarities=((1, 0.5), (0.5, 1)),
    ...                   weights={"self": ((0.75, 0.25), (0, 1))})
    >>> case_section(study).strangers
    {'self': 0.5}
    """
    facts = dict(
        nodes=study.nodes,
        labels=study.labels,
        similarities=_rounded(np.array(study.similarities)),
        forms=[dict(name=name, weights=_rounded(np.array(weights))) for name, weights in study.weights.items()],
    )
    title = f"Attention in a sub-graph, {study.data}"
    return PageCase(title, json.dumps(facts, separators=(",", ":")), strangers(study), study.text)


def strangers(study: CaseStudy) -> dict[str, float]:
    """Return for each form the share of the attention to others that goes to other classes, the mean over the nodes.

    The weight of a node on itself is left out: it would count as attention to kin.
    """
    labels = np.array(study.labels)
    other = labels[:, None] != labels[None, :]
    shares = {}
    for form, weights in study.weights.items():
        to_others = np.array(weights) * ~np.eye(len(labels), dtype=np.bool_)
        to_all, to_strangers = to_others.sum(axis=1), (to_others * other).sum(axis=1)
        shares[form] = float(np.divide(to_strangers, to_all, out=np.zeros(len(labels)), where=to_all > 0).mean())
    return shares


def _rounded(values: NDArray[np.float64]) -> list[list[float]]:
    return values.round(4).tolist()
