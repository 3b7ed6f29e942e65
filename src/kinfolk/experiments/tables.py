"""Tables 1 and 5 of the paper: edge noise and the AUC of one test and of many, on any labelled set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinfolk import datasets
from kinfolk.experiments.edge_noise import EdgeNoise, edge_noise_over_k, paper_edge_noise
from kinfolk.features import FeatureSet

# the paper's data, and the generated regime that stands in for it (identities as calibrated)
TABLES = {"table1": ("ms-celeb",), "table5": ("msmt17", "veri-776")}
STAND_INS = {"ms-celeb": ("celeb_like", 1000), "msmt17": ("person_like", 1000), "veri-776": ("vehicle_like", 200)}


@dataclass(frozen=True)
class NoiseTable:
    """One measured block of Table 1 or 5: a row for each k, measurements over seeds, and the paper's own row."""

    data: str
    paper_data: str
    ks: tuple[int, ...]
    runs: list[list[EdgeNoise]]  # one a seed
    paper: list[EdgeNoise]

    def mean(self) -> list[EdgeNoise]:
        """Return the mean over the seeds."""
        values = np.array(self.runs, dtype=float)
        return [EdgeNoise(k, *values[:, row, 1:].mean(axis=0).tolist()) for row, k in enumerate(self.ks)]

    def spread(self) -> list[EdgeNoise]:
        """Return the standard deviation over the seeds; zeros where there is one run."""
        values = np.array(self.runs, dtype=float)
        several = int(len(values) > 1)
        return [EdgeNoise(k, *values[:, row, 1:].std(axis=0, ddof=several).tolist()) for row, k in enumerate(self.ks)]


def generated_table(paper_data: str, seeds: Sequence[int]) -> NoiseTable:
    """Measure the generated stand-in of one of the paper's data sets.

    >>> table = generated_table("veri-776", seeds=[0])
    >>> [round(row.enr, 2) for row in table.paper]
    [0.01, 0.03, 0.07, 0.17]
    """
    name, identities = STAND_INS[paper_data]
    paper = paper_edge_noise(paper_data)
    ks = tuple(row.k for row in paper)
    make = getattr(datasets, name)
    runs = [edge_noise_over_k(make(identities, seed=seed), ks) for seed in seeds]
    return NoiseTable(f"{name} (generated)", paper_data, ks, runs, paper)


def given_table(name: str, fs: FeatureSet, paper_data: str) -> NoiseTable:
    """Measure a set the user has, beside one of the paper's data sets.

    >>> given_table("digits", datasets.digits(), "msmt17").ks
    (5, 10, 20, 40)
    """
    paper = paper_edge_noise(paper_data)
    ks = tuple(row.k for row in paper if row.k < len(fs))
    return NoiseTable(name, paper_data, ks, [edge_noise_over_k(fs, ks)], paper)
