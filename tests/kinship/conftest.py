"""The shipped network, and classes of one size."""

from __future__ import annotations

import numpy as np
import pytest

from kinfolk.kinship import KinshipNetwork


@pytest.fixture(scope="session")
def net() -> KinshipNetwork:
    return KinshipNetwork.shipped()


@pytest.fixture(scope="session")
def clouds():
    def make(classes: int, size: int, seed: int = 0, dim: int = 24) -> np.ndarray:
        rng = np.random.default_rng(seed)
        centres = rng.standard_normal((classes, dim)).repeat(size, axis=0)
        return (centres + 0.5 * rng.standard_normal(centres.shape)).astype(np.float32)

    return make


@pytest.fixture(scope="session")
def slow_log_probability(net):
    """Return log p of one edge, in float64 and without the kernel."""
    weights = {name: values.astype(float) for name, values in net.tensors.items()}

    def slow(tests: np.ndarray) -> float:
        x = np.clip((tests.astype(float) - weights["mean"]) / weights["spread"], -4, 4)
        for layer in ("layers.0", "layers.2"):
            x = np.maximum(0, weights[f"{layer}.weight"] @ x + weights[f"{layer}.bias"])
        return float(-np.logaddexp(0, -(weights["layers.4.weight"] @ x + weights["layers.4.bias"])[0]))

    return slow
