"""Full training of several architectures, one after another, within a limit of time."""

from __future__ import annotations

import hashlib
import itertools
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dvae.config import check, replace, to_mapping
from dvae.dag import Dag, ScoredDag, to_plain
from dvae.dag.jsonl import format_line
from dvae.data.images import ImageData
from dvae.errors import DivergedError
from dvae.files import write_json
from dvae.nas.architecture import Architecture
from dvae.nas.dataset import best_networks
from dvae.nas.full_training import RESULT, Trained, train_network
from dvae.nas.recipes import Recipe
from dvae.provenance import record

RESULTS = "results.json"
NO_TIME = "There is no time to train the best for {} epochs."
SLACK = 1.1  # a training may take this many times longer than expected


@dataclass(frozen=True)
class TrainedDag:
    """An architecture, its score before training and what training gave."""

    dag: Dag
    score: float | None
    trained: Trained
    longer: bool = False  # trained again, since it was the best

    def to_mapping(self) -> dict[str, object]:
        """The result as plain values."""
        trained = self.trained
        return {
            "accuracy": trained.accuracy, "accuracy_with_mirrors": trained.accuracy_with_mirrors,
            "images": trained.images, "weight_sharing_score": self.score, "longer": self.longer,
            "parameters": trained.size.parameters, "flops": trained.size.flops, "epochs": trained.epochs,
            "seconds": trained.seconds, "note": trained.note, **to_plain(self.dag),
        }  # fmt: skip


def folder_name(dag: Dag) -> str:
    """An architecture's own name, whatever its place in a file."""
    return hashlib.sha256(format_line(dag).encode()).hexdigest()[:10]


def train_architectures(
    items: Sequence[ScoredDag],
    out: Path,
    recipe: Recipe,
    data: ImageData,
    *,
    recipe_name: str = "",
    top: int | None = None,
    longer: int | None = None,
    minutes: float | None = None,
    validation: int = 0,
    device: str = "cpu",
    note: Callable[[str], object] | None = None,
    progress: bool | None = None,
) -> list[TrainedDag]:
    """Trains in order, or the `top` best different networks, and writes what is known after each.

    Those that `minutes` do not allow are left out. Then the best of them is trained again for `longer` epochs, for
    which time is kept. `note` receives messages about the progress.
    """
    check(
        longer is None or longer > recipe.epochs,
        f"--longer is for more than the {recipe.epochs} epochs of every training: {longer}",
    )
    if top is not None:
        items = best_networks(items, recipe.network)[:top]
    ends = math.inf if minutes is None else time.monotonic() + 60 * minutes
    campaign = Campaign(recipe_name, recipe, len(items), data, out, ends, validation, device, progress)
    campaign.train(items, longer, note or (lambda sentence: None))
    return campaign.rows


@dataclass
class Campaign:
    """Trainings with the same settings, on the same images, one after another, none begun that would end too late."""

    name: str
    recipe: Recipe
    asked: int
    images: ImageData
    out: Path
    ends: float  # on the monotonic clock
    validation: int
    device: str
    progress: bool | None
    rows: list[TrainedDag] = field(default_factory=list)

    def train(self, items: Sequence[ScoredDag], longer: int | None, note: Callable[[str], object]) -> None:
        """Trains all items that time allows, then perhaps the best for longer."""
        epochs = self.recipe.epochs
        for number, item in enumerate(items, start=1):
            if not self.is_finished(item.dag, epochs):
                if longer is not None and not self.in_time(longer):
                    note(NO_TIME.format(longer))
                    longer = None
                if not self.in_time(epochs, longer or 0):
                    continue
            note(f"{number} of {len(items)}: {Architecture.from_dag(item.dag)}")
            try:
                self.add(item.dag, item.score, epochs)
            except DivergedError as error:
                note(f"left out: {error}")
        if len(self.rows) < len(items):
            note(f"Time allows {len(self.rows)} of {len(items)} architectures.")
        if longer is not None and self.rows:
            self._train_longer(max(self.rows, key=lambda row: row.trained.accuracy), longer, note)

    def _train_longer(self, best: TrainedDag, longer: int, note: Callable[[str], object]) -> None:
        if self.is_finished(best.dag, longer) or self.in_time(longer):
            note(f"the best again, for {longer} epochs: {Architecture.from_dag(best.dag)}")
            self.add(best.dag, best.score, longer)
        else:
            note(NO_TIME.format(longer))

    def is_finished(self, dag: Dag, epochs: int) -> bool:
        """Whether this training is done already."""
        return (self._folder(dag, epochs) / RESULT).is_file()

    def in_time(self, *epochs: int) -> bool:
        """Whether trainings of these numbers of epochs would end in time; the first training always starts."""
        if not self.rows:
            return True
        return time.monotonic() + SLACK * sum(map(self.expected_seconds, epochs)) <= self.ends

    def expected_seconds(self, epochs: int) -> float:
        """Epochs as slow as the slowest so far, and a first epoch, which compiles, as in the last training."""
        if not epochs:
            return 0.0
        per_epoch = max(_seconds_per_epoch(row.trained) for row in self.rows)
        last = self.rows[-1].trained
        evaluation = last.seconds - last.history[-1]["seconds"]
        return last.history[0]["seconds"] + (epochs - 1) * per_epoch + evaluation

    def add(self, dag: Dag, score: float | None, epochs: int) -> None:
        """Trains an architecture, or takes the result that is there, and writes all results so far."""
        trained = train_network(
            Architecture.from_dag(dag), self.images, replace(self.recipe, epochs=epochs), device=self.device,
            validation=self.validation, folder=self._folder(dag, epochs), progress=self.progress,
        )  # fmt: skip
        self.rows.append(TrainedDag(dag, score, trained, epochs > self.recipe.epochs))
        summary = {"recipe": self.name, "asked": self.asked, "trained": [row.to_mapping() for row in self.rows]}
        write_json(self.out / RESULTS, {**summary, "record": record(self.recipe.seed, to_mapping(self.recipe))})

    def _folder(self, dag: Dag, epochs: int) -> Path:
        return self.out / (folder_name(dag) + ("" if epochs == self.recipe.epochs else f"_{epochs}"))


def _seconds_per_epoch(trained: Trained) -> float:
    """The median, which a start in the middle, after an interruption, does not change."""
    ends = [row["seconds"] for row in trained.history]
    between = [later - earlier for earlier, later in itertools.pairwise(ends)]
    return statistics.median(between or ends)
