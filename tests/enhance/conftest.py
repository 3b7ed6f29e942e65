"""A small labelled set, an enhancer that shows no bars, and training of a few steps."""

from __future__ import annotations

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.training import metric


@pytest.fixture(scope="session")
def data() -> tuple[np.ndarray, np.ndarray]:
    fs = kf.datasets.celeb_like(n_identities=12, dim=16)
    return np.array(fs.features[::5]), fs.labels[::5]


@pytest.fixture
def few_steps(monkeypatch):
    monkeypatch.setattr(metric, "STEPS", 20)
