"""The numbers printed in the paper, as data."""

from __future__ import annotations

import csv
from importlib.resources import files


def paper_table(name: str) -> list[dict[str, str]]:
    """Return the rows of one of the paper's tables as they are printed there.

    >>> paper_table("table1")[0]
    {'data': 'ms-celeb', 'k': '5', 'enr': '0.05', 'auc_s': '96.80', 'auc_m': '97.59'}
    """
    text = files(__name__).joinpath(f"{name}.csv").read_text()
    return list(csv.DictReader(text.splitlines()))
