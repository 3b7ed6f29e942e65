"""The part of the demo's report that shows one test against many."""

import pytest

import kinfolk as kf
from kinfolk.experiments.edge_study import edge_study
from kinfolk.report.edge_study import edge_card, edge_sections


@pytest.fixture(scope="module")
def study():
    return edge_study("persons", "generated data", kf.datasets.person_like(12, dim=16), [5, 10], k=10)


def test_the_card_has_both_shares(study):
    one, many = study.one_test.noise_let_through, study.many_tests.noise_let_through
    assert edge_card(study).value == f"{one:.1%} → {many:.1%}"


def test_the_table_has_a_row_for_each_k_and_the_better_auc_in_bold(study):
    table, histograms, curves = edge_sections([study])
    assert [row[0] for row in table.rows] == ["5", "10"]
    for number, (row, noise) in enumerate(zip(table.rows, study.over_k, strict=True)):
        assert row[2:] == (f"{noise.auc_s:.2f}", f"{noise.auc_m:.2f}", f"{noise.auc_m - noise.auc_s:+.2f}")
        assert ((number, 3) in table.best) == (noise.auc_m > noise.auc_s)
    assert study.sentence in table.text and table.text.startswith("Generated data; ")
    assert histograms.svg.startswith("<svg") and curves.svg.startswith("<svg")
