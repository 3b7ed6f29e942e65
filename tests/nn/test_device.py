"""The device that networks run on."""

import torch

from kinfolk.nn.device import best_device


def test_a_gpu_is_used_where_torch_has_one(monkeypatch):
    for available, expected in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda found=available: found)
        assert best_device().type == expected
