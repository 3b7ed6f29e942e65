"""What the tests of the experiments share: one small set, and finished cells with numbers nobody measured."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.experiments.feature_quality import FPRS
from kinfolk.experiments.resume import Data
from kinfolk.experiments.task_cells import ScoredCell
from kinfolk.training import metric

BETTER = {"GCN": 1.0, "GCN w/ self": 2.0, "GCN w/ band": 4.0, "band": 4.0, "self": 1.0, "quartet": 3.0}


@pytest.fixture(scope="session")
def tiny():
    """About 450 persons in two parts, with cameras and queries."""
    return Data.of(kf.datasets.person_like(30, seed=0, dim=16))


@pytest.fixture(scope="module")
def few_steps():
    """Train metrics for 20 steps instead of 300: enough where a test compares two ways to the same numbers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metric, "STEPS", 20)
        yield


@pytest.fixture(scope="session")
def made_up():
    """Return a function: the cells of a study with numbers that follow the name of the row, the scale and k."""
    return made_up_cells


def made_up_cells(study, seeds=(0, 1, 2)):
    found, rng = [], np.random.default_rng(0)
    for cell in study.cells(study.generated, seeds, "usual"):
        part, k = getattr(cell.task, "part", None) or 1, getattr(cell.task, "k", None) or 10
        better = BETTER.get(cell.row, 0.0)
        value = 60 + 5 * better - part * (1 - better / 8) - k * (5 - better) / 100 + rng.normal() / 100
        gain = 3 - abs(np.log2(k / 20)) + rng.normal() / 100
        scores = dict(map=value, auc=value, enr=k / 200, r1=value, fp=value, fb=value)
        scores |= dict(gain=gain, auc_s=80.0, auc_m=80 + gain)
        made = dict(chosen=dict(rows=100 * part), trained=True, seconds=1.0, fit_seconds=1.0)
        draws = dict(map=np.linspace(-1, 1, 50).tolist(), gain=np.linspace(-0.1, 0.1, 50).tolist())
        row = ScoredCell.of(cell, str(len(found)), scores=scores, **made, draws=draws, curves=dict(tpr=FPRS.tolist()))
        found.append((cell, row))
    return found


@pytest.fixture
def fits(monkeypatch):
    """Every call of GraphEnhancer.fit, as (features, labels)."""
    calls, fit = [], kf.GraphEnhancer.fit
    monkeypatch.setattr(kf.GraphEnhancer, "fit", lambda self, X, y=None: (calls.append((X, y)), fit(self, X, y))[1])
    return calls
