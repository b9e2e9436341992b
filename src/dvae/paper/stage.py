"""A stage: one piece of work, defined wholly by its settings, whose result is a small JSON value and small files."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from dvae.config import to_mapping
from dvae.errors import DvaeError
from dvae.models.migration import format_1
from dvae.training.config import FIRST_SETTINGS, TrainingConfig

if TYPE_CHECKING:
    from dvae.paper.stage_store import StageStore

Result = Mapping[str, Any]  # as JSON has it
T = TypeVar("T")


class OutOfTime(DvaeError):
    """The time is up; what is finished is kept, and the same command continues."""


@dataclass(frozen=True)
class Stage(ABC, Generic[T]):
    """A frozen dataclass of settings, whose result is a `T`. Equal settings give an equal key, by which a result is
    looked for before it is made.

    `version` grows where a change of the code makes older results wrong.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1

    @property
    @abstractmethod
    def title(self) -> str:
        """What is done, for people: 'D-VAE on ENAS-6, seed 0: training'."""

    @property
    @abstractmethod
    def slug(self) -> str:
        """The same, as part of a file name."""

    @property
    def seed_of_model(self) -> int:
        """Stages of seed 0 go first, so that a run cut short has something on everything."""
        return 0

    def needs(self) -> tuple[Stage[Any], ...]:
        """The stages whose results `run` takes."""
        return ()

    @abstractmethod
    def run(self, store: StageStore) -> Result:
        """Does the work and returns its result as plain values; files may go to `store.folder(self)`."""

    @abstractmethod
    def read(self, result: Result, where: str) -> T:
        """The result that `run` returned, as a value; `where` names its file in errors."""

    @property
    def key(self) -> str:
        """A hash of the settings, and of those of the stages it needs."""
        settings = {
            "kind": self.kind,
            "version": self.version,
            "settings": _settings_of_0_1_0(format_1(to_mapping(self))),  # whose results keep their keys
            "needs": [need.key for need in self.needs()],
        }
        text = json.dumps(settings, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def folder_name(self) -> str:
        """Where its result is kept."""
        return f"{self.kind}-{self.slug}-{self.key}"


def _settings_of_0_1_0(settings: Any) -> Any:
    """Settings without those of training that came later, where they are left at their defaults."""
    if isinstance(settings, list):
        return [_settings_of_0_1_0(item) for item in settings]
    if not isinstance(settings, dict):
        return settings
    new = {key: _settings_of_0_1_0(value) for key, value in settings.items()}
    if isinstance(new.get("training"), dict):
        defaults = to_mapping(TrainingConfig())
        kept = {k: v for k, v in new["training"].items() if k in FIRST_SETTINGS or v != defaults.get(k)}
        new["training"] = kept
    return new


def with_needs(stages: Iterable[Stage[Any]]) -> list[Stage[Any]]:
    """The stages, each once and after all that it needs, those of smaller seeds first."""
    found: dict[Stage[Any], None] = {}
    for stage in sorted(stages, key=lambda stage: stage.seed_of_model):
        for one in _with_needs(stage):
            found.setdefault(one)
    return list(found)


def _with_needs(stage: Stage[Any]) -> Iterator[Stage[Any]]:
    for need in stage.needs():
        yield from _with_needs(need)
    yield stage
