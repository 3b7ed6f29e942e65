"""Figure 8 of the paper: the attention weights in a sub-graph, of self attention, of the quartet, and of the band.

One sub-graph is drawn, as in the paper; the claims are tested on many, because a single one can be chosen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk.enhance import AttentionMaps, GraphEnhancer, attention_maps
from kinfolk.experiments.curves import learning_panels
from kinfolk.experiments.feature_methods import encoder, fitted
from kinfolk.experiments.results import CaseStudy, Chart, Claim, ExperimentResult, Lines, Numbers, Table, Verdict
from kinfolk.experiments.resume import Data, commit, labels_of, versions
from kinfolk.metrics import Difference, IdentityScores, compare, edge_noise_rate
from kinfolk.metrics._labels import numbered
from kinfolk.neighbors import knn_graph

SHOWN_ATTENTIONS = ("self", "quartet", "band")
EQUAL, ALONE = "equal weights", "self, trained alone"
KS, QUICK_K = (10, 20, 40, 80, 119), 40  # the paper shows sub-graphs of 120 nodes, the probe included
NOISE = 0.4  # share of strangers: enough to see attention to them, and still fewer than kin
SHOWN_CLASSES = 3  # with two or more nodes each, so that a figure shows groups
SAMPLED_PROBES = 200  # sub-graphs that the tables count
VISIBLE = 0.005  # half a point of a share: the smallest difference that a figure shows

RULE = (
    f"The probe is not picked by hand: of all probes whose sub-graph has {SHOWN_CLASSES} classes or more with several "
    f"nodes, it is the one whose share of strangers among its neighbours is nearest to {NOISE:.0%}, and among equals "
    "the first in an order drawn with the seed."
)
ABOUT = (
    "An encoder with the band of attention is trained on the training part; shown is its last layer on a sub-graph of "
    "the test part, the softmax of each term with its learned weight: softmax(θ_self A_self), softmax(θ_qart A_qart), "
    "softmax(A_band). The tables count over many probes of the test part how much of the "
    "attention that a node gives to others goes to strangers, nodes of another class; equal weights would give the "
    "share of strangers among them, for the probe the edge noise. Only the probe's row is trained and used by an "
    f'encoder with one layer, and a figure shows the rows of all nodes. "{ALONE}": of an encoder that has nothing '
    "but self attention. A claim holds where the attention of all nodes to strangers is lower by half a point or more."
)
SENTENCES = {
    ("quartet", "self"): "Self attention connects strangers; the quartet reduces the weights of these connections",
    ("quartet", ALONE): "The quartet connects strangers less than self attention does that was trained without it",
    ("band", "quartet"): "The band further removes connections of strangers that the quartet leaves",
}


def case_study(
    sets: Mapping[str, Data], seed: int = 0, quick: bool = False, echo: Callable[[str], object] = print
) -> ExperimentResult:
    """Train an encoder for each set, show one sub-graph of its test part, and count the attention to strangers.

    >>> import kinfolk as kf
    >>> data = Data.of(kf.datasets.person_like(16, dim=16))
    >>> found = case_study({"persons": data}, quick=True, echo=lambda line: None)
    >>> found.cases[0].nodes[0], [claim.data for claim in found.claims]
    ('C0_node0', ['persons', 'persons', 'persons'])
    """
    start = time.perf_counter()
    tables, claims, cases = [], [], []
    curves: list[Lines] = []
    for name, data in sets.items():
        case, shares, log = _studied(name, data, seed, quick)
        cases.append(case)
        tables.append(_table(name, shares))
        claims += _claims(name, shares, seed)
        curves += learning_panels(log, name)
        means = ", ".join(f"{form} {shares.of_all(form).mean():.1%}" for form in SHOWN_ATTENTIONS)
        echo(f"{name}: attention to strangers {means}, of equal weights {shares.of_all(EQUAL).mean():.1%}")
    return ExperimentResult(
        name="figure8",
        title="Figure 8: attention in a sub-graph",
        about=ABOUT,
        quick=quick,
        tables=tuple(tables),
        charts=_curves(curves),
        claims=tuple(claims),
        cases=tuple(cases),
        seconds=round(time.perf_counter() - start, 2),
        versions=versions(),
    )


def _curves(panels: Sequence[Lines]) -> tuple[Chart, ...]:
    """Return the learning curves; none where there was too little to learn from."""
    text = "Loss, means of 10 steps, and mAP on held-back identities; the encoder keeps its best state."
    chart = Chart(name="figure8-curves", title="How it learned", text=text, panels=tuple(panels))
    return (chart,) if panels else ()


# ---- one sub-graph


def fitting_k(data: Data, most: int) -> int:
    """Return the largest k, of `KS` and up to `most`, at which at most 40 % of the training part's edges are noisy.

    >>> import kinfolk as kf
    >>> fitting_k(Data.of(kf.datasets.celeb_like(12)), most=40)
    40
    """
    ks = [k for k in KS if k <= most and k < min(len(data.train), len(data.test))]
    if not ks:
        raise InputError(f"a case study needs more than {KS[0]} rows in either part")
    g = knn_graph(data.train, max(ks), show_progress=False)
    quiet = [k for k in ks if edge_noise_rate(g.restrict(k), labels_of(data.train)) <= NOISE]
    return max(quiet, default=min(ks))


def choose_probe(labels: NDArray[np.int64], neighbors: NDArray[np.integer], seed: int = 0) -> int:
    """Return the probe to show, see `RULE`: labels (n,), neighbors (n, k). Where no probe has 3 classes, any may be it.

    >>> choose_probe(np.array([0, 0, 0, 1, 1, 2, 2]), np.array([[1, 2, 3, 4, 5, 6]] * 7))
    5
    """
    seen = labels[np.column_stack([np.arange(len(labels)), neighbors])]
    noise = np.mean(~_alike(seen[:, :1], seen[:, 1:]), axis=1)
    several = [np.count_nonzero(np.unique(row[row >= 0], return_counts=True)[1] > 1) for row in seen]
    few_classes = (np.array(several) < SHOWN_CLASSES) | (labels < 0)
    drawn = np.random.default_rng(seed).permutation(len(labels))
    return int(np.lexsort((drawn, np.abs(noise - NOISE).round(6), few_classes))[0])


def node_names(labels: Sequence[int]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return "C<class>_node<place>" of each node, and its class, numbered in the order in which classes appear.

    A node whose class is unknown, a label below zero, is a class of its own.

    >>> node_names([7, 7, 2, 7])
    (('C0_node0', 'C0_node1', 'C1_node2', 'C0_node3'), (0, 0, 1, 0))
    """
    known = [label if label >= 0 else -1 - place for place, label in enumerate(labels)]
    order = {label: number for number, label in enumerate(dict.fromkeys(known))}
    classes = tuple(order[label] for label in known)
    return tuple(f"C{number}_node{place}" for place, number in enumerate(classes)), classes


def _studied(name: str, data: Data, seed: int, quick: bool) -> tuple[CaseStudy, StrangerShares, list[dict[str, Any]]]:
    """Return the sub-graph to show, what many others echo, and the training log of the encoder."""
    k, labels = fitting_k(data, QUICK_K if quick else max(KS)), labels_of(data.test)
    band = fitted(encoder("band", attention="band", k=k), data.train, data, seed)
    shown = choose_probe(labels, band.subgraphs(data.test)[1], seed)
    known = np.flatnonzero(labels >= 0)
    probes = np.sort(np.random.default_rng(seed).permutation(known)[:SAMPLED_PROBES])
    maps = attention_maps(band, data.test, probes)
    alone = fitted(encoder("self", attention="self", k=k), data.train, data, seed)
    weights = {**maps.weights, ALONE: attention_maps(alone, data.test, probes).weights["self"]}
    case = _case(name, attention_maps(band, data.test, [shown]), labels, band)
    counted = StrangerShares.of(labels[maps.nodes], {EQUAL: np.ones_like(maps.cosines), **weights})
    return case, counted, getattr(band, "log_", [])


def _case(name: str, maps: AttentionMaps, labels: NDArray[np.int64], band: GraphEnhancer) -> CaseStudy:
    seen = labels[maps.nodes[0]]
    nodes, classes = node_names(seen.tolist())
    noise = np.mean(~_alike(seen[:1], seen[1:]))
    shares = {form: to_strangers(weights, seen[None]).mean() for form, weights in maps.weights.items()}
    facts = (
        f"k = {len(nodes) - 1}, {len(set(classes))} classes; {noise:.0%} of the probe's neighbours are strangers. "
        f"Attention to strangers here, mean of all nodes: {', '.join(f'{f} {s:.1%}' for f, s in shares.items())}. "
        f"{_learned_weights(band)}"
    )
    return CaseStudy(
        data=name,
        text=f"{RULE} {facts}",
        nodes=nodes,
        labels=classes,
        similarities=_rounded(maps.cosines[0]),
        weights={form: _rounded(weights[0]) for form, weights in maps.weights.items()},
    )


def _learned_weights(band: GraphEnhancer) -> str:
    from kinfolk.nn import BandAttention

    assert band.encoder_ is not None
    attention = band.encoder_.layers[-1].attention
    assert isinstance(attention, BandAttention)
    assert attention.theta_quartet is not None
    assert attention.theta_self is not None
    learned = "" if band.trained_ else " (training did not help on held-back identities: as it started)"
    return f"θ_qart = {attention.theta_quartet.item():.2f}, θ_self = {attention.theta_self.item():.2f}{learned}."


def _rounded(matrix: NDArray[np.float32]) -> tuple[Numbers, ...]:
    return tuple(tuple(row) for row in matrix.astype(np.float64).round(5).tolist())  # rows still sum to one


# ---- many sub-graphs


def to_strangers(weights: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of the attention of each node to others that goes to other classes.

    The weight of a node on itself is left out: it would count as attention to kin. A node without weight on any other
    has the share 0. Shapes: weights (P, L, L), labels (P, L)  ->  (P, L).

    >>> to_strangers(np.array([[[0.5, 0.3, 0.2], [0.0, 1.0, 0.0], [0.1, 0.1, 0.8]]]), np.array([[0, 0, 1]]))
    array([[0.4, 0. , 1. ]])
    """
    to_others = weights.astype(np.float64) * ~np.eye(labels.shape[1], dtype=np.bool_)
    wasted = np.where(_alike(labels[:, :, None], labels[:, None, :]), 0.0, to_others).sum(axis=2)
    total = to_others.sum(axis=2)
    return np.divide(wasted, total, out=np.zeros_like(wasted), where=total > 0)


@dataclass(frozen=True)
class StrangerShares:
    """The attention to strangers in the sub-graphs of P probes.

    classes    (P,) of the probes
    strangers  {form of attention: (P, L)}, the share of each node
    itself     {form of attention: mean weight of a probe on itself}
    """

    classes: NDArray[np.int64]
    strangers: Mapping[str, NDArray[np.float64]]
    itself: Mapping[str, float]

    @classmethod
    def of(cls, labels: NDArray[np.int64], weights: Mapping[str, NDArray[np.float32]]) -> StrangerShares:
        """Count the weights (P, L, L) of each form over the labels (P, L)."""
        itself = {form: float(np.mean(found[:, 0, 0] / found[:, 0].sum(axis=1))) for form, found in weights.items()}
        return cls(labels[:, 0], {form: to_strangers(found, labels) for form, found in weights.items()}, itself)

    def of_probe(self, form: str) -> NDArray[np.float64]:
        """Return the probes' own attention to strangers, (P,)."""
        return self.strangers[form][:, 0]

    def of_all(self, form: str) -> NDArray[np.float64]:
        """Return the mean over all nodes of each sub-graph, (P,)."""
        return self.strangers[form].mean(axis=1)

    def scores(self, form: str) -> IdentityScores:
        """Return both means over the probes as a function of how often each identity counts."""
        rows = numbered(self.classes)
        sums = np.stack([np.bincount(rows, values) for values in (self.of_probe(form), self.of_all(form))])
        counts = np.bincount(rows)
        return IdentityScores(("probe", "all nodes"), rows, lambda weights: sums @ weights / (counts @ weights))


def verdict_of_less(difference: Difference) -> Verdict:
    """Return whether the first is less than the second by half a point or more, judged by the interval.

    A smaller difference may be significant, but is invisible in a figure: then the first is not less.

    >>> verdict_of_less(Difference("share", 0.1, 0.2, value=-0.1, low=-0.2, high=0.05, level=0.95))
    'undecided'
    """
    if difference.high < -VISIBLE:
        return "holds"
    return "does not hold" if difference.low > -VISIBLE else "undecided"


def _claims(name: str, shares: StrangerShares, seed: int) -> list[Claim]:
    claims = []
    for (less, more), sentence in SENTENCES.items():
        found = compare(shares.scores(less), shares.scores(more), seed=seed)
        measured = "; ".join(
            f"{which}: {less} {d.first:.1%}, {more} {d.second:.1%}, difference {100 * d.value:+.2f} points "
            f"({d.level:.0%} interval {100 * d.low:+.2f} to {100 * d.high:+.2f})"
            for which, d in found.items()
        )
        figures = (
            f"Attention to strangers, {len(shares.classes)} probes, intervals over identities. {measured}. All nodes, "
            f"equal weights: {shares.of_all(EQUAL).mean():.1%}."
        )
        verdict = verdict_of_less(found["all nodes"])
        claims.append(Claim(claim=sentence, where="Figure 8, case study", data=name, verdict=verdict, figures=figures))
    return claims


def _table(name: str, shares: StrangerShares) -> Table:
    head = ("attention to strangers, %", "of the probe", "of all nodes", "of the probe to itself")
    least = [min(getattr(shares, of)(form).mean() for form in SHOWN_ATTENTIONS) for of in ("of_probe", "of_all")]
    rows = []
    for form in shares.strangers:
        means = [shares.of_probe(form).mean(), shares.of_all(form).mean()]
        best = [form in SHOWN_ATTENTIONS and mean <= lowest for mean, lowest in zip(means, least, strict=True)]
        cells = [f"**{100 * m:.1f}**" if b else f"{100 * m:.1f}" for m, b in zip(means, best, strict=True)]
        rows.append((form, *cells, f"{100 * shares.itself[form]:.1f}"))
    forms = list(shares.strangers)
    made = f"{len(shares.classes)} probes of {len(np.unique(shares.classes))} classes, by commit {commit()}."
    return Table(data=name, head=head, rows=tuple(rows), rules=(forms.index("self"), forms.index(ALONE)), made=made)


def _alike(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return where both are of one class; a node whose class is unknown is a stranger to all."""
    return (first == second) & (first >= 0)
