"""Results whose parts do not fit together are refused by name."""

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.experiments.results import Chart, ExperimentResult, Histogram, Line, Lines, Map
from kinfolk.report.checks import refuse_misfits
from synthetic_run import case_study


def test_a_whole_run_is_accepted(run):
    for result in run:
        refuse_misfits(result)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_case_study_with_a_value_that_is_no_number_is_refused(value):
    study = case_study(np.random.default_rng(0), (2,), "toy")
    broken = study.model_copy(update=dict(weights={"self": ((value, 1.0), (0.0, 1.0))}))
    with pytest.raises(InputError, match="self in the case study of toy has a value that is no number"):
        refuse_misfits(ExperimentResult(name="closeup", title="", about="", cases=(broken,)))


LINE = Line(label="a", x=(1.0,), y=(1.0, 2.0))
SPREAD = Line(label="a", x=(1.0,), y=(1.0,), spread=(1.0, 2.0))


@pytest.mark.parametrize(
    ("panel", "sentence"),
    [
        (Lines(title="t", xlabel="", ylabel="", lines=(LINE,)), "lengths in panel 't' of the chart c differ"),
        (Lines(title="t", xlabel="", ylabel="", lines=(SPREAD,)), "lengths in panel"),
        (Histogram(title="t", xlabel="", edges=(0, 1), counts={"a": (1, 2)}), "lengths in panel"),
        (Map(title="t", x=(1.0,), y=(1.0,), labels=(1, 2)), "lengths in panel"),
        (None, "chart c has no panels"),
    ],
)
def test_charts_that_do_not_fit_are_refused(panel, sentence):
    chart = Chart(name="c", title="", text="", panels=() if panel is None else (panel,))
    with pytest.raises(InputError, match=f"figure3 is damaged: .*{sentence}"):
        refuse_misfits(ExperimentResult(name="figure3", title="", about="", charts=(chart,)))


@pytest.mark.parametrize("field", ["nodes", "labels", "similarities"])
def test_case_studies_that_do_not_fit_are_refused(field):
    study = case_study(np.random.default_rng(0), (2, 2), "toy")
    study = study.model_copy(update={field: getattr(study, field)[:-1]})
    with pytest.raises(InputError, match=r"closeup is damaged: .*case study of toy"):
        refuse_misfits(ExperimentResult(name="closeup", title="", about="", cases=(study,)))
