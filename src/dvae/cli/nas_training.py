"""Full training of several architectures, one after another, within a limit of time."""

from __future__ import annotations

import hashlib
import itertools
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dvae.cli import answers, nas_demo
from dvae.config import check, parse_override, replace, to_mapping, with_overrides
from dvae.dag import Dag, ScoredDag, to_plain
from dvae.dag.jsonl import format_line
from dvae.data.images import ImageData, load_images
from dvae.files import write_json
from dvae.nas import Architecture, NetworkConfig, Recipe, Trained, get_recipe, train_network
from dvae.nas.full_training import RESULT
from dvae.provenance import record

RESULTS = "results.json"
NO_TIME = "There is no time to train the best for {} epochs."
SLACK = 1.1  # a training may take so many times as long as is expected


@dataclass(frozen=True)
class Row:
    """An architecture, its score before training and what training gave."""

    dag: Dag
    score: float | None
    trained: Trained
    longer: bool = False  # trained again, since it was the best

    def to_mapping(self) -> dict[str, object]:
        trained = self.trained
        return {
            "accuracy": trained.accuracy, "accuracy_with_mirrors": trained.accuracy_with_mirrors,
            "images": trained.images, "weight_sharing_score": self.score, "longer": self.longer,
            "parameters": trained.size.parameters, "flops": trained.size.flops, "epochs": trained.epochs,
            "seconds": trained.seconds, "note": trained.note, **to_plain(self.dag),
        }  # fmt: skip


def ranked(items: Sequence[ScoredDag]) -> list[ScoredDag]:
    """The best first, where there are scores."""
    return sorted(items, key=lambda item: -(item.score if item.score is not None else float("-inf")))


def best_networks(items: Sequence[ScoredDag], network: NetworkConfig) -> list[ScoredDag]:
    """The best first; of those that build the same network, the best alone."""
    kept: dict[Architecture, ScoredDag] = {}
    for item in ranked(items):
        kept.setdefault(Architecture.from_dag(item.dag).as_built(network), item)
    return list(kept.values())


def folder_name(dag: Dag) -> str:
    """An architecture's own name, whatever its place in a file."""
    return hashlib.sha256(format_line(dag).encode()).hexdigest()[:10]


def train_all(
    items: Sequence[ScoredDag],
    out: Path,
    *,
    recipe: str,
    minutes: float | None,
    epochs: int | None,
    data: str,
    validation: int,
    seed: int | None,
    overrides: Sequence[str],
    device: str,
    top: int | None = None,
    longer: int | None = None,
    progress: bool | None = True,
) -> list[Row]:
    """Trains in order, or the `top` best different networks, and writes what is known after each; those that time does
    not allow are left out. Then the best of them is trained again for `longer` epochs, for which time is kept."""
    begun = time.monotonic()
    changes: dict[str, object] = {"epochs": epochs, "seed": seed}
    changes = {key: value for key, value in changes.items() if value is not None}
    changes |= dict(parse_override(text) for text in overrides)
    settings = with_overrides(get_recipe(recipe), changes, "settings")
    check(
        longer is None or longer > settings.epochs,
        f"--longer is for more than the {settings.epochs} epochs of every training: {longer}",
    )
    answers.check_folder(out)
    if top is not None:
        items = best_networks(items, settings.network)[:top]
    ends = math.inf if minutes is None else begun + 60 * minutes
    trainings = Trainings(recipe, settings, len(items), load_images(data), out, ends, validation, device, progress)
    for number, item in enumerate(items, start=1):
        if not trainings.finished(item.dag, settings.epochs):
            if longer is not None and not trainings.in_time(longer):
                answers.remark(NO_TIME.format(longer))
                longer = None
            if not trainings.in_time(settings.epochs, longer or 0):
                continue
        answers.remark(f"{number} of {len(items)}: {nas_demo.in_words(item.dag)}")
        trainings.add(item.dag, item.score, settings.epochs)
    if len(trainings.rows) < len(items):
        answers.remark(f"Time allows {len(trainings.rows)} of {len(items)} architectures.")
    if longer is not None and trainings.rows:
        best = max(trainings.rows, key=lambda row: row.trained.accuracy)
        if trainings.finished(best.dag, longer) or trainings.in_time(longer):
            answers.remark(f"the best again, for {longer} epochs: {nas_demo.in_words(best.dag)}")
            trainings.add(best.dag, best.score, longer)
        else:
            answers.remark(NO_TIME.format(longer))
    return trainings.rows


@dataclass
class Trainings:
    """Trainings with the same settings, on the same images, one after another, none begun that would end too late."""

    recipe: str
    settings: Recipe
    asked: int
    images: ImageData
    out: Path
    ends: float  # on the monotonic clock
    validation: int
    device: str
    progress: bool | None
    rows: list[Row] = field(default_factory=list)

    def finished(self, dag: Dag, epochs: int) -> bool:
        return (self._folder(dag, epochs) / RESULT).is_file()

    def in_time(self, *epochs: int) -> bool:
        """Whether trainings of so many epochs each would end in time; the first training is always begun."""
        if not self.rows:
            return True
        return time.monotonic() + SLACK * sum(map(self.expected_seconds, epochs)) <= self.ends

    def expected_seconds(self, epochs: int) -> float:
        """Of a training like those before: an epoch as in the slowest, first epochs, which compile, as in the last."""
        if not epochs:
            return 0.0
        an_epoch = max(_seconds_an_epoch(row.trained) for row in self.rows)
        last = self.rows[-1].trained
        evaluation = last.seconds - last.history[-1]["seconds"]
        return last.history[0]["seconds"] + (epochs - 1) * an_epoch + evaluation

    def add(self, dag: Dag, score: float | None, epochs: int) -> None:
        trained = train_network(
            Architecture.from_dag(dag), self.images, replace(self.settings, epochs=epochs), device=self.device,
            validation=self.validation, folder=self._folder(dag, epochs), progress=self.progress,
        )  # fmt: skip
        self.rows.append(Row(dag, score, trained, epochs > self.settings.epochs))
        summary = {"recipe": self.recipe, "asked": self.asked, "trained": [row.to_mapping() for row in self.rows]}
        write_json(self.out / RESULTS, {**summary, "record": record(self.settings.seed, to_mapping(self.settings))})

    def _folder(self, dag: Dag, epochs: int) -> Path:
        return self.out / (folder_name(dag) + ("" if epochs == self.settings.epochs else f"_{epochs}"))


def _seconds_an_epoch(trained: Trained) -> float:
    """The median, which a start in the middle, after an interruption, does not change."""
    ends = [row["seconds"] for row in trained.history]
    between = [later - earlier for earlier, later in itertools.pairwise(ends)]
    return statistics.median(between or ends)


def answer(rows: Sequence[Row], out: Path, as_json: bool) -> None:
    if as_json:
        answers.print_json({"folder": str(out), "trained": [row.to_mapping() for row in rows]})
        return
    print_rows(rows)
    answers.remark(f"Everything is in {out}; started again, finished trainings are not repeated.")


def print_rows(rows: Sequence[Row], title: str | None = None) -> None:
    best_first = sorted(rows, key=lambda row: -row.trained.accuracy)
    images = rows[0].trained.images if rows else "test"
    columns = {
        f"{images} accuracy": [f"{row.trained.accuracy:.2%}" for row in best_first],
        "with mirrors": [_share(row.trained.accuracy_with_mirrors) for row in best_first],
        "score before": ["" if row.score is None else f"{row.score:.4f}" for row in best_first],
        "parameters": [f"{row.trained.size.parameters:,}" for row in best_first],
        "operations": [f"{row.trained.size.flops / 1e6:,.1f} million" for row in best_first],
        "epochs": [f"{row.trained.epochs} in {row.trained.seconds:.0f} s" for row in best_first],
        "architecture": [nas_demo.in_words(row.dag) for row in best_first],
    }
    told = {name: cells for name, cells in columns.items() if any(cells)}
    answers.print_table(list(zip(*told.values(), strict=True)), title=title, header=tuple(told))
    answers.remark_note(rows[0].trained.note if rows else "")


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.2%}"
