"""Theorem 1 of the paper as plots: error edges over the number of tests, in the model and for graphs of real sets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk.experiments.results import Chart, Claim, ExperimentResult, Line, Lines, Table, TableRow, Verdict
from kinfolk.experiments.resume import Data, commit, labels_of, versions
from kinfolk.metrics import edge_noise_rate, roc
from kinfolk.neighbors import NeighborGraph, knn_graph
from kinfolk.similarity import sim_m
from kinfolk.theory import (
    Errors,
    Estimate,
    chernoff_errors,
    estimate,
    exact_error_rates,
    min_tests,
    multiple_test_errors,
    simulate,
    single_test_errors,
    threshold,
)

GAMMA = 2.0  # both kinds of error edges are to be halved
TEST_COUNTS = (2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1200, 2000)
MOST_DRAWN = 200  # tests: a simulation of m tests draws m^2 numbers a node
NODES, QUICK_NODES = 400, 100  # of a simulation
TOO_FEW = 1e-3  # error edges of a node: lower values are left out of a chart
ALPHAS = tuple(np.linspace(0.52, 0.98, 24).round(3).tolist())
KS, QUICK_KS = (5, 10, 20, 40, 80, 160, 320), (5, 10, 20, 40, 80, 160)
# p, q, alpha and gamma at which the claims about the model are checked
GRID_P, GRID_Q, GRID_ALPHA, GRID_GAMMA = (0.5, 0.7, 0.9), (0.1, 0.3, 0.5), (0.6, 0.75, 0.9), (2.0, 10.0)
MODEL = "the model"
FEWER = "With enough tests, many tests make fewer error edges than one"

ABOUT = (
    "Two nodes have m common candidates, a share α > 1/2 of them of the first one's class; a test passes with "
    "probability p within a class and q < p between classes. One test decides an edge by itself, many tests count the "
    "candidates that pass with both ends (Sim-M). Theorem 1 says from how many tests on both kinds of error edges, "
    "noisy and missing ones, become γ times fewer; here γ = 2. It bounds tails by Chernoff; exact tails need far fewer "
    "tests. p, q, α and m of a set are estimated on the graph of its test part with its labels; the theory assumes two "
    "classes, independent tests and the same m for every pair, which no real graph has. Error edges of many tests are "
    "those of the cut that makes both kinds together fewest in the model; where few edges are noisy that cut keeps "
    "them all. So one test and many are also compared where both keep as many true edges: many as in the theorem, "
    "tests that pass or fail and their mean over the common candidates, and as Sim-M is used, with real similarities."
)


class ModelSetting(NamedTuple):
    """The numbers of the theorem, and what they are called."""

    name: str
    p: float
    q: float
    alpha: float

    @property
    def title(self) -> str:
        """Name and numbers, for a panel."""
        return f"{self.name}: p = {self.p:.2f}, q = {self.q:.2f}, α = {self.alpha:.2f}"


MODEL_SETTINGS = (
    ModelSetting("clear tests", 0.8, 0.2, 0.8),
    ModelSetting("weak tests", 0.6, 0.3, 0.9),
    ModelSetting("many strangers", 0.9, 0.5, 0.6),
)


class Estimated(NamedTuple):
    """The graph of a set at one k: its edge noise, the theory's numbers, and the noisy edges that many tests keep.

    binary_q, real_q: share of the noisy edges that Sim-M keeps where it keeps as many true edges as one test, p of
    them; with tests that pass or fail, the mean over the common candidates, as in the theorem, and as `kf.sim_m` is.
    """

    k: int
    noise: float
    numbers: Estimate
    binary_q: float
    real_q: float

    @property
    def drawable(self) -> bool:
        """Whether the theorem applies here: its condition holds, and one test makes both kinds of errors."""
        return self.numbers.holds and self.numbers.needed is not None

    @property
    def enough(self) -> bool:
        """Whether two neighbours have as many common candidates as halve both kinds of errors, by exact tails."""
        return self.numbers.needed_exact is not None and self.numbers.m >= self.numbers.needed_exact


def theorem(
    sets: Mapping[str, Data], seed: int = 0, quick: bool = False, echo: Callable[[str], object] = print
) -> ExperimentResult:
    """Draw the error edges of Theorem 1, check it on a grid, and estimate its numbers on the graphs of the sets.

    >>> import kinfolk as kf
    >>> found = theorem({"digits": Data.of(kf.datasets.digits())}, quick=True, echo=lambda text: None)
    >>> [(claim.data, claim.verdict) for claim in found.claims[:2]]
    [('the model', 'holds'), ('the model', 'holds')]
    """
    start = time.perf_counter()
    nodes = QUICK_NODES if quick else NODES
    claims = [fewer_errors_claim(nodes, seed), bound_claim()]
    charts = [_regimes_chart(nodes, seed), _needed_chart()]
    found = {}
    for name, data in sets.items():
        found[name] = estimates(data, QUICK_KS if quick else KS)
        claims += [*_measured_claims(name, found[name]), *_condition_claims(name, found[name])]
        alphas = ", ".join(f"{e.numbers.alpha:.2f} at k = {e.k}" for e in found[name])
        echo(f"{name}: α {alphas or 'nowhere: its edges are all true, or all noisy'}")
    charts += [*_sets_charts(found, nodes, seed), *_alpha_charts(found)]
    return ExperimentResult(
        name="theorem",
        title="Theorem 1: many tests against one",
        about=ABOUT,
        quick=quick,
        tables=tuple(table for name, rows in found.items() if rows for table in _tables(name, rows)),
        charts=tuple(charts),
        claims=tuple(claims),
        seconds=round(time.perf_counter() - start, 2),
        versions=versions(),
    )


# ---- the model


def error_lines(setting: ModelSetting, nodes: int, seed: int = 0) -> tuple[Line, ...]:
    """Return error edges over the number of tests: none, one, and many by the Chernoff bound, exactly, and drawn.

    Many tests are cut where the errors are fewest; with few of them that is where every edge is kept, so the line
    without a test belongs beside them. Drawn: counted over `nodes` nodes with random tests. Fewer than 0.001 edges are
    left out.

    >>> [line.label for line in error_lines(MODEL_SETTINGS[0], nodes=5)]
    ['no test', 'one test', 'many tests, Chernoff bound', 'many tests, exact', 'many tests, drawn']
    """
    numbers = setting.p, setting.q, setting.alpha

    def none(p: float, q: float, alpha: float, m: int) -> Errors:
        return Errors((1 - alpha) * m, 0.0)

    def drawn(p: float, q: float, alpha: float, m: int) -> Errors:
        return simulate(p, q, alpha, m, nodes=nodes, seed=seed)[1]

    few = [m for m in TEST_COUNTS if m <= MOST_DRAWN]
    forms = {
        "no test": (none, TEST_COUNTS),
        "one test": (single_test_errors, TEST_COUNTS),
        "many tests, Chernoff bound": (chernoff_errors, TEST_COUNTS),
        "many tests, exact": (multiple_test_errors, TEST_COUNTS),
        "many tests, drawn": (drawn, few),
    }
    return tuple(
        _line(label, [(m, sum(errors(*numbers, m))) for m in counts]) for label, (errors, counts) in forms.items()
    )


def grid() -> list[tuple[float, float, float]]:
    """Return the p, q and alpha that the claims are checked on.

    >>> len(grid())
    24
    """
    return [
        (p, q, alpha)
        for p, q, alpha in product(  # p, q, alpha and gamma at which the claims about the model are checked
            GRID_P, GRID_Q, GRID_ALPHA
        )
        if q < p
    ]


def bound_suffices(p: float, q: float, alpha: float, gamma: float) -> bool:
    """Return whether the number of tests of Theorem 1, cut at its threshold, makes both errors gamma times fewer.

    >>> bound_suffices(0.8, 0.2, 0.8, gamma=2)
    True
    """
    m = min_tests(p, q, alpha, gamma)
    rates = exact_error_rates(p, q, alpha, m, threshold(p, q, alpha, m, gamma))
    return rates.noisy <= q / gamma and rates.missing <= (1 - p) / gamma


def bound_claim() -> Claim:
    """Check the bound of Theorem 1 on the grid by exact tails.

    >>> bound_claim().verdict
    'holds'
    """
    cases = [(*numbers, gamma) for numbers, gamma in product(grid(), GRID_GAMMA)]
    enough = sum(bound_suffices(*case) for case in cases)
    ratios = [min_tests(*n, GAMMA) / min_tests(*n, GAMMA, exact=True) for n in grid()]
    return Claim(
        claim="With as many tests as the lower bound asks for, both kinds of error edges are γ times fewer",
        where="Theorem 1, equation 2",
        data=MODEL,
        verdict=_all_or_not(enough, len(cases)),
        figures=f"By exact tails at the proof's threshold: in {enough} of {len(cases)} settings of p, q, α and γ. The "
        f"bound asks for {min(ratios):.0f} to {max(ratios):.0f} times as many tests as exact counting (median "
        f"{np.median(ratios):.0f}, γ = {GAMMA:g}). The theorem prints 'equals', its proof shows 'at most'.",
    )


def fairest_cut(p: float, q: float, alpha: float, m: int) -> tuple[float, float]:
    """Return the cut of m tests that makes both kinds of error edges rarer than one test does, and how much rarer.

    The second is the larger of the two ratios, many tests to one, by exact tails: below 1 both kinds are fewer.

    >>> cut, ratio = fairest_cut(0.8, 0.2, 0.8, m=11)
    >>> round(cut, 2), ratio <= 1 / 2
    (0.36, True)
    """
    ratios = []
    for passed in range(m + 2):
        rates = exact_error_rates(p, q, alpha, m, passed / m)
        ratios.append(max(rates.noisy / q, rates.missing / (1 - p)))
    best = int(np.argmin(ratios))
    return best / m, ratios[best]


def fewer_errors_claim(nodes: int, seed: int = 0) -> Claim:
    """Check on the grid, with random tests of `nodes` nodes, that enough tests make fewer error edges than one.

    >>> fewer_errors_claim(nodes=50).verdict
    'holds'
    """
    enough, two = 0, 0
    for numbers in grid():
        m = min_tests(*numbers, GAMMA, exact=True)
        one, many = simulate(*numbers, m, fairest_cut(*numbers, m)[0], nodes, seed)
        enough += sum(many) < sum(one)
        two += fairest_cut(*numbers, 2)[1] < 1
    return Claim(
        claim=FEWER,
        where="Theorem 1",
        data=MODEL,
        verdict=_all_or_not(enough, len(grid())),
        figures=f"Drawn with {nodes} nodes a setting, cut so that both kinds become rarer: with as many tests as exact "
        f"counting asks for in {enough} of {len(grid())} settings of p, q and α. With two tests there is such a cut "
        f"in {two}.",
    )


def _all_or_not(count: int, of: int) -> Verdict:
    return "holds" if count == of else "does not hold"


def _regimes_chart(nodes: int, seed: int) -> Chart:
    panels = tuple(_error_panel(setting, nodes, seed) for setting in MODEL_SETTINGS)
    text = (
        "Where the line of many tests passes below that of one and leaves that without a test, they have begun to pay. "
        "The more strangers among the candidates and the weaker the tests, the later; Chernoff sees it much later than "
        "it happens."
    )
    return Chart(name="theorem-errors", title="Error edges over the number of tests", text=text, panels=panels)


def _error_panel(setting: ModelSetting, nodes: int, seed: int) -> Lines:
    lines = error_lines(setting, nodes, seed)
    return Lines(
        title=setting.title, xlabel="tests m", ylabel="error edges of a node", lines=lines, log_x=True, log_y=True
    )


def _needed_chart() -> Chart:
    panels = []
    for setting in MODEL_SETTINGS:
        lines = tuple(
            _line(label, [(alpha, min_tests(setting.p, setting.q, alpha, GAMMA, exact=exact)) for alpha in ALPHAS])
            for label, exact in (("Theorem 1", False), ("exact", True))
        )
        title = f"p = {setting.p:.2f}, q = {setting.q:.2f}"
        panels.append(Lines(title=title, xlabel="α", ylabel="tests needed", lines=lines, log_y=True))
    text = (
        "Tests that halve both kinds of error edges, over the share α of the candidates that are of the node's class. "
        "The exact line has steps: tests are whole."
    )
    return Chart(name="theorem-tests", title="How many tests are needed", text=text, panels=tuple(panels))


def _line(label: str, points: Sequence[tuple[float, float]]) -> Line:
    shown = [(x, y) for x, y in points if y >= TOO_FEW]
    return Line(label=label, x=tuple(float(x) for x, _ in shown), y=tuple(float(y) for _, y in shown))


# ---- the sets


def estimates(data: Data, ks: Sequence[int]) -> list[Estimated]:
    """Return the estimates on the graph of the test part at each k at which it has both true and noisy edges.

    >>> import kinfolk as kf
    >>> [found.k for found in estimates(Data.of(kf.datasets.digits()), [1, 10, 5000])]
    [1, 10]
    """
    labels = labels_of(data.test)
    ks = [k for k in ks if k < len(data.test)]
    g = knn_graph(data.test, max(ks, default=1), show_progress=False)
    return [found for k in ks if (found := _estimated(g.restrict(k), labels)) is not None]


def _estimated(g: NeighborGraph, labels: NDArray[np.int64]) -> Estimated | None:
    noise = edge_noise_rate(g, labels)
    if not 0 < noise < 1:
        return None
    numbers = estimate(g, labels)
    binary = sim_m(g, tests="binary", threshold=numbers.threshold, candidates="neighbors", normalize="common")
    curves = [roc(g, scores, labels) for scores in (binary, sim_m(g))]
    return Estimated(g.k, noise, numbers, *(float(np.interp(numbers.p, curve.tpr, curve.fpr)) for curve in curves))


def _chosen(rows: Sequence[Estimated]) -> Estimated | None:
    """Return the estimate at the largest k at which the theorem applies: most tests, most noise."""
    return max((row for row in rows if row.drawable), key=lambda row: row.k, default=None)


def _sets_charts(found: Mapping[str, Sequence[Estimated]], nodes: int, seed: int) -> list[Chart]:
    """Return the error edges with each set's own numbers; none where the theorem applies to none of them."""
    chosen = {name: _chosen(rows) for name, rows in found.items()}
    panels = tuple(
        _error_panel(ModelSetting(f"{name}, k = {row.k}", row.numbers.p, row.numbers.q, row.numbers.alpha), nodes, seed)
        for name, row in chosen.items()
        if row is not None
    )
    without = "".join(f" {name}: the theorem applies at no k." for name, row in chosen.items() if row is None)
    text = f"With p, q and α of the set's graph, at the largest k of the table at which α > 1/2.{without}"
    title = "Error edges over the number of tests, as the sets have them"
    return [Chart(name="theorem-sets", title=title, text=text, panels=panels)] if panels else []


def _alpha_charts(found: Mapping[str, Sequence[Estimated]]) -> list[Chart]:
    """Return α over k, beside the 1/2 that is needed; none where no set has both true and noisy edges."""
    ks = sorted(row.k for rows in found.values() for row in rows)
    if not ks:
        return []
    lines = [_line(name, [(row.k, row.numbers.alpha) for row in rows]) for name, rows in found.items() if rows]
    lines.append(Line(label="1/2, what the theorem needs", x=(ks[0], ks[-1]), y=(0.5, 0.5)))
    panel = Lines(title="α over k", xlabel="neighbours k", ylabel="α", lines=tuple(lines), log_x=True)
    text = (
        "The share of the common candidates of two neighbours that are of the first one's class. Where k is larger "
        "than a class, most common candidates are strangers, and the condition of the theorem fails."
    )
    return [Chart(name="theorem-alpha", title="The condition α > 1/2", text=text, panels=(panel,))]


def _measured_claims(name: str, rows: Sequence[Estimated]) -> list[Claim]:
    """Return whether many tests keep fewer noisy edges than one, with tests as in the theorem, and as Sim-M is used."""
    applicable = [row for row in rows if row.drawable]
    if not applicable:
        return []
    claims = []
    for form, many in (
        ("tests that pass or fail", [row.binary_q for row in applicable]),
        ("real similarities", [row.real_q for row in applicable]),
    ):
        figures = "; ".join(
            f"k = {row.k}: {row.numbers.q:.1%} with one test, {kept:.1%} with {row.numbers.m:.1f} of them"
            f"{'' if row.enough else f' (too few: {row.numbers.needed_exact} halve both kinds in the model)'}"
            for row, kept in zip(applicable, many, strict=True)
        )
        errors = [(row.numbers.q, kept, row.enough) for row, kept in zip(applicable, many, strict=True)]
        claims.append(
            Claim(
                claim=f"{FEWER} ({form})",
                where="Theorem 1",
                data=name,
                verdict=verdict_of_fewer(errors),
                figures=f"Noisy edges kept where as many true edges are. {figures}.",
            )
        )
    return claims


def verdict_of_fewer(errors: Sequence[tuple[float, float, bool]]) -> Verdict:
    """Return whether many tests made fewer errors than one wherever there were enough: [(one, many, enough), ...].

    Where there were nowhere enough, fewer errors still confirm the claim, and more errors leave it undecided.

    >>> verdict_of_fewer([(0.2, 0.1, True), (0.3, 0.35, False)]), verdict_of_fewer([(0.3, 0.35, False)])
    ('holds', 'undecided')
    """
    judged = [many < one for one, many, enough in errors if enough]
    if judged:
        return _all_or_not(sum(judged), len(judged))
    return "holds" if all(many < one for one, many, _ in errors) else "undecided"


def _condition_claims(name: str, rows: Sequence[Estimated]) -> list[Claim]:
    if not rows:
        return []
    fails = [row.k for row in rows if row.numbers.alpha <= 0.5]
    figures = ", ".join(f"{row.numbers.alpha:.2f} at k = {row.k}" for row in rows)
    return [
        Claim(
            claim="The condition α > 1/2 fails at large k",
            where="Section 2.2, the assumption of Theorem 1",
            data=name,
            verdict="holds" if fails else "does not hold",
            figures=f"α: {figures}."
            + (f" It fails from k = {min(fails)} on." if fails else " It holds at every k that was tried."),
        )
    ]


def _tables(name: str, rows: Sequence[Estimated]) -> list[Table]:
    """Return what was read off the graphs, and what the tests make of them."""
    made = f"Test part, by commit {commit()}."
    numbers = ("k", "edge noise", "m", "p", "q", "α", "tests, Theorem 1", "exact")
    kept = ("noisy edges kept, %, one test", "many, pass or fail", "many, real")
    errors = ("k", "error edges, no test", "one test", "many, predicted", "many, measured", *kept)
    return [
        Table(data=name, head=numbers, rows=tuple(_numbers(row) for row in rows), made=made),
        Table(data=name, head=errors, rows=tuple(_errors(row) for row in rows), made=made),
    ]


def _numbers(row: Estimated) -> TableRow:
    numbers = row.numbers
    shares = [f"{share:.3f}" for share in (numbers.p, numbers.q, numbers.alpha)]
    tests = ["–" if needed is None else f"{needed:,}" for needed in (numbers.needed, numbers.needed_exact)]
    return (str(row.k), f"{row.noise:.3f}", f"{numbers.m:.1f}", *shares, *tests)


def _errors(row: Estimated) -> TableRow:
    numbers = row.numbers
    edges = [row.k * row.noise, sum(numbers.one_test)]
    errors = ["–" if found is None else f"{sum(found):.2f}" for found in (numbers.predicted, numbers.measured)]
    kept = [f"{100 * share:.1f}" for share in (numbers.q, row.binary_q, row.real_q)]
    return (str(row.k), *(f"{e:.2f}" for e in edges), *errors, *kept)
