"""Everything needed to resume a training, in one file that is replaced atomically.

A checkpoint holds named modules with their optimizers (`PART.model.NAME`, `PART.optimizer.KEY.NAME`), the states of
random number generators (`generator.NAME`) and a JSON header with a format number. Files of version 0.1.0, which have
no number, are converted when they are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dvae.errors import CheckpointError
from dvae.models.migration import current
from dvae.models.storage import distinct_state, load_distinct_state
from dvae.models.tensor_file import read_noted, write_tensors

FILE = "checkpoint.safetensors"
NOTE = "state"  # where the header stands
TABLES = ("place", "state", "settings")  # of the header
FORMAT = 2  # 1, never written down, is version 0.1.0

Parts = Mapping[str, tuple[nn.Module, torch.optim.Optimizer | None]]
Generators = Mapping[str, torch.Generator]


def save(path: Path, parts: Parts, header: Mapping[str, Any], generators: Generators | None = None) -> None:
    """Writes modules with their optimizers, generators, and a header of plain values."""
    tensors: dict[str, Tensor] = {}
    for part, (module, optimizer) in parts.items():
        tensors |= {f"{part}.model.{name}": _stored(value) for name, value in distinct_state(module).items()}
        for name, parameter in module.named_parameters():
            state = {} if optimizer is None else optimizer.state.get(parameter, {})
            kept = {key: value for key, value in state.items() if isinstance(value, Tensor)}
            tensors |= {f"{part}.optimizer.{key}.{name}": _stored(value) for key, value in kept.items()}
    tensors |= {f"generator.{name}": generator.get_state() for name, generator in (generators or {}).items()}
    write_tensors(path, tensors, {NOTE: json.dumps({"format": FORMAT, **header})})


def load(path: Path, parts: Parts, settings: Mapping[str, Any], generators: Generators | None = None) -> dict[str, Any]:
    """Puts everything back and returns the header, whose `settings` must agree with these."""
    tensors, header = read(path)
    check_settings(path, header, settings)
    for part, (module, optimizer) in parts.items():
        _load_module(path, part, module, tensors)
        if optimizer is not None:
            _load_optimizer(path, f"{part}.optimizer.", module, optimizer, tensors)
    for name, generator in (generators or {}).items():
        if f"generator.{name}" in tensors:
            try:
                generator.set_state(tensors[f"generator.{name}"])
            except (TypeError, RuntimeError):
                raise CheckpointError(f"{path} does not hold a state of the random numbers {name!r}") from None
    return header


def load_weights(path: Path, part: str, module: nn.Module) -> None:
    """Puts the weights of one part of a checkpoint into `module`."""
    _load_module(path, part, module, read(path)[0])


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a checkpoint and its header, both in the present format but for the settings."""
    tensors, notes = read_noted(path, (NOTE,), "checkpoint")
    header = _header(path, notes)
    number = header.get("format", 1)
    if type(number) is not int or number > FORMAT:
        raise CheckpointError(f"{path} has format {number}, newer than {FORMAT}: open it with a newer version of dvae")
    try:
        return (tensors, header) if number == FORMAT else _from_version_0_1_0(tensors, header)
    except KeyError as error:
        raise CheckpointError(f"{path} is not a whole checkpoint (its header lacks {error})") from None


def _header(path: Path, notes: Mapping[str, str]) -> dict[str, Any]:
    if NOTE not in notes:
        raise CheckpointError(f"{path} is not a whole checkpoint (it holds tensors alone)")
    try:
        header = json.loads(notes[NOTE])
    except (ValueError, RecursionError):
        raise CheckpointError(f"{path} is not a whole checkpoint (its header is not JSON)") from None
    if not isinstance(header, dict) or not all(isinstance(header.get(key, {}), dict) for key in TABLES):
        raise CheckpointError(f"{path} is not a whole checkpoint (its header is not one of this package)")
    return header


def check_settings(path: Path, header: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Refuses a checkpoint that was written with other settings."""
    number = header.get("format", 1)
    before = normalised_settings(header.get("settings", {}), number)
    for key, value in settings.items():
        old, new = before.get(key), json.loads(json.dumps(value))
        if _comparable(old, new, number) != _comparable(new, old, number):
            raise CheckpointError(
                f"{path} was written with {key} = {old!r}, not {value!r}: "
                f"resume with the same settings, or start a new folder"
            )


def normalised_settings(settings: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The settings of a checkpoint of format `number` as the present version would write them.

    Whoever renames or regroups settings of models (`settings["model"]`) or trainings translates old ones here.
    """
    return current(settings) if number < FORMAT else dict(settings)


def _comparable(one: object, other: object, number: int) -> object:
    """What of `one` can be compared: of tables in an older format, the settings that both versions know."""
    if number == FORMAT or not isinstance(one, dict) or not isinstance(other, dict):
        return one
    return {key: _comparable(one[key], other[key], number) for key in one.keys() & other.keys()}


def _from_version_0_1_0(tensors: dict[str, Tensor], header: dict[str, Any]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Checkpoints of a VAE had names of their own; those of networks differ in the header alone."""
    settings = header.get("settings", {})
    if "place" not in header:
        place = {"epoch": header.get("epoch", 0), "step": 0, "seconds": header.get("seconds", 0.0)}
        place["history"] = header.get("history", [])
        return tensors, {"place": place, "state": {"budget": header.get("budget")}, "settings": settings}
    renamed = {}
    for name, value in tensors.items():
        kind, _, rest = name.partition(".")
        if kind == "adam":
            owner, _, key = rest.rpartition(".")
            renamed[f"vae.optimizer.{key}.{owner}"] = value
        else:
            renamed["generator.noise" if name == "noise" else f"vae.{name}"] = value
    old = header["place"]
    state = {key: old[key] for key in ("nll", "kl")} | {key: header[key] for key in ("learning_rate", "plateau")}
    place = {key: old[key] for key in ("epoch", "step", "seconds", "history")}
    return renamed, {"place": place, "state": state, "settings": settings}


def _load_module(path: Path, part: str, module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    prefix = f"{part}.model."
    state = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
    with torch.no_grad():
        load_distinct_state(module, state, path)


def _load_optimizer(
    path: Path, prefix: str, module: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]
) -> None:
    parameters = dict(module.named_parameters())
    # Optimizers keep their count of steps on the CPU, unless their steps are fused or captured.
    on_device = any(optimizer.param_groups[0].get(key) for key in ("fused", "capturable"))
    for name, value in tensors.items():
        if name.startswith(prefix):
            key, _, owner = name.removeprefix(prefix).partition(".")
            parameter = parameters.get(owner)
            if parameter is None or (key != "step" and value.shape != parameter.shape):
                raise CheckpointError(
                    f"{path} does not fit the model: the optimizer's {name} is not one of its weights'"
                )
            device = parameter.device if key != "step" or on_device else "cpu"
            optimizer.state[parameter][key] = value.to(device, copy=True)


def _stored(value: Tensor) -> Tensor:
    return value.detach().cpu().contiguous()
