"""The preset `auto`: size, steps, batch and learning rate from the data, the machine and the time there is.

The numbers were measured on circuits (docs/results/defaults.md): what limits a model of few distinct DAGs is not its
size but that it has seen too few differences, hence mutations; a cosine schedule makes the most of a given time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from dvae.dag import Dataset
from dvae.devices import available_device
from dvae.models import ModelConfig, build
from dvae.models.heads import FITTED_GRAPHS
from dvae.models.vae import LARGE
from dvae.tasks import Task
from dvae.training.memory import Budget, check_fits

MAX_ATTENTION_NODES = 48  # attention over pairs of nodes is fast up to about here
MIN_STEPS, MAX_STEPS = 2_000, 10_000
STEPS_PER_DAG = 3
MIN_EPOCHS = 20
TIMED_STEPS = 6
TIMED_NODES = 4_096  # of all graphs of a step, where graphs are large
HEAD_SAMPLE, HEAD_PART = FITTED_GRAPHS, 2_048  # DAGs that are looked at to choose a head, and at once
MIN_LATENTS = 8  # where there is one for each feature: maps of the space want a few
USED_SHARE = 0.75  # of the time given, for steps as timed here; real ones also choose and mutate graphs, and write
GENERIC_MODEL = {"name": "pace", "attention_width": 64, "layers": 2, "edge_width": 64, "node_order": "given"}
LARGE_MODEL = {"name": "layerwise", "token_width": 64, "layers": 3}
COMMON_LATENTS = 64  # of a model whose places have others of their own ...
PLACE_LATENTS, MAX_PLACE_LATENTS = 8, 1_024  # ... so many each, while they are no more than that in all


@dataclass(frozen=True)
class AutoSettings:
    """Settings that were chosen, and how long training with them will take."""

    settings: Mapping[str, Any]  # of a run, by their full names
    seconds: float | None  # expected; None where it was not measured

    def words(self) -> str:
        """What was chosen, for people."""
        short = {key.rpartition(".")[2]: value for key, value in self.settings.items()}
        shown = ("name", "hidden", "latent", "epochs", "batch_size", "learning_rate", "mutations", "head")
        chosen = ", ".join(f"{name} {short[name]}" for name in shown if name in short)
        if self.seconds is None:
            return f"Preset auto: {chosen}."
        minutes = self.seconds / 60
        return f"Preset auto: {chosen}; about {minutes:.1f} minutes on this machine (--minutes M makes the best of M)."


def auto_settings(
    task: Task, data: Dataset, given: Mapping[str, Any], *, minutes: float | None = None, device: str = "auto"
) -> AutoSettings:
    """Settings for `data`; those in `given` (by their full names) stay as they are."""
    count, device = len(data.train), available_device(device)
    chosen = _model(task, given) | {
        "training.batch_size": 32 if count < 10_000 else 64 if count < 50_000 else 128,
        "training.schedule": "cosine",
        "training.warmup": 200,
        "training.clip": 5.0,
    }
    if task.preset == "auto":
        chosen["training.mutations"] = 0.5 if count < 20_000 else 0.1
    chosen = {**chosen, **task.recipe(device), **given}
    if "model.head" not in given:
        places = int(chosen.get("model.place_latents") or 0) * task.max_nodes
        chosen |= _head(task, data, int(chosen.get("model.latent", ModelConfig().latent)), places)
        chosen |= given
    elif given["model.head"] is None and "model.head_weight" not in given:
        chosen.pop("model.head_weight", None)
    batch = int(chosen["training.batch_size"])
    per_graph = _seconds_per_graph(task, data, chosen, device)
    if "training.epochs" not in chosen or (minutes is not None and "training.epochs" not in given):
        chosen["training.epochs"] = _epochs(count, batch, minutes, per_graph)
    if minutes is not None:
        chosen["training.time_budget"] = 60 * minutes
    seconds = None if per_graph is None else per_graph * count * chosen["training.epochs"] / USED_SHARE
    return AutoSettings({key: value for key, value in chosen.items() if key not in given}, seconds)


def _model(task: Task, given: Mapping[str, Any]) -> dict[str, Any]:
    small = task.max_nodes <= MAX_ATTENTION_NODES
    if "model.name" not in given and task.preset == "auto":
        chosen = {f"model.{key}": value for key, value in (GENERIC_MODEL if small else LARGE_MODEL).items()}
        if small:
            return chosen | {"model.hidden": 128, "training.learning_rate": 1e-3}
        return chosen | _latents(task, given) | {"model.hidden": 128, "training.learning_rate": 2e-3}
    # Larger graphs cost more per step: a narrower model takes more of them.
    return {"model.hidden": 128 if small else 64, "training.learning_rate": 2e-3}


def _latents(task: Task, given: Mapping[str, Any]) -> dict[str, Any]:
    """Latents for each place, where there are not too many places; what is given decides."""
    if "model.latent" in given:
        return {}
    few = max(1, min(PLACE_LATENTS, MAX_PLACE_LATENTS // task.max_nodes))
    places = given.get("model.place_latents", few)
    return {"model.latent": COMMON_LATENTS + (places or 0) * task.max_nodes, "model.place_latents": places}


def _head(task: Task, data: Dataset, latent: int, places: int) -> dict[str, Any]:
    """One-to-one where there is a latent for every feature that changes, or where components can be taken.

    Of the latents, `places` belong to places and have no part in it.
    """
    if not task.features_are_bits:
        return {"model.head": "one-to-one"}
    dags = data.train.dags
    parts = list(task.batch(dags[:: -(-len(dags) // HEAD_SAMPLE) or 1]).split(HEAD_PART))
    counts = torch.stack([task.features(part).sum(0) for part in parts]).sum(0)
    changing = int(((counts > 0) & (counts < sum(map(len, parts)))).sum())
    if changing > latent - places:
        return {"model.head": "linear"}
    few = {"model.latent": places + max(changing, MIN_LATENTS)} if task.latent_per_feature else {}
    return {"model.head": "one-to-one", **few}


def _epochs(count: int, batch: int, minutes: float | None, per_graph: float | None) -> int:
    """As many as the time allows or, without a limit, as have shown to be enough."""
    if minutes is not None and per_graph is not None:
        return max(1, int(60 * minutes * USED_SHARE / (per_graph * count)))
    steps = min(MAX_STEPS, max(MIN_STEPS, STEPS_PER_DAG * count))
    return max(MIN_EPOCHS, -(-steps * batch // count))


def _seconds_per_graph(task: Task, data: Dataset, chosen: Mapping[str, Any], device: str) -> float | None:
    """Measured on a few steps of a model that is thrown away; not on CUDA, where steps are captured first."""
    if device == "cuda":
        return None
    settings = {key.removeprefix("model."): value for key, value in chosen.items() if key.startswith("model.")}
    vae = build(settings.pop("name", "dvae"), task, seed=0, **settings)
    batch = int(chosen["training.batch_size"])
    if task.max_nodes > LARGE:  # a few of them take long enough to be timed
        batch = min(batch, max(2, TIMED_NODES // task.max_nodes))
    dags = data.train.dags
    part = vae.prepare(task.batch([dags[place % len(dags)] for place in range(batch)]))
    check_fits(vae, part, Budget.of(chosen.get("training.memory"), vae.device))
    optimizer = torch.optim.Adam(vae.parameters(), fused=True)
    noise = torch.zeros(batch, vae.config.latent)
    spent = []
    for _ in range(TIMED_STEPS):
        started = time.perf_counter()
        losses = vae(part, noise)
        optimizer.zero_grad()
        (losses.nll.sum() + losses.kl.sum()).backward()
        optimizer.step()
        spent.append(time.perf_counter() - started)
    return statistics.median(spent[1:]) / batch
