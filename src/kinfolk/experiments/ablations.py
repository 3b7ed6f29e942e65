"""Tables 8 and 9 and Figures 6 and 7 of the paper: what band attention is made of, and how its two parts are joined."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from kinfolk.experiments.claims import ClaimSource, best, higher, sets_of
from kinfolk.experiments.feature_methods import FeatureMethod, encoder
from kinfolk.experiments.feature_quality import measure_quality, quality_cells, roc_chart, roc_tables
from kinfolk.experiments.generated_sets import CELEBRITIES, GENERATED_SETS, paper_sets
from kinfolk.experiments.paper import paper_table
from kinfolk.experiments.results import Claim, Table
from kinfolk.experiments.task_cells import ScoredCells, Study

LEARNED_WEIGHTS, IDENTITY_WEIGHTS = "learned", "identity"  # W_qart, the columns of the paper's Table 8
TOPOLOGIES = ("self", "quartet_self", "quartet", "band_self", "band")
FUSIONS = {"add": "A_qart + A_self", "mul": "A_qart ⊙ A_self", "theta": "θ A_qart + θ A_self"}


def topology(attention: str, weights: str) -> FeatureMethod:
    """Return the encoder with this attention, its W_qart learned or the identity; self has none.

    >>> topology("band", IDENTITY_WEIGHTS).settings["quartet_weights"], topology("self", IDENTITY_WEIGHTS).name
    (False, 'self')
    """
    if attention == "self" or weights == LEARNED_WEIGHTS:
        return encoder(attention, attention=attention)
    return encoder(f"{attention}, no W_qart", attention=attention, quartet_weights=False)


def fusion(name: str) -> FeatureMethod:
    """Return the band encoder whose two parts are joined in this way; theta is the default.

    >>> fusion("mul").settings
    {'model': 'subgraph', 'attention': 'band', 'fusion': 'mul'}
    """
    if name == "theta":
        return topology("band", LEARNED_WEIGHTS)
    return encoder(f"band, fusion {name}", attention="band", fusion=name)


_BY_NAME: Mapping[str, FeatureMethod] = {
    method.name: method for a in TOPOLOGIES for method in (topology(a, LEARNED_WEIGHTS), topology(a, IDENTITY_WEIGHTS))
}


def topology_tables(found: ScoredCells) -> list[Table]:
    """Return Table 8: mAP of every topology with W_qart learned and without, beside the paper's."""
    paper = {row["method"]: row for row in paper_table("table8")}
    head = ("mAP", "with W_qart", "without", "with W_qart, the paper", "without, the paper")
    tables = []
    for here in sets_of(found):
        rows = []
        for name in TOPOLOGIES:
            scores = [
                here.score_of_row(topology(name, weights).name, "map")
                for weights in (LEARNED_WEIGHTS, IDENTITY_WEIGHTS)
            ]
            shown = ["–" if e is None else e.text() for e in scores]
            rows.append((name, *shown, paper[name][LEARNED_WEIGHTS], paper[name][IDENTITY_WEIGHTS]))
        tables.append(Table(data=here.data, head=head, rows=tuple(rows)))
    return tables


def fusion_tables(found: ScoredCells) -> list[Table]:
    """Return Table 9: mAP of the three ways to join the two parts, beside the paper's."""
    paper = {row["fusion"]: row for row in paper_table("table9")}
    tables = []
    for here in sets_of(found):
        columns = paper_sets(here.data)
        rows = []
        for name, text in FUSIONS.items():
            score = here.score_of_row(fusion(name).name, "map")
            shown = "–" if score is None else score.text()
            rows.append((text, shown, *(paper[name][column] for column in columns)))
        head = ("fusion", "mAP", *(f"{column}, the paper" for column in columns))
        tables.append(Table(data=here.data, head=head, rows=tuple(rows)))
    return tables


def topology_claims(score: str, unit: str, where: str, found: ScoredCells) -> list[Claim]:
    """Return the paper's claims about Table 8 (mAP) or Figure 6 (AUC)."""
    without = {name: topology(name, IDENTITY_WEIGHTS).name for name in TOPOLOGIES}
    pairs = {
        "Quartet is better than self": ("quartet", "self"),
        "Band is better than quartet alone": ("band", "quartet"),
        "Band is better than self alone": ("band", "self"),
        "Many tests on A_X are better than on A_self (quartet)": ("quartet", "quartet_self"),
        "Many tests on A_X are better than on A_self (band)": ("band", "band_self"),
        **{f"W_qart matters ({name})": (name, without[name]) for name in TOPOLOGIES if name != "self"},
    }
    claims = _pairwise(pairs, unit, score, where, found)
    for here in sets_of(found):
        at = {name: here.score_of_row(without[name], score) for name in TOPOLOGIES}
        band = at.pop("band")
        claims += best("Band is best without W_qart too", ClaimSource(where, unit, here.data), band, at)
    return claims


def fusion_claims(score: str, unit: str, where: str, found: ScoredCells) -> list[Claim]:
    """Return the paper's claims about Table 9 (mAP) or Figure 7 (AUC)."""
    theta, add, mul = (fusion(name).name for name in ("theta", "add", "mul"))
    pairs = {"Fusion by theta is better than add": (theta, add), "Fusion by theta is better than mul": (theta, mul)}
    return _pairwise(pairs, unit, score, where, found)


def _pairwise(
    pairs: Mapping[str, tuple[str, str]], unit: str, score: str, where: str, found: ScoredCells
) -> list[Claim]:
    return [
        claim
        for here in sets_of(found)
        for text, (first, second) in pairs.items()
        for claim in higher(
            text, ClaimSource(where, unit, here.data), here.score_of_row(first, score), here.score_of_row(second, score)
        )
    ]


_TOPOLOGY_CELLS = partial(quality_cells, list(_BY_NAME.values()))
_FUSION_CELLS = partial(quality_cells, [fusion(name) for name in FUSIONS])
_TOPOLOGY_LABELS = {name: name for name in _BY_NAME}
_FUSION_LABELS = {fusion(name).name: text for name, text in FUSIONS.items()}
STUDIES = {
    "table8": Study(
        "Table 8: what band attention is made of",
        "Encoders that differ in their attention alone, with W_qart learned and with the identity in its place.",
        (CELEBRITIES,),
        _TOPOLOGY_CELLS,
        measure_quality,
        topology_tables,
        claims=partial(topology_claims, "map", "mAP", "Appendix A.4.1, Table 8"),
    ),
    "figure6": Study(
        "Figure 6: ROC curves of what band attention is made of",
        "The features of Table 8: does their cosine separate neighbours of one class from others?",
        (CELEBRITIES,),
        _TOPOLOGY_CELLS,
        measure_quality,
        partial(roc_tables, _TOPOLOGY_LABELS),
        partial(roc_chart, "figure6", "ROC curves of the topologies", _TOPOLOGY_LABELS),
        partial(topology_claims, "auc", "AUC", "Appendix A.4.1, Figure 6"),
    ),
    "table9": Study(
        "Table 9: how self and quartet attention are joined",
        "Band encoders that differ in how the two attentions are put together.",
        tuple(GENERATED_SETS),
        _FUSION_CELLS,
        measure_quality,
        fusion_tables,
        claims=partial(fusion_claims, "map", "mAP", "Appendix A.4.2, Table 9"),
    ),
    "figure7": Study(
        "Figure 7: ROC curves of the ways to join",
        "The features of Table 9: does their cosine separate neighbours of one class from others?",
        (CELEBRITIES,),
        _FUSION_CELLS,
        measure_quality,
        partial(roc_tables, _FUSION_LABELS),
        partial(roc_chart, "figure7", "ROC curves of the ways to join", _FUSION_LABELS),
        partial(fusion_claims, "auc", "AUC", "Appendix A.4.2, Figure 7"),
    ),
}
