"""All a run needs to go on, in one file that is replaced atomically: weights, Adam's moments, noise, counters."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from dvae.errors import CheckpointError
from dvae.files import atomic_path
from dvae.models.migration import current
from dvae.models.storage import distinct_state, load_distinct_state
from dvae.models.vae import VAE

FILE = "checkpoint.safetensors"
MOMENTS = ("exp_avg", "exp_avg_sq", "step")


@dataclass
class Place:
    """How far a run is. `nll` and `kl` are sums over the graphs of the unfinished epoch."""

    epoch: int = 0
    step: int = 0
    nll: float = 0.0
    kl: float = 0.0
    seconds: float = 0.0
    best: float | None = None
    stale_epochs: int = 0
    history: list[dict[str, float]] = field(default_factory=list)


def save_checkpoint(
    path: Path,
    vae: VAE,
    optimizer: torch.optim.Optimizer,
    plateau: torch.optim.lr_scheduler.ReduceLROnPlateau,
    generator: torch.Generator,
    place: Place,
    settings: dict[str, Any],
) -> None:
    tensors = {f"model.{name}": tensor.cpu().contiguous() for name, tensor in distinct_state(vae).items()}
    for name, parameter in vae.named_parameters():
        state = optimizer.state.get(parameter)
        if state:
            tensors |= {f"adam.{name}.{moment}": state[moment].detach().cpu() for moment in MOMENTS}
    tensors["noise"] = generator.get_state()
    learning_rate = float(optimizer.param_groups[0]["lr"])
    schedule = {key: value for key, value in plateau.state_dict().items() if isinstance(value, int | float)}
    header = {
        "place": asdict(place),
        "learning_rate": learning_rate,
        "plateau": schedule,
        "settings": settings,
    }
    with atomic_path(path) as temporary:
        save_file(tensors, temporary, metadata={"state": json.dumps(header)})


def load_checkpoint(
    path: Path,
    vae: VAE,
    optimizer: torch.optim.Optimizer,
    plateau: torch.optim.lr_scheduler.ReduceLROnPlateau,
    generator: torch.Generator,
    settings: dict[str, Any],
) -> Place:
    """Puts everything back and says where the run was. `settings` must be those the run was started with."""
    tensors, header = read(path)
    before = current(header["settings"])  # its model's settings may be those of an earlier version
    different = [key for key in settings if before.get(key) != settings[key]]
    if different:
        key = different[0]
        raise CheckpointError(
            f"{path} was written with {key} = {before.get(key)!r}, not {settings[key]!r}: "
            f"resume with the same settings, or start a new run folder"
        )
    model = {name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")}
    with torch.no_grad():
        load_distinct_state(vae, model, path)
    for name, parameter in vae.named_parameters():
        if f"adam.{name}.step" in tensors:
            for moment in MOMENTS:
                optimizer.state[parameter][moment] = _like(
                    tensors[f"adam.{name}.{moment}"], parameter, optimizer, moment
                )
    generator.set_state(tensors["noise"])
    plateau.load_state_dict(header["plateau"])
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(header["learning_rate"])
        else:
            group["lr"] = header["learning_rate"]
    return Place(**header["place"])


def _like(value: Tensor, parameter: Tensor, optimizer: torch.optim.Optimizer, moment: str) -> Tensor:
    on_device = moment != "step" or optimizer.param_groups[0].get("capturable") or parameter.is_cuda
    return value.to(parameter.device).clone() if on_device else value.clone()


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a checkpoint and its header of plain values."""
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})["state"])
            return {name: file.get_tensor(name) for name in file.keys()}, header  # noqa: SIM118
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        raise CheckpointError(f"{path} is not a whole checkpoint ({error})") from error
