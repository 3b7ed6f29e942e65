"""Tables 8 and 9 and Figures 6 and 7 of the paper: what band attention is made of, and how its two parts are joined."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from kinfolk.experiments.evidence import Where, higher, sets_of
from kinfolk.experiments.feature_quality import measure_quality, named, quality_cells, roc_panel
from kinfolk.experiments.forms import Method, encoder
from kinfolk.experiments.markdown import spread
from kinfolk.experiments.outcome import Chart, Claim, Table
from kinfolk.experiments.paper import paper_table
from kinfolk.experiments.stands import CELEBRITIES, STANDS
from kinfolk.experiments.task_cells import Found, Study

LEARNED, IDENTITY = "learned", "identity"
TOPOLOGIES = ("self", "quartet_self", "quartet", "band_self", "band")
FUSIONS = {"add": "A_qart + A_self", "mul": "A_qart ⊙ A_self", "theta": "θ A_qart + θ A_self"}


def topology(attention: str, weights: str) -> Method:
    """Return the encoder with this attention, its W_qart learned or the identity; self has none.

    >>> topology("band", IDENTITY).settings["quartet_weights"], topology("self", IDENTITY).name
    (False, 'self')
    """
    if attention == "self" or weights == LEARNED:
        return encoder(attention, attention=attention)
    return encoder(f"{attention}, no W_qart", attention=attention, quartet_weights=False)


def fusion(name: str) -> Method:
    """Return the band encoder whose two parts are joined in this way; theta is the default.

    >>> fusion("mul").settings
    {'model': 'subgraph', 'attention': 'band', 'fusion': 'mul'}
    """
    if name == "theta":
        return topology("band", LEARNED)
    return encoder(f"band, fusion {name}", attention="band", fusion=name)


_BY_NAME: Mapping[str, Method] = {
    method.name: method for a in TOPOLOGIES for method in (topology(a, LEARNED), topology(a, IDENTITY))
}


def topology_tables(found: Found) -> list[Table]:
    """Return Table 8: mAP of every topology with W_qart learned and without, beside the paper's."""
    paper = {row["method"]: row for row in paper_table("table8")}
    head = ("mAP", "with W_qart", "without", "with W_qart, the paper", "without, the paper")
    tables = []
    for here in sets_of(found):
        rows = []
        for name in TOPOLOGIES:
            scores = [here.of_row(topology(name, weights).name, "map") for weights in (LEARNED, IDENTITY)]
            shown = [spread(None if e is None else e.values.tolist()) for e in scores]
            rows.append((name, *shown, paper[name][LEARNED], paper[name][IDENTITY]))
        tables.append(Table(data=here.data, head=head, rows=tuple(rows)))
    return tables


def fusion_tables(found: Found) -> list[Table]:
    """Return Table 9: mAP of the three ways to join the two parts, beside the paper's."""
    paper = {row["fusion"]: row for row in paper_table("table9")}
    tables = []
    for here in sets_of(found):
        stands_for = STANDS[here.data].paper_data if here.data in STANDS else None
        columns = [name for name in ("ms-celeb", "msmt17", "veri-776") if stands_for in (None, name)]
        rows = []
        for name, text in FUSIONS.items():
            score = here.of_row(fusion(name).name, "map")
            shown = spread(None if score is None else score.values.tolist())
            rows.append((text, shown, *(paper[name][column] for column in columns)))
        head = ("fusion", "mAP", *(f"{column}, the paper" for column in columns))
        tables.append(Table(data=here.data, head=head, rows=tuple(rows)))
    return tables


def ablation_charts(name: str, title: str, labels: Mapping[str, str], found: Found) -> list[Chart]:
    """Return the ROC curves of the methods: {name of the method: label}."""
    panels = []
    for here in sets_of(found):
        own = [(cell, row) for cell, row in found if cell.data == here.data]
        panels.append(roc_panel(here.data, own, {label: named(row) for row, label in labels.items()}))
    text = "Pairs of neighbours: at each share of strangers let through, the share of kin that are kept."
    return [Chart(name=name, title=title, text=text, panels=tuple(panels))]


def topology_claims(found: Found) -> list[Claim]:
    """Return what the paper says about Table 8."""
    place = Where("Appendix A.4.1, Table 8", "map", "mAP")
    pairs = {
        "Band is better than quartet alone": ("band", "quartet"),
        "Band is better than self alone": ("band", "self"),
        "Quartet is better than self": ("quartet", "self"),
        "Many tests on A_X are better than on A_self (quartet)": ("quartet", "quartet_self"),
        "Many tests on A_X are better than on A_self (band)": ("band", "band_self"),
        "W_qart matters (quartet)": ("quartet", topology("quartet", IDENTITY).name),
        "W_qart matters (band)": ("band", topology("band", IDENTITY).name),
    }
    return _pairwise(pairs, place, found)


def fusion_claims(found: Found) -> list[Claim]:
    """Return what the paper says about Table 9."""
    place = Where("Appendix A.4.2, Table 9", "map", "mAP")
    theta, add, mul = (fusion(name).name for name in ("theta", "add", "mul"))
    pairs = {"Fusion by theta is better than add": (theta, add), "Fusion by theta is better than mul": (theta, mul)}
    return _pairwise(pairs, place, found)


def _pairwise(pairs: Mapping[str, tuple[str, str]], place: Where, found: Found) -> list[Claim]:
    return [
        claim
        for here in sets_of(found)
        for text, (first, second) in pairs.items()
        for claim in higher(text, place, here.data, here.of_row(first, place.score), here.of_row(second, place.score))
    ]


_TOPOLOGY_CELLS = partial(quality_cells, list(_BY_NAME.values()))
_FUSION_CELLS = partial(quality_cells, [fusion(name) for name in FUSIONS])
STUDIES = {
    "table8": Study(
        "Table 8: what band attention is made of",
        "Encoders that differ in their attention alone, with W_qart learned and with the identity in its place.",
        (CELEBRITIES,),
        _TOPOLOGY_CELLS,
        measure_quality,
        topology_tables,
        claims=topology_claims,
    ),
    "figure6": Study(
        "Figure 6: ROC curves of what band attention is made of",
        "The features of Table 8, asked whether two neighbours are of one class.",
        (CELEBRITIES,),
        _TOPOLOGY_CELLS,
        measure_quality,
        charts=partial(ablation_charts, "figure6", "ROC curves of the topologies", {name: name for name in _BY_NAME}),
    ),
    "table9": Study(
        "Table 9: how self and quartet attention are joined",
        "Band encoders that differ in how the two attentions are put together.",
        tuple(STANDS),
        _FUSION_CELLS,
        measure_quality,
        fusion_tables,
        claims=fusion_claims,
    ),
    "figure7": Study(
        "Figure 7: ROC curves of the ways to join",
        "The features of Table 9, asked whether two neighbours are of one class.",
        (CELEBRITIES,),
        _FUSION_CELLS,
        measure_quality,
        charts=partial(
            ablation_charts,
            "figure7",
            "ROC curves of the ways to join",
            {fusion(name).name: text for name, text in FUSIONS.items()},
        ),
    ),
}
