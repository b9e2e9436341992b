"""Settings of models as earlier versions wrote them.

Format 1 (version 0.1.0) had one class of settings for all models, so files hold settings that their model never used.
Format 2 holds those of the model alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dvae.errors import CheckpointError
from dvae.models.config import ModelConfig

FORMAT = 2
OF_SOME_MODELS = (
    *("aggregation", "bidirectional", "readout", "edge_width", "rounds", "layers", "attention_width", "dropout"),
)
ALWAYS_WRITTEN = {"attention_width": 32, "dropout": 0.0}  # in format 1, with these values unless others were given


def current_model(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A model's settings of any format, as today's: without those of format 1 that the model does not have."""
    names = {"name": settings["name"]} if "name" in settings else {}
    known = ModelConfig.class_for(names).__dataclass_fields__
    return {key: value for key, value in settings.items() if key in known or key not in OF_SOME_MODELS}


def current(settings: Mapping[str, Any], where: object = "the settings") -> dict[str, Any]:
    """Settings of a run, or of a plan, of any format: all tables called `model` inside become today's."""
    try:
        return _each_model(settings, current_model)
    except RecursionError:
        raise CheckpointError(f"{where}: nested too deeply to be settings") from None


def format_1(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with all tables called `model` as format 1 wrote them, for keys that were made of those."""
    return _each_model(settings, lambda model: {**ALWAYS_WRITTEN, **model})


def check_format(settings: dict[str, Any], where: object) -> dict[str, Any]:
    """The settings of a model file without their format number; a newer format is refused."""
    found = settings.pop("format", 1)
    if type(found) is not int or not 1 <= found <= FORMAT:
        raise CheckpointError(f"{where} has format {found!r}, and this version reads 1 to {FORMAT}: use a newer dvae")
    return settings if found == FORMAT else current_model(settings)


def _each_model(table: Mapping[str, Any], change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    return {key: _inside(key, value, change) for key, value in table.items()}


def _inside(key: str, value: Any, change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Any:
    if isinstance(value, list | tuple):
        return [_inside(key, item, change) for item in value]
    if not isinstance(value, Mapping):
        return value
    is_model = key == "model" and "kl_weight" in value  # which format 1 always wrote
    return change(value) if is_model else _each_model(value, change)
