"""Table 2 and Figure 4 of the paper: feature quality of every form on three types of objects, and their ROC curves."""

from __future__ import annotations

from functools import partial

from kinfolk.experiments.evidence import Where, best_of, higher, sets_of
from kinfolk.experiments.feature_quality import measure_quality, named, quality_cells, roc_panel
from kinfolk.experiments.forms import BAND, FORMS, LABEL_FREE, ORIGINAL, PAPER_FORMS
from kinfolk.experiments.outcome import Chart, Claim, Table
from kinfolk.experiments.stands import STANDS
from kinfolk.experiments.task_cells import Found, Study, beside_the_paper

PAPER_COLUMNS = {"ms-celeb": "MS-Celeb", "msmt17": "MSMT17", "veri-776": "VeRi-776"}
SCORES = {"map": "mAP", "auc": "AUC"}
GCN, TRANSFORMER, GCN_SELF, TRANSFORMER_BAND, GCN_BAND = (form.name for form in PAPER_FORMS)


def object_tables(found: Found) -> list[Table]:
    """Return mAP and AUC of every form, beside the paper's mAP on the set it stands for, or on all three."""
    tables = []
    for here in sets_of(found):
        stands_for = STANDS[here.data].paper_data if here.data in STANDS else None
        columns = {name: text for name, text in PAPER_COLUMNS.items() if stands_for in (None, name)}
        groups = [[form.name for form in (ORIGINAL, *PAPER_FORMS)], [form.name for form in (LABEL_FREE, BAND)]]
        own = [(cell, row) for cell, row in found if cell.data == here.data]
        tables += beside_the_paper("table2", groups, own, SCORES, columns)
    return tables


def object_charts(found: Found) -> list[Chart]:
    """Return the ROC curves, a panel for each set."""
    panels = []
    for here in sets_of(found):
        own = [(cell, row) for cell, row in found if cell.data == here.data]
        panels.append(roc_panel(here.data, own, {form.name: named(form.name) for form in FORMS}))
    text = (
        "Pairs that are neighbours in the graph of the features as given: at each share of strangers let through, the "
    )
    text += "share of kin that are kept. Higher is better."
    return [Chart(name="figure4", title="ROC curves", text=text, panels=tuple(panels))]


def object_claims(score: str, unit: str, where: str, found: Found) -> list[Claim]:
    """Return what the paper says about Table 2 (mAP) or Figure 4 (AUC)."""
    claims: list[Claim] = []
    place = Where(where, score, unit)
    for here in sets_of(found):
        at = {form.name: here.of_row(form.name, score) for form in (ORIGINAL, *PAPER_FORMS)}
        enhanced = [at[form.name] for form in PAPER_FORMS]
        rivals = [e for e in (at[GCN], at[TRANSFORMER], at[GCN_SELF]) if e is not None]
        if rivals:
            claims += higher("GCN with band is best", place, here.data, at[GCN_BAND], best_of(rivals))
        claims += higher("Self attention is better than GCN", place, here.data, at[GCN_SELF], at[GCN])
        measured = [e for e in enhanced if e is not None]
        if measured:
            worst = min(measured, key=lambda e: e.mean)
            claims += higher("All forms are better than the given features", place, here.data, worst, at[ORIGINAL.name])
        claims += higher("GCN is the better base for band", place, here.data, at[GCN_BAND], at[TRANSFORMER_BAND])
    return claims


STUDIES = {
    "table2": Study(
        "Table 2: feature quality on three types of objects",
        "Every form is trained on identities that are not tested; each item of the test part looks for its class.",
        tuple(STANDS),
        partial(quality_cells, FORMS),
        measure_quality,
        object_tables,
        claims=partial(object_claims, "map", "mAP", "Section 3.3, Table 2"),
    ),
    "figure4": Study(
        "Figure 4: ROC curves on three types of objects",
        "The features of Table 2, asked whether two neighbours are of one class.",
        tuple(STANDS),
        partial(quality_cells, FORMS),
        measure_quality,
        charts=object_charts,
        claims=partial(object_claims, "auc", "AUC", "Section 3.3, Figure 4"),
    ),
}
