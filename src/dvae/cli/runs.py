"""What a run was asked to do: `run.toml` in its folder, from which it can be resumed and evaluated."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from dvae.cli import inputs, options
from dvae.config import check, read_toml, to_mapping, to_toml
from dvae.dag import Dataset
from dvae.errors import CheckpointError, ConfigError, MissingError
from dvae.files import write_text
from dvae.models import VAE, ModelConfig, build, load, storage
from dvae.tasks import Task
from dvae.training import TrainingConfig, checkpoint
from dvae.training.loop import METRICS, TRAINING

FILE = "run.toml"
CHECKPOINT = checkpoint.FILE
CHANGEABLE = ("epochs", "time_budget", "early_stop", "checkpoint_seconds", "tensorboard")


@dataclass(frozen=True)
class RunConfig:
    """All that a run depends on, but the device. `data` is a file that takes the place of the task's own data.

    A file of settings may leave the task to the command line, so that it serves many.
    """

    task: str = ""
    data: str | None = None
    size: int | None = None
    data_seed: int = 0
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        check(self.size is None or self.size >= 2, f"size must be at least 2, not {self.size}")
        check(self.data_seed >= 0, f"data_seed must not be negative: {self.data_seed}")

    def new_model(self, task: Task) -> VAE:
        return build(self.model.name, task, config=self.model, seed=self.training.seed)

    def dataset(self, task: Task) -> Dataset:
        """The data set of the run, for `task`."""
        if self.data is None:
            return task.dataset(size=self.size, seed=self.data_seed)
        return Dataset.split(self.data, inputs.read_dags(Path(self.data), task), self.size)


def read(run: Path) -> RunConfig:
    if not (run / FILE).is_file():
        raise MissingError(f"{run} holds no run ({FILE} is not there); start one with: dvae train")
    settings = read_toml(RunConfig, run / FILE)
    check(bool(settings.task), f"{run / FILE}: the setting 'task' is missing")
    return settings


def load_model(run: Path, device: str) -> VAE:
    """The model of a run; what is wrong with its files is said with their place."""
    try:
        return load(run, device=options.available(device))
    except CheckpointError as error:
        if str(run) in str(error):
            raise
        raise CheckpointError(f"{run}: {error}") from None


def write(run: Path, config: RunConfig) -> None:
    write_text(run / FILE, to_toml(config))


def check_free(run: Path, advice: str = "choose another folder") -> None:
    """A run is never overwritten."""
    if any((run / name).exists() for name in (FILE, CHECKPOINT, storage.WEIGHTS)):
        raise ConfigError(f"{run} already holds a run: {advice}")


def forget(run: Path) -> None:
    """Removes what training wrote, and nothing else, so that a run can start over."""
    for name in (FILE, CHECKPOINT, storage.WEIGHTS, storage.SETTINGS, storage.TASK, METRICS, TRAINING):
        (run / name).unlink(missing_ok=True)


def check_resumable(run: Path, before: RunConfig, now: RunConfig) -> None:
    """Only how long to train may change when a run is resumed."""
    old, new = _fixed(before), _fixed(now)
    changed = next((key for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key)), None)
    if changed is not None:
        raise ConfigError(
            f"{run} was started with {changed} = {old.get(changed)!r}, not {new.get(changed)!r}: "
            f"resume it without this change, or start another run"
        )


def _fixed(config: RunConfig) -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in to_mapping(config).items():
        flat |= {f"{key}.{part}": v for part, v in value.items()} if isinstance(value, dict) else {key: value}
    return {key: value for key, value in flat.items() if key not in {f"training.{name}" for name in CHANGEABLE}}
