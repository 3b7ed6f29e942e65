"""Case studies as data for the page."""

import json

import numpy as np
import pytest

from kinfolk.report.case import case_section, strangers
from synthetic_run import case_study


def test_a_case_study_is_short_and_whole():
    study = case_study(np.random.default_rng(0), (5, 3, 1), "toy")
    facts = json.loads(case_section(study).json)
    assert [form["name"] for form in facts["forms"]] == ["self", "quartet", "band"]
    np.testing.assert_allclose(facts["forms"][0]["weights"], study.weights["self"], atol=5e-5)
    assert all(len(str(weight)) <= 7 for row in facts["similarities"] for weight in row)


def test_attention_between_strangers_equals_counting_it():
    study = case_study(np.random.default_rng(0), (5, 3, 1), "toy")
    for form, share in strangers(study).items():
        shares = []
        for i in range(9):
            paid = {j: study.weights[form][i][j] for j in range(9) if j != i}
            shares.append(sum(paid[j] for j in paid if study.labels[j] != study.labels[i]) / sum(paid.values()))
        assert share == pytest.approx(np.mean(shares))
