"""Tables 1 and 5 of the paper: edge noise, and the AUC of one test and of many, over k."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from kinfolk.experiments.claims import ClaimSource, SeededScore, SetScores, best_of, deviations, higher, sets_of
from kinfolk.experiments.feature_methods import ORIGINAL, FeatureCache
from kinfolk.experiments.generated_sets import CELEBRITIES, GENERATED_SETS, PERSONS, VEHICLES, Size
from kinfolk.experiments.paper import paper_table
from kinfolk.experiments.results import Chart, Claim, Line, Lines, Table
from kinfolk.experiments.resume import Data, labels_of
from kinfolk.experiments.task_cells import ScoredCell, ScoredCells, Study, TaskCell
from kinfolk.metrics import edge_noise_rate, graph_scores, pair_auc, resampled
from kinfolk.similarity import sim_m, sim_s

EDGE_DRAWS = 200  # resamples of the identities for the interval of the gain
# shown beside a set that is not generated
PAPER_SET_BESIDE = {"table1": "ms-celeb", "table5": "msmt17"}


@dataclass(frozen=True)
class EdgeScoring:
    """The task of these tables: score the edges of the graph of k neighbours by one test and by many."""

    k: int

    def row(self, features: str) -> str:
        """Return the name of the row."""
        return f"k={self.k}"

    def facts(self, data: Data) -> Mapping[str, Any]:
        """Return the settings that the scores depend on."""
        return dict(edges=self.k, draws=EDGE_DRAWS)


def edge_cells(table: str, names: Sequence[str], seeds: Sequence[int], size: Size | None) -> list[TaskCell]:
    """Return a cell for every k of the paper; given sets have nothing random, and one seed.

    >>> [cell.row for cell in edge_cells("table5", ["mine"], [0, 1], None)]
    ['k=40', 'k=20', 'k=10', 'k=5']
    """
    return [
        TaskCell(name, ORIGINAL, EdgeScoring(k), seed)
        for name in names
        for seed in (seeds[:1] if size is None else seeds)
        for k in sorted(
            _paper_rows(table, _paper_set(table, name)), reverse=True
        )  # one search: smaller k are cut from it
    ]


def measure_edges(feature_cache: FeatureCache, cell: TaskCell, data: Data, key: str) -> ScoredCell:
    """Score all edges of the test part, exactly."""
    assert isinstance(cell.task, EdgeScoring)
    labels = labels_of(data.test)
    start = time.perf_counter()
    graph = feature_cache.graph(data, min(cell.task.k, len(data.test) - 1))
    scores, draws = {"enr": edge_noise_rate(graph, labels)}, {}
    if 0 < scores["enr"] < 1:  # else all edges are true or all are noisy, and there is no AUC
        one, many = sim_s(graph), sim_m(graph)
        scores |= dict(auc_s=100 * pair_auc(graph, one, labels), auc_m=100 * pair_auc(graph, many, labels))
        scores["gain"] = scores["auc_m"] - scores["auc_s"]
        drawn = [resampled(graph_scores(graph, labels, sim), EDGE_DRAWS)["auc"] for sim in (one, many)]
        draws["gain"] = (100 * (drawn[1] - drawn[0])).round(3).tolist()
    seconds = round(time.perf_counter() - start, 2)
    return ScoredCell.of(
        cell, key, scores=scores, chosen={}, trained=False, seconds=seconds, fit_seconds=0.0, draws=draws
    )


def edge_tables(table: str, found: ScoredCells) -> list[Table]:
    """Return a row for each k, beside the paper's."""
    columns = ("ENR", "AUC one test", "AUC many tests", "gain")
    head = ("k", *columns, *(f"{column}, the paper" for column in columns))
    tables = []
    for here in sets_of(found):
        rows = []
        for k, paper in _paper_rows(table, _paper_set(table, here.data)).items():
            at = {score: here.score_of_row(f"k={k}", score) for score in ("enr", "auc_s", "auc_m", "gain")}
            noise = "–" if at["enr"] is None else f"{at['enr'].mean:.3f}"
            scored = [(name, at[name]) for name in ("auc_s", "auc_m", "gain")]
            shown = ["–" if e is None else e.text(sign=name == "gain", digits=2) for name, e in scored]
            difference = float(paper["auc_m"]) - float(paper["auc_s"])
            rows.append((str(k), noise, *shown, paper["enr"], paper["auc_s"], paper["auc_m"], f"{difference:+.2f}"))
        tables.append(Table(data=here.data, head=head, rows=tuple(rows)))
    return tables


def edge_charts(table: str, found: ScoredCells) -> list[Chart]:
    """Return the gain of many tests over one, over k, beside the paper's."""
    panels = []
    for here in sets_of(found):
        paper = _paper_rows(table, _paper_set(table, here.data))
        gains = {k: e for k in paper if (e := here.score_of_row(f"k={k}", "gain")) is not None}
        ours = Line(
            label="measured",
            x=tuple(map(float, gains)),
            y=tuple(e.mean for e in gains.values()),
            spread=deviations(list(gains.values())),
        )
        printed = [float(row["auc_m"]) - float(row["auc_s"]) for row in paper.values()]
        theirs = Line(
            label=f"the paper, {_paper_set(table, here.data)}", x=tuple(map(float, paper)), y=tuple(printed), paper=True
        )
        panels.append(
            Lines(
                title=here.data,
                xlabel="neighbours k",
                ylabel="AUC many tests − one test",
                lines=(ours, theirs),
                log_x=True,
            )
        )
    text = "Above zero many tests separate true edges from noisy ones better than one test."
    return [Chart(name=table, title="What many tests gain", text=text, panels=tuple(panels))] if panels else []


def edge_claims(table: str, found: ScoredCells) -> list[Claim]:
    """Return the paper's claims: the gain of many tests grows with k, and falls where there is too much noise."""
    where = "Section 3.2, Table 1" if table == "table1" else "Appendix A.2, Table 5"
    claims: list[Claim] = []
    for here in sets_of(found):
        source = ClaimSource(where, "gain of AUC", here.data)
        gains = _gains(here)
        if len(gains) < 3:
            continue
        among = len(gains) - 1
        peak, later, earlier = best_of(gains), best_of(gains[1:]), best_of(gains[:-1])
        claims += higher("Many tests are better than one, at the best k", source, peak, peak - peak, len(gains))
        claims += higher("The gain of many tests grows with k at first", source, later, gains[0], among)
        claims += higher("The gain falls again where k brings too much noise", source, earlier, gains[-1], among)
    return claims


def _gains(here: SetScores) -> list[SeededScore]:
    tasks = {cell.task.k for cell, _ in here.found if isinstance(cell.task, EdgeScoring)}
    found = [here.score_of_row(f"k={k}", "gain") for k in sorted(tasks)]
    return [gain for gain in found if gain is not None]


def _paper_set(table: str, data: str) -> str:
    return GENERATED_SETS[data].paper_data if data in GENERATED_SETS else PAPER_SET_BESIDE[table]


def _paper_rows(table: str, paper_data: str) -> dict[int, dict[str, str]]:
    return {int(row["k"]): row for row in paper_table(table) if row["data"] == paper_data}


def calibrated(name: str, seed: int, size: Size) -> Data:
    """Return a generated set at the size it was calibrated for, with all its identities; a small one if quick.

    >>> len(calibrated(PERSONS, 0, "quick").test)
    1216
    """
    generated = GENERATED_SETS[name]
    fs = generated.generate(generated.identities["quick" if size == "quick" else "full"], seed)
    return Data(fs, fs)


def _study(table: str, title: str, generated: Sequence[str]) -> Study:
    return Study(
        title,
        "How many edges of the neighbour graph are noisy, and how well one test (the cosine, Sim-S) and many (Sim-M) "
        "separate them from true ones.",
        generated,
        partial(edge_cells, table),
        measure_edges,
        partial(edge_tables, table),
        partial(edge_charts, table),
        partial(edge_claims, table),
        make=lru_cache(maxsize=2)(calibrated),
        learns=False,
    )


STUDIES = {
    "table1": _study("table1", "Table 1: one test against many", (CELEBRITIES,)),
    "table5": _study("table5", "Table 5: one test against many on persons and vehicles", (PERSONS, VEHICLES)),
}
