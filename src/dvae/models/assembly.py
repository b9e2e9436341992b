"""Models put together: by name, from parts, from a folder."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import torch

from dvae.config import replace
from dvae.errors import ConfigError, DvaeError
from dvae.models import storage
from dvae.models.catalogue import part_names
from dvae.models.config import SLOTS, ModelConfig, Preset, model_config, preset_settings
from dvae.models.features import NodeFeatures
from dvae.models.parts import Aggregation, Plan, Readout
from dvae.models.registry import AGGREGATIONS, DECODERS, ENCODERS, READOUTS
from dvae.models.tensor_file import read_tensors
from dvae.models.vae import VAE
from dvae.tasks import Task

WIDE = 4096  # of any setting, from where on the size of a model is looked at before it is made


def build(
    name: str,
    task: Task,
    *,
    encoder: str | type | None = None,
    decoder: str | type | None = None,
    config: ModelConfig | None = None,
    preset: Preset = "paper",
    seed: int | None = None,
    **settings: Any,
) -> VAE:
    """The model `name` for `task` with fresh weights; `seed` makes them repeatable.

    A name is one of `MODELS` or ENCODER+DECODER. `encoder` and `decoder` take the place of the named ones; each is a
    name, a `package.module:name` or a class (`dvae.models.parts`). `settings` are those of `ModelConfig` and of the
    parts; `preset` "original" takes the original code's values where it differs from the paper's text.
    """
    if encoder is not None or decoder is not None:
        named = part_names(name)
        name = f"{ENCODERS.canonical(encoder or named[0])}+{DECODERS.canonical(decoder or named[1])}"
    for slot, registry in SLOTS.items():
        if settings.get(slot) is not None:
            settings[slot] = registry.canonical(settings[slot])
    changes = {**preset_settings(preset), **settings}
    config = model_config(name, **changes) if config is None else replace(config, **changes, name=name)
    _check_memory(task, config)
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        return _assembled(task, config)


def _assembled(task: Task, config: ModelConfig) -> VAE:
    encoder_name, decoder_name = part_names(config.name)
    encoder, decoder = ENCODERS.get(encoder_name), DECODERS.get(decoder_name)
    features = _features(task, config)

    def new_aggregation() -> Aggregation:
        part = AGGREGATIONS.get(getattr(config, "aggregation", None) or task.hints.aggregation)
        return part.build(bare, config.part(part.settings))

    def new_readout() -> Readout:
        part = READOUTS.get(getattr(config, "readout", None) or task.hints.readout)
        return part.build(bare, config.part(part.settings))

    bare = Plan(task, config.hidden, config.latent, features, new_aggregation, new_readout)
    shared = new_aggregation() if encoder.aggregates or decoder.aggregates else None
    plan = dataclasses.replace(bare, aggregation=shared)
    made = encoder.build(plan, config.part(encoder.settings))
    return VAE(task, config, made, decoder.build(plan, config.part(decoder.settings)))


def load(folder: str | Path, *, device: str | torch.device = "cpu") -> VAE:
    """The model saved in `folder`."""
    folder = Path(folder)
    config, task = storage.read_settings(folder)
    state = read_tensors(folder / storage.WEIGHTS)
    _check_fits(task, config, state, folder / storage.WEIGHTS)
    vae = _assembled(task, config)
    dtype = next((tensor.dtype for tensor in state.values() if tensor.is_floating_point()), None)
    if dtype is not None:
        vae = vae.to(dtype)
    storage.load_distinct_state(vae, state, folder / storage.WEIGHTS)
    return vae.to(device)


def _check_fits(task: Task, config: ModelConfig, state: dict[str, torch.Tensor], where: Path) -> None:
    """Compares shapes before there is room for the weights: a file of settings may ask for any sizes."""
    planned = _planned(task, config)
    if planned is not None:
        storage.check_shapes(planned, state, where)


def _check_memory(task: Task, config: ModelConfig) -> None:
    """Refuses a model that is larger than the memory of this machine."""
    widest = max((value for value in vars(config).values() if type(value) is int), default=0)
    planned = _planned(task, config) if widest > WIDE else None
    if planned is None or not hasattr(os, "sysconf"):
        return
    needed = 4 * planned.num_parameters()
    here = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > here:
        raise ConfigError(
            f"a model of {planned.num_parameters():,} parameters (hidden = {config.hidden:,}) takes "
            f"{needed / 2**30:,.0f} GB, and this machine has {here / 2**30:,.0f}: choose smaller settings"
        )


def _planned(task: Task, config: ModelConfig) -> VAE | None:
    """The model without room for its weights; None where a part of somebody's needs numbers to be made."""
    try:
        with torch.device("meta"):
            return _assembled(task, config)
    except DvaeError:
        raise
    except (RuntimeError, MemoryError, OverflowError, ValueError, TypeError):
        return None


def _features(task: Task, config: ModelConfig) -> NodeFeatures:
    if config.given_features is not None:
        widths = {len(vector) for vector in config.given_features}
        if len(config.given_features) != task.num_types or len(widths) != 1:
            raise ConfigError(
                f"given_features needs {task.num_types} vectors of one length, in the order of the vocabulary: "
                f"{', '.join(map(str, task.vocabulary.labels))}"
            )
    learned = config.feature_width if config.features == "learned" else None
    return NodeFeatures(task.num_types, learned=learned, given=config.given_features)
