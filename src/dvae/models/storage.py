"""Models on disk: weights as safetensors, settings as TOML, the task as JSON. Never a pickle."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor, nn

from dvae.config import read_toml, to_toml
from dvae.errors import CheckpointError, MissingError
from dvae.files import read_json, write_json, write_text
from dvae.models.config import ModelConfig
from dvae.models.migration import FORMAT, check_format
from dvae.models.tensor_file import check_finite, write_tensors
from dvae.models.tensor_file import read_tensors as read_tensors
from dvae.tasks import Task, from_spec, to_spec

WEIGHTS = "model.safetensors"
SETTINGS = "model.toml"
TASK = "task.json"


def distinct_state(module: nn.Module) -> dict[str, Tensor]:
    """The state of `module` with every tensor once; parts may be shared between an encoder and a decoder.

    Buffers that are made anew from a task (`persistent=False`) are no part of it.
    """
    seen: set[int] = set()
    kept = module.state_dict().keys()
    state = {}
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if id(tensor) not in seen and name in kept:
            seen.add(id(tensor))
            state[name] = tensor.detach()
    return state


def load_distinct_state(module: nn.Module, state: dict[str, Tensor], where: object) -> None:
    """Strict: every tensor of the module, none more, of the same shape, all of finite numbers.

    Only those that parts say were `added_later` may be missing, all of a part together; they become zeros.
    """
    check_shapes(module, state, where)
    check_finite(state, where)
    for name, tensor in distinct_state(module).items():
        if name in state:
            tensor.copy_(state[name])
        else:
            tensor.zero_()


def check_shapes(module: nn.Module, state: Mapping[str, Tensor], where: object) -> None:
    """Refuses tensors that are not those of `module`, by names and shapes."""
    own = distinct_state(module)
    missing = sorted(own.keys() - state.keys() - added_later(module, state))
    unknown = sorted(state.keys() - own.keys())
    if missing or unknown:
        parts = [f"lacks {missing[0]}"] if missing else []
        parts += [f"has an unknown {unknown[0]}"] if unknown else []
        raise CheckpointError(f"{where} does not fit the model: it {' and '.join(parts)}")
    for name in own.keys() & state.keys():
        tensor = own[name]
        if tensor.shape != state[name].shape:
            raise CheckpointError(
                f"{where} does not fit the model: {name} is {tuple(state[name].shape)}, not {tuple(tensor.shape)}"
            )


def added_later(module: nn.Module, state: Mapping[str, Tensor] | None = None) -> set[str]:
    """Tensors that files of earlier versions do not have; with a `state`, of the parts of which it has none."""
    found: set[str] = set()
    for prefix, part in module.named_modules():
        names = {f"{prefix}.{name}" for name in getattr(part, "added_later", ())}
        if state is None or names.isdisjoint(state):
            found |= names
    return found


def save(folder: str | Path, module: nn.Module, config: ModelConfig, task: Task) -> None:
    """Writes weights, settings and task, each file atomically."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / TASK, to_spec(task))
    write_text(folder / SETTINGS, f"format = {FORMAT}\n{to_toml(config)}")
    write_tensors(folder / WEIGHTS, distinct_state(module))


def read_settings(folder: str | Path) -> tuple[ModelConfig, Task]:
    """The settings and the task of the model in `folder`."""
    folder = Path(folder)
    if not (folder / SETTINGS).is_file():
        raise MissingError(f"{folder} holds no model ({SETTINGS} is not there); train one with: dvae train")
    config = read_toml(ModelConfig, folder / SETTINGS, lambda settings: check_format(settings, folder / SETTINGS))
    spec = read_json(folder / TASK)
    if not isinstance(spec, dict):
        raise CheckpointError(f"{folder / TASK} does not describe a task")
    return config, from_spec(spec)
