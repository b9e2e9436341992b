"""`fit`: trains a VAE on DAGs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dvae import extras, provenance
from dvae.config import check, with_overrides
from dvae.dag import Dag, DagBatch, DagSet
from dvae.devices import available_device
from dvae.errors import ConfigError, DeviceError
from dvae.files import finite, write_json
from dvae.models.kernels.fuse import fusing
from dvae.models.vae import VAE
from dvae.training.config import TrainingConfig
from dvae.training.job import Ended
from dvae.training.memory import explained
from dvae.training.resumable import METRICS, Patience, best_row, run_job
from dvae.training.tracking import check_installed
from dvae.training.vae_job import VaeJob
from dvae.training.validation import COLUMN

__all__ = ["METRICS", "TRAINING", "Dags", "FitResult", "fit", "tf32_products"]

TRAINING = "training.json"
FUSED_FROM = 4_000_000  # graphs to train on; compiling takes half a minute on an H200, and saves 6 microseconds a graph

Dags = DagSet | DagBatch | Sequence[Dag]


@dataclass(frozen=True)
class FitResult:
    """How training ended, and the losses (means over graphs) of every epoch."""

    ended: Ended
    epochs: int
    seconds: float
    history: tuple[dict[str, float], ...]
    graphs_per_second: float

    @property
    def final_loss(self) -> float | None:
        """The training loss of the last epoch."""
        return self.history[-1]["loss"] if self.history else None

    @property
    def best_epoch(self) -> int | None:
        """The epoch with the lowest validation loss, whose weights a run keeps as best.safetensors."""
        best = best_row(self.history, COLUMN)
        return None if best is None else int(best["epoch"])

    @property
    def validation(self) -> dict[str, float] | None:
        """What was measured on the validation DAGs last."""
        rows = [row for row in self.history if COLUMN in row]
        return {key: value for key, value in rows[-1].items() if key.startswith("validation_")} if rows else None


def fit(
    vae: VAE,
    data: Dags,
    *,
    validation: Dags | None = None,
    config: TrainingConfig | None = None,
    run: str | Path | None = None,
    resume: bool = False,
    device: str = "auto",
    devices: int = 1,
    progress: bool | None = None,
    **settings: Any,
) -> FitResult:
    """Trains `vae` in place.

    `settings` are fields of `TrainingConfig`. With `validation`, losses and reconstruction are also measured on DAGs
    that are not trained on, which changes nothing about the training itself.

    With `run`, a folder, checkpoints are written there, and `resume` continues from the last one; on one CPU process
    the result is bit for bit that of an uninterrupted run. With `validation` the weights of the best epoch are kept
    beside the last ones (`load_best`). Ctrl-C finishes the step, writes a checkpoint and returns.

    `devices` > 1 trains with one process per device (DDP).
    """
    config = _with_settings(config or TrainingConfig(), settings, vae)
    check(
        validation is not None or config.early_stop is None or config.early_stop_on == "train",
        "early_stop_on = 'validation' needs validation DAGs",
    )
    if run is not None:
        check_installed(config.trackers)
    fabric = _fabric(device, devices)
    folder = None if run is None else Path(run)
    unseen = None if validation is None else _as_batch(vae, validation, "validate")
    targets = None if vae.config.targets is None else _known_numbers(vae.config.targets, data)
    read = vae.prepare(_as_batch(vae, data, "train"), progress=progress if fabric.global_rank == 0 else False)
    job = VaeJob(vae, read, unseen, config, fabric, folder, targets)
    column = "loss" if config.early_stop_on == "train" else COLUMN
    assert config.epochs is not None
    long = config.epochs * len(job.data) >= FUSED_FROM
    enough = explained(vae, job.data, job.batch_size, job.budget)
    with tf32_products(config.allows_tf32(vae.device)), fusing(long), enough, contextlib.ExitStack() as after:
        if job.trackers is not None:
            job.trackers.start()
            after.callback(job.trackers.close)
        done = run_job(
            job, folder, resume=resume, checkpoint_seconds=config.checkpoint_seconds, progress=progress,
            patience=None if config.early_stop is None else Patience(config.early_stop, column),
        )  # fmt: skip
        # Whoever presses Ctrl-C, then or now, does not want to wait until all graphs are encoded.
        try:
            job.calibrate(whole=done.ended != "interrupted", progress=progress)
        except KeyboardInterrupt:
            job.calibrate()
    rate = done.done / done.seconds if done.done else 0.0
    result = FitResult(done.ended, done.place.epoch, done.place.seconds, tuple(done.place.history), rate)
    if folder is not None and job.writes:
        vae.save(folder)
        _write_record(folder, config, vae.device, result)
    return result


def _as_batch(vae: VAE, dags: Dags, purpose: str) -> DagBatch:
    batch = dags if isinstance(dags, DagBatch) else vae.task.batch(dags.dags if isinstance(dags, DagSet) else dags)
    if len(batch) == 0:
        raise ConfigError(f"there is no DAG to {purpose} on")
    return batch


def _known_numbers(targets: Sequence[str], dags: Dags) -> Tensor:
    """What is known of each DAG, NaN where it is not."""  # dag target
    if not isinstance(dags, DagSet):
        raise ConfigError(f"a model with targets ({', '.join(targets)}) is trained on DAGs with scores: give a DagSet")
    unknown = [name for name in targets if name != "score" and name not in dags.properties]
    if unknown:
        names = ", ".join(["score", *dags.property_names])
        raise ConfigError(f"nothing called {unknown[0]!r} is known of these DAGs; a target is one of {names}")
    scores = torch.tensor([math.nan if score is None else score for score in dags.scores], dtype=torch.float64)
    known = {"score": scores, **dags.properties}
    return torch.stack([known[name] for name in targets], 1).float()


def _write_record(folder: Path, config: TrainingConfig, device: torch.device, result: FitResult) -> None:
    record = provenance.record(config.seed, {"training": asdict(config)})
    summary = {key: value for key, value in asdict(result).items() if key != "history"}
    if result.best_epoch is not None:
        summary |= {"best_epoch": result.best_epoch, "validation": finite(result.validation)}
    write_json(folder / TRAINING, {"result": summary, "device": str(device), "record": record})


def _with_settings(config: TrainingConfig, settings: dict[str, Any], vae: VAE) -> TrainingConfig:
    config = with_overrides(config, settings, "training")
    hints = vae.task.hints
    return replace(
        config,
        epochs=hints.epochs if config.epochs is None else config.epochs,
        batch_size=config.batch_size or hints.batch_size,
    )


def _fabric(device: str, devices: int) -> Any:
    """Where to run: alone, or with Lightning Fabric on several devices."""
    accelerator = available_device(device)
    if devices < 1:
        raise DeviceError(f"devices must be at least 1, not {devices}")
    if accelerator == "cuda" and devices > torch.cuda.device_count():
        raise DeviceError(f"{devices} CUDA devices were asked for and {torch.cuda.device_count()} are here")
    if devices == 1:
        return OneProcess(torch.device(accelerator))
    try:
        from lightning_fabric import Fabric  # whose import takes seconds
    except ImportError:
        raise extras.missing("lightning-fabric", "devices", "training on several devices") from None

    fabric = Fabric(accelerator=accelerator, devices=devices, strategy="ddp_find_unused_parameters_true")
    fabric.launch()
    return fabric


@dataclass(frozen=True)
class OneProcess:
    """What a training on a single device sees of Lightning Fabric."""

    device: torch.device
    global_rank: int = 0
    world_size: int = 1


@contextlib.contextmanager
def tf32_products(allowed: bool) -> Iterator[None]:
    """Lets matrix products on CUDA be rounded to tf32, or not."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if allowed else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
