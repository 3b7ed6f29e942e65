"""A session hands its seed, checkpoints and log to every stage."""

import torch
from torch import nn

from kinfolk.training import Checkpoints, TrainingLog, step_generator
from kinfolk.training.session import Session


def test_a_stage_gets_the_checkpoints_and_the_log_of_the_session(tmp_path):
    session = Session(seed=4, checkpoints=Checkpoints(tmp_path, fingerprint="x"), log=TrainingLog())
    net = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    result = session.run(
        "line", 3, net, optimizer, lambda _: net(torch.ones(1, 1)).square().sum(), schedule=lambda _: 0.5
    )
    assert [row["lr"] for row in result.history] == [0.05] * 3
    assert [row["stage"] for row in session.log.rows] == ["line"] * 3
    assert session.checkpoints.load("line").finished
    assert session.rng("line", 2).integers(1000) == step_generator(4, "line", 2).integers(1000)
