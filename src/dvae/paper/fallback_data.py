"""Scored architectures made here, where the paper's cannot be had: a stand-in, and named so everywhere.

As in the paper, scores are weight-sharing accuracies, but of a small supernet on handwritten digits, and architectures
are drawn uniformly instead of by a trained controller.
"""

from __future__ import annotations

from pathlib import Path

from dvae.dag import ScoredDag, write_jsonl
from dvae.nas import NetworkConfig, SharedWeightAccuracy, SupernetConfig, train_supernet
from dvae.tasks import EnasTask

SIZE = 5_000  # architectures
SUPERNET = SupernetConfig(
    data="digits",
    validation=400,
    epochs=60,  # of about a second
    batch=64,
    network=NetworkConfig(width=12, channels=1),
)


def make_architectures(
    path: Path, *, size: int = SIZE, config: SupernetConfig = SUPERNET, seed: int = 0, progress: bool | None = True
) -> None:
    """Trains the supernet beside `path`, goes on with one that was begun, and writes scored architectures to it."""
    folder = path.with_name("supernet")
    train_supernet(config, folder, resume=True, progress=progress)
    dags = list(dict.fromkeys(EnasTask(config.depth).sample(size, seed)))
    scores = SharedWeightAccuracy(folder).many(dags, progress=progress)
    write_jsonl(path, [ScoredDag(dag, score) for dag, score in zip(dags, scores, strict=True)])
