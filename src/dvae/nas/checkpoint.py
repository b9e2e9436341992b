"""All that a training needs to go on, in one file that is replaced atomically: weights, optimizers, counters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from dvae.errors import CheckpointError, MissingError
from dvae.files import atomic_path
from dvae.models.storage import distinct_state, load_distinct_state
from dvae.training import checkpoint

Parts = Mapping[str, tuple[nn.Module, torch.optim.Optimizer | None]]


def save(path: Path, parts: Parts, header: Mapping[str, Any]) -> None:
    """Writes named modules with their optimizers, and a header of plain values."""
    tensors: dict[str, Tensor] = {}
    for part, (module, optimizer) in parts.items():
        tensors |= {f"{part}.model.{name}": _stored(value) for name, value in distinct_state(module).items()}
        for name, parameter in module.named_parameters():
            state = {} if optimizer is None else optimizer.state.get(parameter, {})
            kept = {key: value for key, value in state.items() if isinstance(value, Tensor)}
            tensors |= {f"{part}.optimizer.{key}.{name}": _stored(value) for key, value in kept.items()}
    with atomic_path(path) as temporary:
        save_file(tensors, temporary, metadata={"state": json.dumps(dict(header))})


def load(path: Path, parts: Parts, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Puts everything back and returns the header, whose `settings` must be these."""
    tensors, header = read(path)
    for key, value in settings.items():
        before = header.get("settings", {}).get(key)
        if before != json.loads(json.dumps(value)):
            raise CheckpointError(f"{path} was written with {key} = {before!r}, not {value!r}: start another folder")
    with torch.no_grad():
        for part, (module, optimizer) in parts.items():
            prefix = f"{part}.model."
            state = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
            load_distinct_state(module, state, path)
            if optimizer is not None:
                _load_optimizer(f"{part}.optimizer.", module, optimizer, tensors)
    return header


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    if not path.is_file():
        raise MissingError(f"{path} is not there")
    return checkpoint.read(path)


def _load_optimizer(
    prefix: str, module: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]
) -> None:
    parameters = dict(module.named_parameters())
    for name, value in tensors.items():
        if name.startswith(prefix):
            key, _, owner = name.removeprefix(prefix).partition(".")
            parameter = parameters[owner]
            # Counters of steps stay on the CPU, as the optimizers make them.
            optimizer.state[parameter][key] = value.clone() if key == "step" else value.to(parameter.device)


def _stored(value: Tensor) -> Tensor:
    return value.detach().cpu().contiguous()
