"""Data: how fast sets are generated, written, opened, and in how much memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kinfolk as kf
from benchmarks.measure import measure
from benchmarks.page import Section

MS_CELEB_PART1, MS_CELEB_PART9 = 8_573, 76_640  # identities: about 584K and 5.21M rows


def generate(path: str, identities: int) -> Callable[[], Any]:
    return lambda: len(kf.datasets.write(kf.datasets.REGIMES["celeb_like"], path, identities))


def open_folder(path: str) -> Callable[[], Any]:
    import kinfolk.formats  # noqa: F401

    return lambda: kf.load(path).features.shape


def large_sets(folder: str) -> Section:
    rows = []
    for identities in (MS_CELEB_PART1, MS_CELEB_PART9):
        path = str(Path(folder) / f"{identities}.kf")
        made = measure(generate, path, identities)
        what, speed = f"generate and write {made.result:,} × 256", f"{made.result / made.seconds:,.0f} rows/s"
        rows.append([what, f"{made.seconds:.1f} s", f"{made.gib:.2f} GiB", speed])
        opened = measure(open_folder, path)
        what = f"open {opened.result[0]:,} × 256 with labels"
        rows.append([what, f"{opened.seconds:.2f} s", f"{opened.gib:.2f} GiB", ""])
    raw = Path(folder) / "part9_test.bin"
    labels = np.repeat(np.arange(MS_CELEB_PART9), 68)
    with raw.open("wb") as file:
        file.truncate(len(labels) * 256 * 4)
    raw.with_suffix(".meta").write_text("\n".join(map(str, labels)) + "\n")
    opened = measure(open_folder, str(raw))
    what = f"open .bin + .meta, {len(labels):,} × 256"
    rows.append([what, f"{opened.seconds:.2f} s", f"{opened.gib:.2f} GiB", ""])
    return Section(
        "Generating and opening large sets",
        "`kinfolk generate celeb_like set.kf --identities N` streams rows to disk; opening maps them. Memory is what "
        "was held beyond the imports.",
        ["what", "time", "peak memory", "speed"],
        rows,
    )
