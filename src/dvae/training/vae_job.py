"""Training of a VAE as a job of the resumable loop."""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dvae.config import check, to_mapping
from dvae.dag import DagBatch
from dvae.errors import CheckpointError
from dvae.models.vae import VAE
from dvae.training.config import TrainingConfig
from dvae.training.job import Clock, Ended, Job, Place, Row
from dvae.training.memory import Budget, check_fits
from dvae.training.resumable import best_row
from dvae.training.size_classes import CLASSED_ABOVE, ClassedEpoch, size_classes
from dvae.training.steps import CapturedEpoch, Changes, Epoch, PlainEpoch, Sums
from dvae.training.tracking import Trackers
from dvae.training.validation import COLUMN, ValidationLosses, save_best, validation_losses

log = logging.getLogger(__name__)

MAX_LOST = 0.01  # share of the graphs of an epoch
LATER_SETTINGS = ("schedule", "warmup", "clip", "mutations")  # part of a checkpoint's settings where they are set
CALIBRATION_GRAPHS = 1_024  # of the training graphs, chosen once, whose latents give a checkpoint's statistics
CALIBRATION_NODES, FEWEST_GRAPHS = 16_384, 32  # of these graphs together, and how few they may be: large ones take long


class VaeJob(Job):
    """Steps over shuffled graphs, on a CUDA device recorded and replayed; the learning rate falls on plateaus."""

    unit = "graphs"

    def __init__(
        self,
        vae: VAE,
        data: DagBatch,
        validation: DagBatch | None,
        config: TrainingConfig,
        fabric: Any,
        folder: Path | None,
        targets: Tensor | None = None,
    ) -> None:
        super().__init__(Clock(config.time_budget))
        assert config.epochs is not None
        assert config.batch_size is not None
        check(
            config.schedule != "timed" or fabric.world_size == 1,
            "schedule = 'timed' goes with one process, since each has its own clock: take 'cosine'",
        )
        self.vae, self.config, self.fabric, self.folder = vae, config, fabric, folder
        device: torch.device = fabric.device
        vae.to(device)
        self.data = data.to(device)
        self.validation = validation
        self.validated_on = None if validation is None else batch_fingerprint(validation)
        self.targets = None if targets is None else targets.to(device)
        self.budget = Budget.of(config.memory, device)
        check_fits(vae, self.data, self.budget)
        self.epochs, self.batch_size = config.epochs, config.batch_size
        self.steps = -(-len(data) // self.batch_size)
        self.writes = fabric.global_rank == 0
        self.captured = device.type == "cuda" and fabric.world_size == 1 and vae.static_shapes
        self.classed = self.captured and vae.any_width and data.max_nodes > CLASSED_ABOVE
        if self.classed:
            self.steps = sum(
                -(-len(some) // self.batch_size) for _, some in size_classes(data.num_nodes, data.max_nodes)
            )
        rate: float | Tensor = config.learning_rate
        if self.captured:
            rate = torch.tensor(config.learning_rate, device=device)
        self.optimizer = torch.optim.Adam(vae.parameters(), lr=rate, fused=True, capturable=self.captured)
        self.plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
            self.optimizer, factor=config.plateau_factor, patience=config.plateau_patience
        )
        self.generator = torch.Generator(device if self.captured else "cpu").manual_seed(config.seed)
        self.parts = {"vae": (vae, self.optimizer)}
        self.generators = {"noise": self.generator}
        self.settings = {
            "seed": config.seed,
            "batch_size": config.batch_size,
            "learning_rate": config.learning_rate,
            "plateau_factor": config.plateau_factor,
            "plateau_patience": config.plateau_patience,
            "precision": config.precision,
            **{
                name: getattr(config, name)
                for name in ("schedule", "warmup", "clip", "mutations")
                if _is_set(config, name)
            },
            "model": to_mapping(vae.config),
            "graphs": len(data),
            "data": batch_fingerprint(data),
        }
        if targets is not None:
            self.settings["targets"] = hashlib.sha256(targets.cpu().numpy().tobytes()).hexdigest()[:16]
        self.trackers: Trackers | None = None
        if folder is not None and self.writes and config.trackers:
            self.trackers = Trackers(config.trackers, folder, {**to_mapping(config), **_named_model(vae)})
        self.carried = Sums()  # over the unfinished epoch, before this process
        self.epoch_steps: Epoch | None = None  # of the unfinished epoch

    def start(self) -> None:
        if self.vae.feature_head is not None:
            self.vae.feature_head.fit(self.data)
        if self.vae.target_head is not None and self.targets is not None:
            self.vae.target_head.fit(self.targets)
        if self.vae.conditions is not None:
            self.vae.conditions.fit(self.data)
        self.stepper = self._stepper()

    def begin_epoch(self, place: Place) -> None:
        generator = torch.Generator().manual_seed(self.config.seed * 1_000_003 + place.epoch)
        self.stepper.begin(torch.randperm(len(self.data), generator=generator), place.step)
        self.epoch_steps = self.stepper

    def step(self, place: Place) -> None:
        if self.config.schedule != "plateau":
            taken = place.epoch * self.steps + place.step
            share = taken / (self.epochs * self.steps) if self.config.schedule == "cosine" else self.clock.share
            self._set_rate(self.config.learning_rate * self.config.rate_factor(taken, share) * place.rate_share)
        self.stepper.step(place.step)

    def _set_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def slow_down(self, share: float) -> None:
        self._set_rate(float(self.optimizer.param_groups[0]["lr"]) * share)

    def is_finite(self) -> bool:
        sums = self._sums()
        few_lost = sums.lost <= MAX_LOST * len(self.data)
        return few_lost and all(map(math.isfinite, sums)) and super().is_finite()

    def end_epoch(self, place: Place) -> Row:
        nll, kl, heads, lost = self._sums()
        self.carried, self.epoch_steps = Sums(), None
        count = len(self.data) - lost
        if lost:
            log.warning(
                "epoch %d: %d of %d graphs were left out, since the gradient of their step was not finite",
                place.epoch + 1, lost, len(self.data),
            )  # fmt: skip
        loss = (nll + self.vae.config.kl_weight * kl + heads) / count
        row = {
            "epoch": place.epoch + 1, "loss": loss, "nll": nll / count, "kl": kl / count,
            "learning_rate": float(self.optimizer.param_groups[0]["lr"]), "seconds": place.seconds,
        }  # fmt: skip
        if self._has_heads():
            row["heads"] = heads / count
        if self.config.schedule == "plateau":
            self.plateau.step(loss)
        if self.validation is not None and (place.epoch + 1) % self.config.validation_every == 0:
            row |= self._validated(self.validation).row()
            best = best_row(place.history, COLUMN)
            is_best = math.isfinite(row[COLUMN]) and (best is None or row[COLUMN] < best[COLUMN])
            if self.folder is not None and self.writes and is_best:
                self.calibrate()
                save_best(self.folder, self.vae)
        if self.trackers is not None:
            self.trackers.track(row)
        return row

    def state(self) -> dict[str, Any]:
        nll, kl, heads, lost = self._sums()
        plateau = {key: value for key, value in self.plateau.state_dict().items() if isinstance(value, int | float)}
        rate = float(self.optimizer.param_groups[0]["lr"])
        state = {"nll": nll, "kl": kl, "learning_rate": rate, "plateau": plateau, "validation": self.validated_on}
        if lost:
            state["lost"] = lost
        return {**state, "heads": heads} if self._has_heads() else state

    def restore(self, state: Mapping[str, Any]) -> None:
        self.carried = Sums(state["nll"], state["kl"], state.get("heads", 0.0), state.get("lost", 0.0))
        self.epoch_steps = None
        self.plateau.load_state_dict(state["plateau"])
        self._set_rate(state["learning_rate"])
        before = state.get("validation")
        if self.validation is not None and before is not None and before != self.validated_on:
            raise CheckpointError(
                "the run was validated on other DAGs, and its best epoch chosen by them: "
                "resume with the same validation DAGs, or start a new folder"
            )

    def calibrate(self, *, whole: bool = False, at_most: int | None = None, progress: bool | None = False) -> None:
        """Statistics of the latents: of all training graphs, or of a fixed sample that takes next to no time."""
        data, count = self.data, at_most or CALIBRATION_GRAPHS
        if not whole and len(data) > count:
            order = torch.randperm(len(data), generator=torch.Generator().manual_seed(0))
            data = data.select(order[:count].to(data.device))
        self.vae.calibrate(
            data, thorough=whole and self.writes, prepared=True, progress=progress if self.writes else False
        )

    def prepare_checkpoint(self) -> None:
        """Of fewer graphs where they are large: 1,024 of 67 nodes took ten seconds, every thirty seconds."""
        graphs = CALIBRATION_NODES * len(self.data) // int(self.data.num_nodes.sum())
        self.calibrate(at_most=min(max(graphs, FEWEST_GRAPHS), CALIBRATION_GRAPHS))

    def agreed(self, stop: Ended | None, save: bool) -> tuple[Ended | None, bool]:
        """Each process has its own clock and its own Ctrl-C."""
        if self.fabric.world_size == 1:
            return stop, save
        reasons: tuple[Ended | None, ...] = (None, "time-budget", "interrupted")
        wishes = torch.tensor([reasons.index(stop), int(save)], device=self.vae.device)
        torch.distributed.all_reduce(wishes, torch.distributed.ReduceOp.MAX)
        return reasons[int(wishes[0])], bool(wishes[1])

    def total(self) -> float:
        return self.epochs * len(self.data)

    def done(self, place: Place) -> float:
        return place.epoch * len(self.data) + min(place.step * self.batch_size, len(self.data))

    def shown(self, row: Row) -> dict[str, object]:
        fields: dict[str, object] = {"epoch": row["epoch"], "loss": f"{row['loss']:.4f}"}
        return fields | {name: f"{row[name]:.4f}" for name in (COLUMN, "validation_reconstruction") if name in row}

    def _stepper(self) -> Epoch:
        vae, config, world = self.vae, self.config, self.fabric.world_size
        if self.classed:
            return ClassedEpoch(self.data, self.batch_size, self._captured)
        if self.captured:
            return self._captured(self.data, torch.arange(len(self.data)))
        # Weights that a configuration does not use (backward sweeps, say) would stall the gradient exchange.
        forward: Any = vae if world == 1 else self.fabric.setup_module(vae)
        return PlainEpoch(
            vae, forward, self.fabric.backward if world > 1 else Tensor.backward, self.optimizer, self.data,
            self.batch_size, self.generator, config.operand_dtype(), self._changes(), self.fabric.global_rank, world,
            self.targets, self.budget,
        )  # fmt: skip

    def _captured(self, data: DagBatch, which: Tensor) -> CapturedEpoch:
        """Steps over some of the data, recorded and replayed."""
        targets = None if self.targets is None else self.targets[which.to(self.targets.device)]
        return CapturedEpoch(
            self.vae, self.optimizer, data, self.batch_size, self.generator, self.config.operand_dtype(),
            self._changes(), targets, self.budget,
        )  # fmt: skip

    def _changes(self) -> Changes:
        return Changes(self.config.clip, self.config.mutations)

    def _has_heads(self) -> bool:
        return self.vae.feature_head is not None or self.vae.target_head is not None

    def _sums(self) -> Sums:
        """Over the graphs of the unfinished epoch."""
        here = Sums() if self.epoch_steps is None else self.epoch_steps.sums()
        return Sums.total([self.carried, here])

    def _validated(self, batch: DagBatch) -> ValidationLosses:
        """Measured by one process and sent to the others, since their decisions must agree to the last bit."""
        values = torch.zeros(4, dtype=torch.float64, device=self.vae.device)
        decodings = self.config.validation_decodings
        if self.writes:
            found = validation_losses(self.vae, batch, decodings)
            if self.fabric.world_size == 1:
                return found
            values += values.new_tensor([found.loss, found.nll, found.kl, found.reconstruction or 0.0])
        torch.distributed.broadcast(values, 0)
        loss, nll, kl, share = values.tolist()
        return ValidationLosses(loss, nll, kl, share if decodings else None)


def _named_model(vae: VAE) -> dict[str, object]:
    """The settings of a model and its task, for trackers."""
    return {"task": vae.task.full_name, **{f"model.{name}": value for name, value in to_mapping(vae.config).items()}}


def _is_set(config: TrainingConfig, name: str) -> bool:
    """Whether a setting that 0.1.0 did not have differs from what it did."""
    return bool(getattr(config, name) != getattr(TrainingConfig(), name))


def batch_fingerprint(batch: DagBatch) -> str:
    """Tells one data set from another."""
    digest = hashlib.sha256()
    for tensor in (batch.types.to(torch.int16), batch.adjacency, batch.num_nodes.to(torch.int32)):
        digest.update(tensor.cpu().numpy().tobytes())
    if batch.columns is not None:
        for field in fields(batch.columns):
            digest.update(getattr(batch.columns, field.name).cpu().numpy().tobytes())
    if batch.properties is not None:
        digest.update(batch.properties.cpu().numpy().tobytes())
    return digest.hexdigest()[:16]
