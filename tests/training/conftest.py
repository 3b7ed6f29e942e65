"""A small labelled set, and encoders for it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import kinfolk as kf
from kinfolk._core.threads import thread_count
from kinfolk.features import unit_rows
from kinfolk.nn.encoder import Encoder, EncoderConfig


@pytest.fixture(autouse=True)
def threads():
    torch.set_num_threads(thread_count())  # as `fit` does: numba's first loop makes torch forget OMP_NUM_THREADS
    yield
    torch.set_num_threads(thread_count())


@pytest.fixture(scope="session")
def data() -> tuple[np.ndarray, np.ndarray, kf.NeighborGraph]:
    fs = kf.datasets.celeb_like(12, dim=24)
    X = unit_rows(fs)[::2]
    return X, fs.labels[::2], kf.knn_graph(X, k=32)


@pytest.fixture(scope="session")
def encoder():
    def make(init: str = "identity", **settings) -> Encoder:
        torch.manual_seed(0)
        return Encoder(EncoderConfig(in_dim=24, k=8, width=32, hidden=64, init=init, **settings))

    return make


@pytest.fixture(scope="session")
def state():
    def of(module: torch.nn.Module) -> dict[str, torch.Tensor]:
        return {name: values.clone() for name, values in module.state_dict().items()}

    return of
