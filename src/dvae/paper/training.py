"""The stage that trains a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from dvae.errors import DvaeError
from dvae.evaluation.common import read_value
from dvae.figures.curves import read_series
from dvae.files import read_json
from dvae.models import ModelConfig, build
from dvae.paper.sources import Source
from dvae.paper.stage import OutOfTime, Result, Stage
from dvae.paper.stage_store import StageStore
from dvae.training import TrainingConfig, fit
from dvae.training.loop import METRICS, TRAINING

TITLES = {
    "dvae": "D-VAE",
    "dvae-original": "D-VAE, original noise",
    "dvae-sum": "D-VAE, sum readout (ours)",
    "dvae-axes": "D-VAE, straight axes (ours)",
    "dvae-smp": "D-VAE (SMP)",
    "dvae-fast": "D-VAE (fast)",
    "svae": "S-VAE",
    "graphrnn": "GraphRNN",
    "gcn": "GCN",
    "gcn-original": "GCN, original code",
    "deepgmg": "DeepGMG",
    "dagnn": "DAGNN",
    "pace": "PACE",
}
# Asked for by no paper: they have a row once they are measured, and none that waits for it.
VARIANTS = ("gcn-original", "dvae-original", "dvae-sum", "dvae-axes")


@dataclass(frozen=True)
class ModelRecipe:
    """A row of the tables: a model and how it is trained. `name` may differ from the model's, for variants."""

    name: str
    model: ModelConfig
    training: TrainingConfig

    @property
    def title(self) -> str:
        return TITLES.get(self.name, self.name)


@dataclass(frozen=True)
class TrainingResult:
    """How a training went."""

    ended: str
    epochs: int
    seconds: float
    graphs: int
    graphs_per_second: float | None
    parameters: int
    device: str
    history: tuple[Mapping[str, float | None], ...]  # losses by name, one per epoch; None where one was not finite


@dataclass(frozen=True)
class Train(Stage[TrainingResult]):
    """Trains a model.

    Its weights are kept in half precision, which is finer than the tf32 products they were trained with, and
    everything is measured on the weights that are kept: results can be had again from the files alone.
    """

    kind: ClassVar[str] = "train"
    source: Source
    recipe: ModelRecipe
    seed: int = 0

    @property
    def title(self) -> str:
        return f"{self.recipe.title} on {self.source.label}, seed {self.seed}: training"

    @property
    def slug(self) -> str:
        return f"{self.source.task}-{self.recipe.name}-{self.seed}"

    @property
    def seed_of_model(self) -> int:
        return self.seed

    def run(self, store: StageStore) -> Result:
        work = store.work_folder(self)
        vae = build(self.recipe.model.name, store.task(self.source), config=self.recipe.model, seed=self.seed)
        left = store.seconds_left()
        config = replace(
            self.recipe.training,
            seed=self.seed,
            time_budget=None if left is None else _seconds_before(work) + max(left, 1e-3),
        )
        batch = store.train_batch(self.source)
        done = fit(vae, batch, config=config, run=work, resume=True, device=store.device, progress=store.progress)
        if done.ended == "interrupted":
            raise KeyboardInterrupt
        if done.ended == "time-budget":
            raise OutOfTime(f"the time is up after {done.epochs} epochs; they are kept")
        vae.half().save(store.folder(self))
        return asdict(
            TrainingResult(
                ended=done.ended,
                epochs=done.epochs,
                seconds=done.seconds,
                graphs=len(batch),
                graphs_per_second=done.epochs * len(batch) / done.seconds if done.seconds else None,
                parameters=vae.num_parameters(),
                device=store.device,
                history=tuple(done.history),
            )
        )

    def read(self, result: Result, where: str) -> TrainingResult:
        return read_value(TrainingResult, result, where)


def _seconds_before(work: Path) -> float:
    """How long earlier attempts have trained; the time budget of a run includes them."""
    try:
        if (work / TRAINING).is_file():
            record: Any = read_json(work / TRAINING)
            return float(record["result"]["seconds"])
        if (work / METRICS).is_file():
            (seconds,) = read_series(work / METRICS, columns=["seconds"])
            return seconds.y[-1]
    except (DvaeError, KeyError, TypeError, ValueError, OverflowError, IndexError):
        pass  # a file that was cut short: then the budget is a little tighter
    return 0.0
