"""Where networks are trained and applied: on a GPU where there is one."""

from __future__ import annotations

import torch


def best_device() -> torch.device:
    """Return the GPU that torch would take, else the processor.

    >>> best_device().type in ("cpu", "cuda")
    True
    """
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
