"""What the tests of the research share: one small set, and cells with numbers nobody measured."""

import pytest
from research.attention_cells import MeasuredCell

import kinfolk as kf
from kinfolk.experiments.resume import Data


@pytest.fixture(scope="session")
def tiny():
    """About 450 persons in two parts."""
    return Data.of(kf.datasets.person_like(30, seed=0, dim=16))


@pytest.fixture(scope="session")
def made_up():
    """Return a function: cells with a score of our own; those of the raw features know how noisy the graph is."""

    def finished(cell, score):
        k = cell.k if isinstance(cell.k, int) else 12
        noise = cell.k / 200 if cell.method == "raw" and isinstance(cell.k, int) else None
        names = dict(key="", data=cell.data, method=cell.method, k=k, served_k=cell.served_k, seed=cell.seed)
        how = dict(trained=True, seconds=1.0, cpu_seconds=1.0, commit="abc", versions={})
        return MeasuredCell(**names, map=score(cell), enr=noise, **how)

    return lambda cells, score: [(cell, finished(cell, score)) for cell in cells]
