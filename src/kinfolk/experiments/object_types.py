"""Table 2 and Figure 4 of the paper: feature quality of every form on three types of objects, and their ROC curves."""

from __future__ import annotations

from functools import partial

from kinfolk.experiments.claims import Place, best, higher, sets_of
from kinfolk.experiments.feature_methods import (
    BAND,
    FORMS,
    GCN,
    GCN_BAND,
    GCN_SELF,
    LABEL_FREE,
    ORIGINAL,
    PAPER_FORMS,
    TRANSFORMER,
    TRANSFORMER_BAND,
)
from kinfolk.experiments.feature_quality import measure_quality, quality_cells, roc_chart, roc_tables
from kinfolk.experiments.generated_sets import STANDS, paper_sets
from kinfolk.experiments.results import Claim, Table
from kinfolk.experiments.task_cells import Found, Study, beside_the_paper

PAPER_SETS = {"ms-celeb": "MS-Celeb", "msmt17": "MSMT17", "veri-776": "VeRi-776"}
LABELS = {form.name: form.name for form in FORMS}


def object_tables(found: Found) -> list[Table]:
    """Return mAP of every form, beside the paper's on the set it stands for, or on all three."""
    groups = [[form.name for form in (ORIGINAL, *PAPER_FORMS)], [form.name for form in (LABEL_FREE, BAND)]]
    tables = []
    for here in sets_of(found):
        columns = {name: PAPER_SETS[name] for name in paper_sets(here.data)}
        tables += beside_the_paper("table2", groups, here.found, {"map": "mAP"}, columns)
    return tables


def object_claims(score: str, unit: str, where: str, found: Found) -> list[Claim]:
    """Return what the paper says about Table 2 (mAP) or Figure 4 (AUC)."""
    claims: list[Claim] = []
    for here in sets_of(found):
        place = Place(where, unit, here.data)
        at = {form.name: here.of_row(form.name, score) for form in (ORIGINAL, *PAPER_FORMS)}
        others = {name: e for name, e in at.items() if name != GCN_BAND}
        claims += best("GCN with band is best", place, at[GCN_BAND], others)
        claims += higher("Self attention is better than GCN", place, at[GCN_SELF], at[GCN])
        claims += higher("Band is better than self, base GCN", place, at[GCN_BAND], at[GCN_SELF])
        claims += higher("Band is better than self, base Transformer", place, at[TRANSFORMER_BAND], at[TRANSFORMER])
        for form in PAPER_FORMS:
            claims += higher(f"{form.name} is better than the given features", place, at[form.name], at[ORIGINAL.name])
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
        partial(roc_tables, LABELS),
        partial(roc_chart, "figure4", "ROC curves", LABELS),
        partial(object_claims, "auc", "AUC", "Section 3.3, Figure 4"),
    ),
}
