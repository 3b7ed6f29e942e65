"""Table 2 and Figure 4 of the paper: feature quality of every form on three types of objects, and their ROC curves."""

from __future__ import annotations

from functools import partial

from kinfolk.experiments.claims import ClaimSource, best, higher, sets_of
from kinfolk.experiments.feature_methods import (
    BAND,
    FEATURE_METHODS,
    GCN,
    GCN_BAND,
    GCN_SELF,
    LABEL_FREE,
    ORIGINAL,
    PAPER_METHODS,
    PAPER_ROWS,
    TRANSFORMER,
    TRANSFORMER_BAND,
)
from kinfolk.experiments.feature_quality import measure_quality, quality_cells, roc_chart, roc_tables
from kinfolk.experiments.generated_sets import GENERATED_SETS, paper_sets
from kinfolk.experiments.results import Claim, Table
from kinfolk.experiments.task_cells import ScoredCells, Study, beside_the_paper

PAPER_SET_TITLES = {"ms-celeb": "MS-Celeb", "msmt17": "MSMT17", "veri-776": "VeRi-776"}
LABELS = {form.name: form.name for form in FEATURE_METHODS}


def object_tables(found: ScoredCells) -> list[Table]:
    """Return mAP of every form, beside the paper's on the set that it replaces, or on all three."""
    groups = [[form.name for form in PAPER_ROWS], [form.name for form in (LABEL_FREE, BAND)]]
    tables = []
    for here in sets_of(found):
        columns = {name: PAPER_SET_TITLES[name] for name in paper_sets(here.data)}
        tables += beside_the_paper("table2", groups, here.found, {"map": "mAP"}, columns)
    return tables


def object_claims(score: str, unit: str, where: str, found: ScoredCells) -> list[Claim]:
    """Return the paper's claims about Table 2 (mAP) or Figure 4 (AUC)."""
    claims: list[Claim] = []
    for here in sets_of(found):
        source = ClaimSource(where, unit, here.data)
        at = {form.name: here.score_of_row(form.name, score) for form in PAPER_ROWS}
        others = {name: e for name, e in at.items() if name != GCN_BAND}
        claims += best("GCN with band is best", source, at[GCN_BAND], others)
        claims += higher("Self attention is better than GCN", source, at[GCN_SELF], at[GCN])
        claims += higher("Band is better than self, base GCN", source, at[GCN_BAND], at[GCN_SELF])
        claims += higher("Band is better than self, base Transformer", source, at[TRANSFORMER_BAND], at[TRANSFORMER])
        for form in PAPER_METHODS:
            claims += higher(f"{form.name} is better than the given features", source, at[form.name], at[ORIGINAL.name])
    return claims


STUDIES = {
    "table2": Study(
        "Table 2: feature quality on three types of objects",
        "Every form is trained on identities that are not tested; each item of the test part looks for its class.",
        tuple(GENERATED_SETS),
        partial(quality_cells, FEATURE_METHODS),
        measure_quality,
        object_tables,
        claims=partial(object_claims, "map", "mAP", "Section 3.3, Table 2"),
    ),
    "figure4": Study(
        "Figure 4: ROC curves on three types of objects",
        "The features of Table 2: does their cosine separate neighbours of one class from others?",
        tuple(GENERATED_SETS),
        partial(quality_cells, FEATURE_METHODS),
        measure_quality,
        partial(roc_tables, LABELS),
        partial(roc_chart, "figure4", "ROC curves", LABELS),
        partial(object_claims, "auc", "AUC", "Section 3.3, Figure 4"),
    ),
}
