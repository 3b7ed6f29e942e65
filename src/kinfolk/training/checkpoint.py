"""Checkpoints: training that was killed continues from the last one, bit for bit.

Each stage has one file, <stage>.safetensors, replaced as a whole. Its tensors are module/<name>, best/<name> and
optimizer/<parameter>/<key>; its metadata holds the rest as JSON, and a checksum over everything.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import ConfigDict, Field
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from kinfolk._core.checks import LARGEST, check_whole
from kinfolk._core.errors import InputError
from kinfolk._core.files import CHECKPOINTS, existing_file, record, replacing
from kinfolk._core.schema import Facts, checked
from kinfolk.formats._common import reading
from kinfolk.training.log import LogRow

FORMAT = "kinfolk checkpoint 1"
TENSORS = ("module", "best", "optimizer")


class RowFacts(Facts):
    """A row of the log (`LogRow`) in a checkpoint."""

    model_config = ConfigDict(allow_inf_nan=True)

    step: Annotated[int, Field(ge=0, le=LARGEST)]
    loss: float | None
    lr: float | None
    score: float | None
    seconds: float


@dataclass
class StageState:
    """State of a stage after `step` steps: everything that the following steps depend on.

    Parameters
    ----------
    step : steps done.
    history : rows of the log so far.
    best_step, best_score : step and value of the highest validation score; None without validation.
    finished : whether the stage has ended; then `module` is its result, `best` and `optimizer` are empty.
    module : state dict of the module.
    best : state dict with the highest score so far, empty without validation.
    optimizer : tensors of the optimizer, see `optimizer_tensors`.

    Examples
    --------
    >>> StageState(step=7).finished
    False
    """

    step: int = 0
    history: list[LogRow] = field(default_factory=list)
    best_step: int | None = None
    best_score: float | None = None
    finished: bool = False
    module: dict[str, Tensor] = field(default_factory=dict)
    best: dict[str, Tensor] = field(default_factory=dict)
    optimizer: dict[str, Tensor] = field(default_factory=dict)


class StateFacts(Facts):
    """What the metadata of a checkpoint says of its stage; a loss may be infinite where the training went wrong."""

    model_config = ConfigDict(allow_inf_nan=True)

    step: Annotated[int, Field(ge=0, le=LARGEST)]
    history: list[RowFacts]
    best_step: Annotated[int, Field(ge=0, le=LARGEST)] | None
    best_score: float | None
    finished: bool


class Checkpoints:
    """The checkpoints of one fit, a file for each stage.

    Parameters
    ----------
    folder : where the files are; made when the first one is written.
    every : steps between two checkpoints.
    fingerprint : hash of the data and settings of the fit; checkpoints with another one are refused.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoints = Checkpoints(folder, fingerprint="3f0c")
    ...     checkpoints.save("encoder", StageState(step=7, module={"weight": torch.tensor([1.0, 2.0])}))
    ...     state = Checkpoints(folder, fingerprint="3f0c").load("encoder")
    >>> state.step, state.module
    (7, {'weight': tensor([1., 2.])})
    """

    def __init__(self, folder: str | os.PathLike[str], every: int = 50, *, fingerprint: str) -> None:
        """Refuse a folder with the checkpoints of another fit."""
        check_whole("every", every)
        self.folder, self.every, self.fingerprint = Path(folder), every, fingerprint
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder} is a file, a folder for checkpoints was expected")
        for file in sorted(self.folder.glob("[!.]*.safetensors")):
            self._check_metadata(file, _metadata(file))

    def load(self, stage: str) -> StageState | None:
        """Return the last saved state of a stage, or None when there is none."""
        file = self._file(stage)
        if not file.exists():
            return None
        metadata = _metadata(file)
        self._check_metadata(file, metadata)
        tensors = read_tensors(file)
        if metadata.get("checksum") != _checksum(metadata, tensors):
            raise InputError(f"{file} is damaged (its checksum is wrong): delete it to start this stage again")
        module, best, remembered = (_group(tensors, group) for group in TENSORS)
        with reading(file, "a checkpoint"):
            # not parse_json: the best score is -Infinity before the first one
            facts = checked(StateFacts, json.loads(metadata["state"]), "its state")
        return StageState(**facts.model_dump(), module=module, best=best, optimizer=remembered)

    def save(self, stage: str, state: StageState) -> None:
        """Replace the saved state of a stage; a failure keeps the previous one."""
        facts = {name: value for name, value in vars(state).items() if name not in TENSORS}
        tensors = {f"{group}/{name}": t for group in TENSORS for name, t in getattr(state, group).items()}
        metadata = {"format": FORMAT, "fingerprint": self.fingerprint, "state": json.dumps(facts)}
        metadata["checksum"] = _checksum(metadata, tensors)
        with replacing(self._file(stage), force=True) as temporary:
            write_tensors(temporary, tensors, metadata)
        record(self.folder, CHECKPOINTS, [self._file(stage).name])

    def _file(self, stage: str) -> Path:
        return self.folder / f"{stage}.safetensors"

    def _check_metadata(self, file: Path, metadata: Mapping[str, str]) -> None:
        if metadata.get("format") != FORMAT or "state" not in metadata:
            raise InputError(f"{file} is not a checkpoint of this kinfolk: choose another checkpoint_dir or delete it")
        if metadata.get("fingerprint") != self.fingerprint:
            raise InputError(
                f"{self.folder} holds checkpoints of another run (different data or settings): "
                "choose another checkpoint_dir or delete it"
            )


def optimizer_tensors(optimizer: torch.optim.Optimizer, module: nn.Module) -> dict[str, Tensor]:
    """Return the state tensors of an optimizer as <parameter>/<key>; AdamW has step, exp_avg and exp_avg_sq.

    >>> layer = nn.Linear(2, 1, bias=False)
    >>> sgd = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    >>> layer(torch.ones(1, 2)).sum().backward()
    >>> sgd.step()
    >>> optimizer_tensors(sgd, layer)
    {'weight/momentum_buffer': tensor([[1., 1.]])}
    """
    found: dict[str, Tensor] = {}
    states = optimizer.state_dict()["state"]
    for number, name in enumerate(parameter_names(optimizer, module)):
        for key, value in states.get(number, {}).items():
            if isinstance(value, Tensor):
                found[f"{name}/{key}"] = value
            elif value is not None:
                raise InputError(
                    f"checkpoints hold tensors only: {type(optimizer).__name__} has the state {key}={value!r}"
                )
    return found


def restore_optimizer(optimizer: torch.optim.Optimizer, module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Load the result of `optimizer_tensors` into an optimizer of the same kind; settings of its groups stay."""
    names = parameter_names(optimizer, module)
    state: dict[int, dict[str, Tensor]] = {}
    for path, tensor in tensors.items():
        name, _, key = path.rpartition("/")
        state.setdefault(names.index(name), {})[key] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def parameter_names(optimizer: torch.optim.Optimizer, module: nn.Module) -> list[str]:
    """Return the module's names of the optimizer's parameters, in the optimizer's order."""
    names = {parameter: name for name, parameter in module.named_parameters()}
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if not all(parameter in names for parameter in parameters):
        raise InputError("the optimizer changes a parameter that the module does not have, so no checkpoint keeps it")
    return [names[parameter] for parameter in parameters]


def write_tensors(file: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file."""
    try:
        # tied weights share memory, which the format does not support: each name gets its own copy
        own = {name: t.detach().cpu().clone(memory_format=torch.contiguous_format) for name, t in tensors.items()}
        save_file(own, file, metadata=metadata)
    except (SafetensorError, RuntimeError, ValueError) as error:
        raise InputError(f"{file.parent}: the tensors cannot be written: {error}") from error


def read_tensors(file: Path) -> dict[str, Tensor]:
    """Read all tensors of a safetensors file."""
    with reading(existing_file(file), "a safetensors file"), safe_open(file, framework="pt") as tensors:
        # cloned, because the originals are views into the mapped file
        return {name: tensors.get_tensor(name).clone() for name in tensors.keys()}  # noqa: SIM118 (not a dict)


def _metadata(file: Path) -> dict[str, str]:
    with reading(existing_file(file), "a checkpoint"), safe_open(file, framework="pt") as tensors:
        return tensors.metadata() or {}


def _group(tensors: Mapping[str, Tensor], group: str) -> dict[str, Tensor]:
    return {name.removeprefix(f"{group}/"): t for name, t in tensors.items() if name.startswith(f"{group}/")}


def _checksum(metadata: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    """Return a checksum of state, names, types, shapes and values; safetensors itself has none."""
    crc = zlib.crc32(metadata["state"].encode())
    for name in sorted(tensors):
        values = tensors[name].detach().cpu().contiguous()
        crc = zlib.crc32(f"{name} {values.dtype} {tuple(values.shape)}".encode(), crc)
        crc = zlib.crc32(values.reshape(-1).view(torch.uint8).numpy().data, crc)
    return f"{crc:08x}"
