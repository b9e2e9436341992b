"""`dvae.fit`: training, in memory or in a run's folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dvae.config import replace, with_overrides
from dvae.dag import Dag, DagBatch, DagSet, Dataset
from dvae.errors import CheckpointError
from dvae.models import VAE
from dvae.runs.config import FILE, RunConfig, check_resumable
from dvae.runs.run import CHECKPOINT, Run
from dvae.training import FitResult, TrainingConfig
from dvae.training import fit as train


def fit(
    vae: VAE,
    data: Dataset | DagSet | DagBatch | Sequence[Dag],
    *,
    validation: DagSet | Sequence[Dag] | None = None,
    config: TrainingConfig | None = None,
    run: str | Path | None = None,
    resume: bool = False,
    device: str = "auto",
    devices: int = 1,
    progress: bool | None = None,
    **settings: Any,
) -> FitResult:
    """Trains `vae` in place.

    `settings` are fields of `TrainingConfig`. A `Dataset` brings its validation part along. With `run`, a folder that
    `dvae.Run.open` and all commands take, training writes checkpoints, and `resume` goes on from the last one; on one
    CPU process the result is bit for bit that of an uninterrupted run. Ctrl-C finishes the step, writes a checkpoint
    and returns. `devices` > 1 trains with one process per device.
    """
    config = with_overrides(config or TrainingConfig(), settings, "training")
    if run is None:
        train_part = data.train if isinstance(data, Dataset) else data
        return train(
            vae, train_part, validation=validation or _validation(data), config=config, device=device, devices=devices,
            progress=progress,
        )  # fmt: skip
    opened = _opened(Path(run), vae, _dataset(vae, data, validation), config, resume)
    return opened.fit(
        vae=vae, resume=resume, device=device, devices=devices, progress=progress, epochs=config.epochs,
        time_budget=config.time_budget, early_stop=config.early_stop,
    )  # fmt: skip


def _opened(folder: Path, vae: VAE, data: Dataset, config: TrainingConfig, resume: bool) -> Run:
    settings = RunConfig(model=vae.config, training=config)
    if not resume:
        if (folder / CHECKPOINT).is_file():
            raise CheckpointError(f"{folder} already holds a run: resume it (resume=True) or choose another folder")
        return Run.create(folder, vae.task, data=data, config=settings)
    if not (folder / FILE).is_file():
        return Run.create(folder, vae.task, data=data, config=settings, adopt=True)
    opened = Run.open(folder)
    check_resumable(folder, opened.config, replace(opened.config, model=vae.config, training=config))
    opened.use_data(data)  # the checkpoint knows the DAGs it was trained on
    return opened


def _dataset(
    vae: VAE, data: Dataset | DagSet | DagBatch | Sequence[Dag], validation: DagSet | Sequence[Dag] | None
) -> Dataset:
    if isinstance(data, DagSet) and data.origin is not None and data is data.origin.train:
        data = data.origin
    if isinstance(data, DagBatch):
        data = vae.task.unbatch(data)
    whole = data if isinstance(data, Dataset) else Dataset.of("given DAGs", data)
    return whole if validation is None else Dataset.of(whole.name, whole.train, validation, whole.test)


def _validation(data: object) -> DagSet | None:
    return data.validation if isinstance(data, Dataset) and len(data.validation) else None
