"""The loss of probes is that of their vectors, each in its own sub-graph."""

import numpy as np
import torch

from kinfolk.nn import hinge_loss
from kinfolk.training.probe_loss import loss_of_probes


def test_the_loss_is_that_of_the_encoded_sub_graphs(data, encoder):
    X, y, g = data
    model, probes = encoder("random"), np.array([3, 50, 7, 51])
    found = loss_of_probes(model, X, y, g, hinge_loss)(probes)
    nodes = np.column_stack([probes, g.indices[probes, :8]])
    expected = hinge_loss(model(torch.from_numpy(X[nodes])), torch.from_numpy(y[probes]))
    torch.testing.assert_close(found, expected)
    found.backward()
    assert all(weight.grad is not None for weight in model.parameters())
