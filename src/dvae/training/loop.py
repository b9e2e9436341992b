"""The training loop in plain sight."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import logging
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import torch
from torch import Tensor

from dvae import provenance
from dvae.config import to_mapping
from dvae.dag import Dag, DagBatch, DagSet
from dvae.errors import CheckpointError, ConfigError, DeviceError
from dvae.files import remove_leftovers, write_json, write_text
from dvae.models.vae import VAE
from dvae.progress import progress_bar
from dvae.training.checkpoint import FILE, Place, load_checkpoint, save_checkpoint
from dvae.training.config import TrainingConfig
from dvae.training.steps import CapturedEpoch, Epoch, PlainEpoch

log = logging.getLogger("dvae")

Ended = Literal["epochs", "early-stop", "time-budget", "interrupted"]
METRICS = "metrics.csv"
TRAINING = "training.json"


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
        return self.history[-1]["loss"] if self.history else None


def fit(
    vae: VAE,
    data: DagSet | DagBatch | Sequence[Dag],
    *,
    config: TrainingConfig | None = None,
    run: str | Path | None = None,
    resume: bool = False,
    device: str = "auto",
    devices: int = 1,
    progress: bool | None = None,
    **settings: Any,
) -> FitResult:
    """Trains `vae` in place.

    `settings` are fields of `TrainingConfig`. With `run`, a folder, checkpoints are written there, and `resume` goes
    on from the last one; on one CPU process the result is bit for bit that of an uninterrupted run. Ctrl-C finishes
    the step, writes a checkpoint and returns. `devices` > 1 trains with one process a device (DDP).
    """
    config = _with_settings(config or TrainingConfig(), settings, vae)
    fabric = _fabric(device, devices)
    batch = data if isinstance(data, DagBatch) else vae.task.batch(data.dags if isinstance(data, DagSet) else data)
    if len(batch) == 0:
        raise ConfigError("there is no DAG to train on")
    batch = vae.prepare(batch)
    trainer = _Trainer(vae, batch, config, fabric, None if run is None else Path(run))
    with _tf32(config.allows_tf32(vae.device)):
        result = trainer.run(resume, progress)
        if result.ended != "interrupted":
            vae.calibrate(trainer.data)
    if run is not None and fabric.global_rank == 0:
        vae.save(run)
        trainer.write_records(result)
    return result


class _Trainer:
    def __init__(self, vae: VAE, batch: DagBatch, config: TrainingConfig, fabric: Any, folder: Path | None) -> None:
        self.vae, self.config, self.fabric, self.folder = vae, config, fabric, folder
        device: torch.device = fabric.device
        vae.to(device)
        self.data = batch.to(device)
        captured = device.type == "cuda" and fabric.world_size == 1 and vae.static_shapes
        rate: float | Tensor = config.learning_rate
        if captured:
            rate = torch.tensor(config.learning_rate, device=device)
        self.optimizer = torch.optim.Adam(vae.parameters(), lr=rate, fused=True, capturable=captured)
        self.plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
            self.optimizer, factor=config.plateau_factor, patience=config.plateau_patience
        )
        self.generator = torch.Generator(device if captured else "cpu").manual_seed(config.seed)
        self.captured = captured
        self.place = Place()
        # What must not change between a run and its resumption.
        self.settings = {
            "seed": config.seed,
            "batch_size": config.batch_size,
            "learning_rate": config.learning_rate,
            "plateau_factor": config.plateau_factor,
            "plateau_patience": config.plateau_patience,
            "precision": config.precision,
            "model": to_mapping(vae.config),
            "graphs": len(batch),
            "data": batch_fingerprint(batch),
        }

    def run(self, resume: bool, progress: bool | None) -> FitResult:
        config, place = self.config, self.place
        assert config.epochs is not None
        assert config.batch_size is not None
        if resume and self.folder is not None and (self.folder / FILE).is_file():
            place = self.place = load_checkpoint(
                self.folder / FILE, self.vae, self.optimizer, self.plateau, self.generator, self.settings
            )
            if self.fabric.global_rank == 0:
                remove_leftovers(self.folder / FILE)
            log.info("resuming at epoch %d, step %d", place.epoch, place.step)
        elif self.folder is not None and not resume and (self.folder / FILE).is_file():
            raise CheckpointError(f"{self.folder} already holds a run: resume it (--resume) or choose another folder")
        epoch_steps = self._epoch_steps()
        steps = -(-len(self.data) // config.batch_size)
        started = self.saved_at = time.monotonic()
        self.seconds_before = place.seconds
        self.started = started
        first = place.epoch * steps + place.step
        ended: Ended = "epochs"
        total = config.epochs * len(self.data)
        bar_fields: dict[str, object] = {}
        with (
            _interruptible() as interrupted,
            progress_bar("training", total=total, unit="graphs", enabled=self._shows(progress)) as bar,
        ):
            bar.skip(min(total, place.epoch * len(self.data) + place.step * config.batch_size))
            while place.epoch < config.epochs:
                if self._is_stale():
                    ended = "early-stop"
                    break
                epoch_steps.begin(self._order(place.epoch), place.step)
                carried = (place.nll, place.kl)
                while place.step < steps:
                    epoch_steps.step(place.step)
                    place.step += 1
                    done = min(config.batch_size, len(self.data) - (place.step - 1) * config.batch_size)
                    bar.update(advance=done, **bar_fields)
                    stop, save = self._agreed(self._should_stop(interrupted), self._is_time_to_save())
                    if stop or save:
                        self._gather(epoch_steps, carried)
                        self._save()
                    if stop:
                        ended = stop
                        break
                if ended != "epochs":
                    break
                self._gather(epoch_steps, carried)
                self._end_epoch()
                bar_fields = {"epoch": place.epoch, "loss": f"{place.history[-1]['loss']:.4f}"}
        self._save()
        seconds = time.monotonic() - started
        steps_taken = place.epoch * steps + place.step - first
        rate = steps_taken * config.batch_size / seconds if steps_taken else 0.0
        return FitResult(ended, place.epoch, place.seconds, tuple(place.history), rate)

    def _epoch_steps(self) -> Epoch:
        config = self.config
        assert config.batch_size is not None
        if self.captured:
            return CapturedEpoch(
                self.vae, self.optimizer, self.data, config.batch_size, self.generator, config.operand_dtype()
            )
        world = self.fabric.world_size
        forward: Any = self.vae
        if world > 1:
            # Weights that a configuration does not use (backward sweeps, say) would stall the gradient exchange.
            forward = self.fabric.setup_module(self.vae)
        return PlainEpoch(
            self.vae, forward, self.fabric.backward if world > 1 else Tensor.backward, self.optimizer, self.data,
            config.batch_size, self.generator, config.operand_dtype(), self.fabric.global_rank, world,
        )  # fmt: skip

    def _order(self, epoch: int) -> Tensor:
        generator = torch.Generator().manual_seed(self.config.seed * 1_000_003 + epoch)
        return torch.randperm(len(self.data), generator=generator)

    def _gather(self, epoch: Epoch, carried: tuple[float, float]) -> None:
        nll, kl = epoch.sums()
        self.place.nll, self.place.kl = carried[0] + nll, carried[1] + kl
        self.place.seconds = self.seconds_before + time.monotonic() - self.started

    def _end_epoch(self) -> None:
        place, count = self.place, len(self.data)
        loss = (place.nll + self.vae.config.kl_weight * place.kl) / count
        rate = float(self.optimizer.param_groups[0]["lr"])
        place.epoch += 1
        place.history.append(
            {
                "epoch": place.epoch, "loss": loss, "nll": place.nll / count, "kl": place.kl / count,
                "learning_rate": rate, "seconds": place.seconds,
            }
        )  # fmt: skip
        place.step, place.nll, place.kl = 0, 0.0, 0.0
        if place.best is None or loss < place.best:
            place.best, place.stale_epochs = loss, 0
        else:
            place.stale_epochs += 1
        self.plateau.step(loss)
        if self.folder is not None and self.fabric.global_rank == 0:
            write_text(self.folder / METRICS, _as_csv(place.history))
            if self.config.tensorboard:
                _to_tensorboard(self.folder, place.history[-1])

    def _is_stale(self) -> bool:
        patience = self.config.early_stop
        return patience is not None and self.place.stale_epochs >= patience

    def _agreed(self, stop: Ended | None, save: bool) -> tuple[Ended | None, bool]:
        """What all processes do: each has its own clock and its own Ctrl-C, but they must stop and save together."""
        if self.fabric.world_size == 1:
            return stop, save
        reasons: tuple[Ended | None, ...] = (None, "time-budget", "interrupted")
        wishes = torch.tensor([reasons.index(stop), int(save)], device=self.vae.device)
        torch.distributed.all_reduce(wishes, torch.distributed.ReduceOp.MAX)
        return reasons[int(wishes[0])], bool(wishes[1])

    def _should_stop(self, interrupted: threading.Event) -> Ended | None:
        if interrupted.is_set():
            return "interrupted"
        budget = self.config.time_budget
        if budget is not None and self.seconds_before + time.monotonic() - self.started >= budget:
            return "time-budget"
        return None

    def _is_time_to_save(self) -> bool:
        return self.folder is not None and time.monotonic() - self.saved_at >= self.config.checkpoint_seconds

    def _save(self) -> None:
        if self.folder is not None and self.fabric.global_rank == 0:
            save_checkpoint(
                self.folder / FILE,
                self.vae,
                self.optimizer,
                self.plateau,
                self.generator,
                self.place,
                self.settings,
            )
        self.saved_at = time.monotonic()

    def _shows(self, progress: bool | None) -> bool | None:
        return progress if self.fabric.global_rank == 0 else False

    def write_records(self, result: FitResult) -> None:
        assert self.folder is not None
        record = provenance.record(self.config.seed, {"training": asdict(self.config)})
        summary = {key: value for key, value in asdict(result).items() if key != "history"}
        write_json(self.folder / TRAINING, {"result": summary, "device": str(self.vae.device), "record": record})
        if result.history:
            write_text(self.folder / METRICS, _as_csv(list(result.history)))


def batch_fingerprint(batch: DagBatch) -> str:
    """Tells one data set from another."""
    digest = hashlib.sha256()
    for tensor in (batch.types.to(torch.int16), batch.adjacency, batch.num_nodes.to(torch.int32)):
        digest.update(tensor.cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def _with_settings(config: TrainingConfig, settings: dict[str, Any], vae: VAE) -> TrainingConfig:
    unknown = settings.keys() - TrainingConfig.__dataclass_fields__.keys()
    if unknown:
        known = ", ".join(TrainingConfig.__dataclass_fields__)
        raise ConfigError(f"training has no setting {sorted(unknown)[0]!r}; it has {known}")
    config = replace(config, **settings)
    hints = vae.task.hints
    return replace(
        config,
        epochs=hints.epochs if config.epochs is None else config.epochs,
        batch_size=config.batch_size or hints.batch_size,
    )


def _fabric(device: str, devices: int) -> Any:
    """Lightning Fabric: where to run, and with how many processes."""
    from lightning_fabric import Fabric

    if device not in ("auto", "cpu", "cuda"):
        raise DeviceError(f"the device is auto, cpu or cuda, not {device!r}")
    if device == "cuda" and not torch.cuda.is_available():
        raise DeviceError("there is no CUDA device here; train with --device cpu")
    accelerator = device if device != "auto" else ("cuda" if torch.cuda.is_available() else "cpu")
    if devices < 1:
        raise DeviceError(f"devices must be at least 1, not {devices}")
    if accelerator == "cuda" and devices > torch.cuda.device_count():
        raise DeviceError(f"{devices} CUDA devices were asked for and {torch.cuda.device_count()} are here")
    strategy = "ddp_find_unused_parameters_true" if devices > 1 else "auto"
    fabric = Fabric(accelerator=accelerator, devices=devices, strategy=strategy)
    if devices > 1:
        fabric.launch()
    return fabric


@contextlib.contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if allowed else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextlib.contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """The first Ctrl-C asks the loop to stop after its step; a second one stops it at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def _as_csv(history: list[dict[str, float]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(history[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(history)
    return text.getvalue()


def _to_tensorboard(folder: Path, row: dict[str, float]) -> None:
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder / "tensorboard")) as writer:
        for name, value in row.items():
            if name != "epoch":
                writer.add_scalar(f"train/{name}", value, int(row["epoch"]))
