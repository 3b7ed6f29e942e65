"""The generator against its equation, computed slowly, and the distributions it draws from."""

from dataclasses import replace

import numpy as np
import pytest

from kinfolk.datasets import REGIMES
from kinfolk.datasets.generator import (
    _FAMILY,
    _GLOBAL,
    _generator,
    _plan,
    generate_block,
    generate_blocks,
    item_counts,
)

DIM = 16


def slow_rows(regime, number, seed, dim):
    """Compute the rows of one identity item by item, as the equation has them."""
    plan = _plan(regime, seed, number)
    of_all = _generator(seed, _GLOBAL, 0)
    of_family = _generator(seed, _FAMILY, number // regime.family_size)

    def gaussian(rng, count):
        return rng.standard_normal((count, dim), dtype=np.float32) / np.sqrt(dim)

    G = gaussian(of_all, regime.views)
    F, H = gaussian(of_family, 1)[0], gaussian(of_family, regime.views)
    identity, J = gaussian(plan.rng, 1)[0], gaussian(plan.rng, regime.views)
    e = gaussian(plan.rng, len(plan.scales))
    centre = np.sqrt(regime.family_share) * F + np.sqrt(1 - regime.family_share) * identity
    own = 1 - regime.view_global - regime.view_family
    rows = []
    for s, c, noise in zip(plan.scales, plan.views, e, strict=True):
        view = np.sqrt(regime.view_global) * G[c] + np.sqrt(regime.view_family) * H[c] + np.sqrt(own) * J[c]
        x = centre + s * (np.sqrt(regime.view_share) * view + np.sqrt(1 - regime.view_share) * noise)
        rows.append(x / np.linalg.norm(x))
    return np.array(rows)


@pytest.mark.parametrize("name", REGIMES)
def test_rows_are_those_of_the_equation(name):
    regime = replace(REGIMES[name], items_mean=6.0)
    block = generate_block(regime, range(4, 9), seed=2, dim=DIM)
    for number in range(4, 9):
        np.testing.assert_allclose(block.features[block.labels == number], slow_rows(regime, number, 2, DIM), atol=1e-5)


def test_blocks_are_pieces_of_the_whole(monkeypatch):
    regime = REGIMES["person_like"]
    whole = generate_block(regime, range(9), seed=0, dim=DIM)
    monkeypatch.setattr("kinfolk.datasets.generator.IDENTITIES_PER_BLOCK", 4)
    blocks = list(generate_blocks(regime, 9, seed=0, dim=DIM))
    assert len(blocks) == 3
    for field in ("features", "labels", "cameras"):
        np.testing.assert_array_equal(np.concatenate([getattr(b, field) for b in blocks]), getattr(whole, field))


def test_the_number_of_items_is_lognormal_and_at_least_two():
    regime = replace(REGIMES["celeb_like"], items_mean=30.0, items_spread=0.5)
    counts = item_counts(regime, 600, seed=0)
    assert counts.mean() == pytest.approx(30, rel=0.05)
    assert np.log(counts).std() == pytest.approx(0.5, rel=0.1)
    assert item_counts(replace(regime, items_mean=1.0), 50, seed=0).min() == 2


def test_an_identity_is_seen_in_its_number_of_views():
    regime = replace(REGIMES["person_like"], items_mean=200.0)
    block = generate_block(regime, range(5), seed=0, dim=DIM)
    for number in range(5):
        assert len(np.unique(block.cameras[block.labels == number])) == regime.views_per_identity
