"""What a run was asked to do: `run.toml` in its folder, from which it can be resumed and evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from dvae.config import check, from_mapping, load_toml, to_mapping, to_toml, with_overrides
from dvae.dag import DataSource
from dvae.errors import ConfigError, FormatError, MissingError
from dvae.files import write_text
from dvae.models import ModelConfig
from dvae.models.migration import current
from dvae.training import TrainingConfig
from dvae.training.config import CHANGEABLE

FILE = "run.toml"
FORMAT = 2  # of run.toml; version 0.1.0 wrote no number


@dataclass(frozen=True)
class RunConfig:
    """All that a run depends on, but the device.

    `data` is a file that takes the place of the task's own data; a relative path lies in the run's folder.
    `validation` is a share of the training DAGs to keep back, or a file. A file of settings may leave the task to the
    command line, so that it serves many.
    """

    task: str = ""  # its name, as --task takes it
    data: str | None = None  # a file of DAGs in place of the task's own
    size: int | None = None  # how many DAGs to take or sample
    data_seed: int = 0  # of the task's sampler
    validation: float | str | None = None  # a share of the training DAGs to keep back, or a file
    fingerprint: str | None = None  # of the data, where they come from a file
    started_from: str | None = None  # the run whose weights were the start
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        check(self.size is None or self.size >= 2, f"size must be at least 2, not {self.size}")
        check(self.data_seed >= 0, f"data_seed must not be negative: {self.data_seed}")

    def source(self, folder: Path) -> DataSource:
        """Where the data of the run in `folder` are."""
        file = None if self.data is None else str(folder / self.data)
        return DataSource(file, self.size, self.data_seed, self.validation)


def run_settings(settings: Mapping[str, object]) -> dict[str, object]:
    """Settings by their short names (`hidden`, `epochs`) as settings of a run (`model.hidden`, `training.epochs`)."""
    own = {each.name for each in fields(RunConfig)}
    training = {each.name for each in fields(TrainingConfig)}
    found: dict[str, object] = {}
    for name, value in settings.items():
        known = "." in name or name in own
        found[name if known else f"training.{name}" if name in training else f"model.{name}"] = value
    return found


def read_config(folder: Path) -> RunConfig:
    """The settings of the run in `folder`, whichever version wrote them."""
    path = folder / FILE
    if not path.is_file():
        raise MissingError(f"{folder} holds no run ({FILE} is not there); start one with: dvae train")
    config = config_file(path)
    check(bool(config.task), f"{path}: the setting 'task' is missing")
    return config


def config_file(path: str | Path) -> RunConfig:
    """The settings of a file, which may be those of a run."""
    mapping = dict(load_toml(path))
    number = mapping.pop("format", 1)
    if number not in (1, FORMAT):
        raise FormatError(f"{path}: format {number!r} is not known here; a newer version of dvae wrote it")
    return from_mapping(RunConfig, current(mapping, path) if number == 1 else mapping, str(path))


def write_config(folder: Path, config: RunConfig) -> None:
    write_text(folder / FILE, f"format = {FORMAT}\n{to_toml(config)}")


def check_resumable(folder: Path, before: RunConfig, now: RunConfig) -> None:
    """Only how long to train may change when a run is resumed."""
    old, new = _fixed(before), _fixed(now)
    changed = next((key for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key)), None)
    if changed is not None:
        raise ConfigError(
            f"{folder} was started with {changed} = {old.get(changed)!r}, not {new.get(changed)!r}: "
            f"resume it without this change, or start another run"
        )


def changed_config(config: RunConfig, settings: Mapping[str, object], where: str = "settings") -> RunConfig:
    """`config` with settings changed, given by their short or their full names."""
    return with_overrides(config, run_settings(settings), where)


def _fixed(config: RunConfig) -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in to_mapping(config).items():
        flat |= {f"{key}.{part}": v for part, v in value.items()} if isinstance(value, dict) else {key: value}
    return {key: value for key, value in flat.items() if key not in {f"training.{name}" for name in CHANGEABLE}}
