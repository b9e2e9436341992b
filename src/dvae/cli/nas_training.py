"""Full training of several architectures, one after another, within a limit of time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dvae.cli import answers, nas_demo
from dvae.config import parse_override, replace, to_mapping, with_overrides
from dvae.dag import Dag, ScoredDag, to_plain
from dvae.dag.jsonl import format_line
from dvae.data.images import ImageData, load_images
from dvae.files import write_json
from dvae.nas import Architecture, NetworkConfig, Recipe, Trained, recipe_named, train_network
from dvae.provenance import record

RESULTS = "results.json"
SLACK = 1.1  # a training may take so many times as long as is expected


@dataclass(frozen=True)
class Row:
    """An architecture, its score before training and what training gave."""

    dag: Dag
    score: float | None
    trained: Trained

    def to_mapping(self) -> dict[str, object]:
        trained = self.trained
        return {
            "accuracy": trained.accuracy, "accuracy_with_mirrors": trained.accuracy_with_mirrors,
            "images": trained.images, "weight_sharing_score": self.score,
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
    changes: dict[str, object] = {"epochs": epochs, "seed": seed}
    changes = {key: value for key, value in changes.items() if value is not None}
    changes |= dict(parse_override(text) for text in overrides)
    settings = with_overrides(recipe_named(recipe), changes, "settings")
    if top is not None:
        items = best_networks(items, settings.network)[:top]
    trainings = _Trainings(
        recipe, settings, len(items), load_images(data), out, minutes, validation, device, progress
    )  # fmt: skip
    for number, item in enumerate(items, start=1):
        if not trainings.in_time(settings.epochs, *([longer] if longer else [])):
            answers.remark(f"Time allows {number - 1} of {len(items)} architectures.")
            break
        answers.remark(f"{number} of {len(items)}: {nas_demo.in_words(item.dag)}")
        trainings.add(item.dag, item.score, settings.epochs)
    if longer is not None and trainings.rows:
        if trainings.in_time(longer):
            best = max(trainings.rows, key=lambda row: row.trained.accuracy)
            answers.remark(f"the best again, for {longer} epochs: {nas_demo.in_words(best.dag)}")
            trainings.add(best.dag, best.score, longer)
        else:
            answers.remark(f"There is no time to train the best for {longer} epochs.")
    return trainings.rows


@dataclass
class _Trainings:
    """Trainings with the same settings, on the same images, one after another."""

    recipe: str
    settings: Recipe
    asked: int
    images: ImageData
    out: Path
    minutes: float | None
    validation: int
    device: str
    progress: bool | None
    rows: list[Row] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)

    def in_time(self, *epochs: int) -> bool:
        """Whether trainings of so many epochs each would end in time; the first training is always begun."""
        if self.minutes is None or not self.rows:
            return True
        expected = SLACK * sum(map(self._expected_seconds, epochs))
        return time.monotonic() - self.begun + expected <= 60 * self.minutes

    def _expected_seconds(self, epochs: int) -> float:
        """By the slowest training so far, be it of an earlier call; of first epochs, which compile, by the last one."""
        histories = [row.trained.history for row in self.rows]
        later = max((ends[-1]["seconds"] - ends[0]["seconds"]) / max(len(ends) - 1, 1) for ends in histories)
        first = histories[-1][0]["seconds"]
        return first + (epochs - 1) * (later or first)

    def add(self, dag: Dag, score: float | None, epochs: int) -> None:
        name = folder_name(dag) + ("" if epochs == self.settings.epochs else f"_{epochs}")
        trained = train_network(
            Architecture.from_dag(dag), self.images, replace(self.settings, epochs=epochs), device=self.device,
            validation=self.validation, folder=self.out / name, progress=self.progress,
        )  # fmt: skip
        self.rows.append(Row(dag, score, trained))
        summary = {"recipe": self.recipe, "asked": self.asked, "trained": [row.to_mapping() for row in self.rows]}
        write_json(self.out / RESULTS, {**summary, "record": record(self.settings.seed, to_mapping(self.settings))})


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
    if rows and rows[0].trained.note:
        answers.remark(f"Note: {rows[0].trained.note}.")


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.2%}"
