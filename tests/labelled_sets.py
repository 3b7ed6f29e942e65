"""Labelled sets that several tests learn from."""

from __future__ import annotations

import numpy as np

from kinfolk.features import unit_rows


def with_shared_nuisance(identities: int, items: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Identities in 12 directions; what changes from item to item lies in 12 others, the same for everybody."""
    rng = np.random.default_rng(seed)
    labels = np.arange(identities).repeat(items)
    signal = rng.standard_normal((identities, 12))[labels] + 0.3 * rng.standard_normal((len(labels), 12))
    turn = np.linalg.qr(np.random.default_rng(99).standard_normal((24, 24)))[0]
    return unit_rows(np.hstack([signal, 1.5 * rng.standard_normal((len(labels), 12))]) @ turn), labels
