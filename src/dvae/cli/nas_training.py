"""Full training of several architectures, one after another, within a limit of time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dvae.cli import answers, nas_demo
from dvae.config import parse_override, to_mapping, with_overrides
from dvae.dag import Dag, ScoredDag
from dvae.dag.jsonl import format_line
from dvae.data.images import load_images
from dvae.files import write_json
from dvae.nas import Architecture, NetworkConfig, Trained, recipe_named, train_network
from dvae.provenance import record

RESULTS = "results.json"
SLACK = 1.1  # a training may take so many times as long as the longest before it


@dataclass(frozen=True)
class Row:
    """An architecture, its score before training and what training gave."""

    dag: Dag
    score: float | None
    trained: Trained

    def to_mapping(self) -> dict[str, object]:
        trained = self.trained
        return {
            "accuracy": trained.accuracy, "images": trained.images, "weight_sharing_score": self.score,
            "parameters": trained.size.parameters, "flops": trained.size.flops, "epochs": trained.epochs,
            "seconds": trained.seconds, "note": trained.note, "types": self.dag.types, "edges": self.dag.edges,
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
    progress: bool | None = True,
) -> list[Row]:
    """Trains in order, or the `top` best different networks, and writes what is known after each; those that time does
    not allow are left out."""
    begun = time.monotonic()
    changes: dict[str, object] = {"epochs": epochs, "seed": seed}
    changes = {key: value for key, value in changes.items() if value is not None}
    changes |= dict(parse_override(text) for text in overrides)
    settings = with_overrides(recipe_named(recipe), changes, "settings")
    if top is not None:
        items = best_networks(items, settings.network)[:top]
    images = load_images(data)
    rows: list[Row] = []
    longest = 0.0
    for number, item in enumerate(items, start=1):
        if minutes is not None and rows and time.monotonic() - begun + SLACK * longest > 60 * minutes:
            answers.remark(f"Time allows {len(rows)} of {len(items)} architectures.")
            break
        answers.remark(f"{number} of {len(items)}: {nas_demo.in_words(item.dag)}")
        trained = train_network(
            Architecture.from_dag(item.dag), images, settings, device=device, validation=validation,
            folder=out / folder_name(item.dag), progress=progress,
        )  # fmt: skip
        rows.append(Row(item.dag, item.score, trained))
        longest = max(longest, trained.seconds)  # also where it was trained by an earlier call
        summary = {"recipe": recipe, "asked": len(items), "trained": [row.to_mapping() for row in rows]}
        write_json(out / RESULTS, {**summary, "record": record(settings.seed, to_mapping(settings))})
    return rows


def answer(rows: Sequence[Row], out: Path, as_json: bool) -> None:
    if as_json:
        answers.print_json({"folder": str(out), "trained": [row.to_mapping() for row in rows]})
        return
    print_rows(rows)
    answers.remark(f"Everything is in {out}; started again, finished trainings are not repeated.")


def print_rows(rows: Sequence[Row], title: str | None = None) -> None:
    best_first = sorted(rows, key=lambda row: -row.trained.accuracy)
    cells = [
        (
            f"{row.trained.accuracy:.2%}",
            "" if row.score is None else f"{row.score:.4f}",
            f"{row.trained.size.parameters:,}",
            f"{row.trained.size.flops / 1e6:,.1f} million",
            f"{row.trained.seconds:.0f} s",
            nas_demo.in_words(row.dag),
        )
        for row in best_first
    ]
    images = rows[0].trained.images if rows else "test"
    header = (f"{images} accuracy", "score before", "parameters", "operations", "trained", "architecture")
    answers.print_table(cells, title=title, header=header)
    if rows and rows[0].trained.note:
        answers.remark(f"Note: {rows[0].trained.note}.")
