"""Recipes of full training side by side, on training images kept back.

    python benchmarks/nas_recipes.py DAGS --out recipes.json --minutes 9 --device cuda

Trains the best architecture of a JSONL file with variants of the recipe `fast`, one after another, as many as time
allows, and tells accuracies on 10,000 training images that training has not seen; the test images are left alone. The
first rows compare seconds an epoch with and without torch.compile.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from dvae import provenance
from dvae.config import replace, to_mapping
from dvae.dag import load_jsonl, to_plain
from dvae.data.images import ImageData, load_images
from dvae.files import write_json
from dvae.nas import Architecture, Recipe, get_recipe, train_network
from dvae.nas.dataset import best_networks

VALIDATION = 10_000
TIMED_EPOCHS = 3
CUTOUT, DISTORTION, MIXING = "augmentation.cutout", "augmentation.distortion", "augmentation.mixing"
PLAIN = {DISTORTION: 0.0}
VARIANTS: list[tuple[str, int, dict[str, Any]]] = [
    ("plain", 24, PLAIN),
    ("larger cut-out", 24, {**PLAIN, CUTOUT: 0.5}),
    ("mixing", 24, {**PLAIN, CUTOUT: 0.0, MIXING: 0.5}),
    ("distortion 1", 24, {DISTORTION: 1.0}),
    ("weight decay 1e-3", 24, {**PLAIN, "weight_decay": 1e-3}),
    ("distortion 0.5", 24, {}),
    ("distortion 1", 60, {DISTORTION: 1.0}),
    ("distortion 0.5", 60, {}),
    ("mixing", 60, {**PLAIN, CUTOUT: 0.0, MIXING: 0.5}),
    ("plain", 60, PLAIN),
]


class Comparison:
    def __init__(self, architecture: Architecture, data: ImageData, base: Recipe, out: Path, device: str) -> None:
        self.architecture, self.data, self.base, self.out, self.device = architecture, data, base, out, device
        self.validation = min(VALIDATION, len(data.train) // 5)
        self.rows: list[dict[str, Any]] = []

    def row(self, name: str, recipe: Recipe) -> dict[str, Any]:
        trained = train_network(
            self.architecture, self.data, recipe, device=self.device, validation=self.validation, progress=False
        )
        curve = trained.history
        row = {
            "recipe": name, "epochs": recipe.epochs, "validation_accuracy": trained.accuracy,
            "with_mirrors": trained.accuracy_with_mirrors, "last_loss": curve[-1]["loss"], "seconds": trained.seconds,
            "last_epoch_seconds": curve[-1]["seconds"] - curve[-2]["seconds"] if len(curve) > 1 else trained.seconds,
            "curve": [epoch["accuracy"] for epoch in curve],
        }  # fmt: skip
        self.rows.append(row)
        write_json(self.out, self.summary())
        print({key: value for key, value in row.items() if key != "curve"}, file=sys.stderr, flush=True)
        return row

    def summary(self) -> dict[str, Any]:
        return {
            "benchmark": "nas_recipes", "images": self.data.note or "the lossless originals",
            "kept_back": self.validation,
            "dag": to_plain(self.architecture.dag()), "rows": self.rows,
            "record": provenance.record(self.base.seed, to_mapping(self.base)),
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dags", type=Path, help="JSONL; the best by score is trained")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="the smallest of everything, to see that it works")
    options = parser.parse_args()
    begun = time.monotonic()
    data, base = load_images("cifar10"), get_recipe("fast")
    if options.tiny:
        data, base = data.limited(600, 100), replace(base, batch=50, **{"network.width": 4})
    if options.device == "cuda":
        torch.set_float32_matmul_precision("high")
    best = best_networks(load_jsonl(options.dags), base.network)[0]
    comparison = Comparison(Architecture.from_dag(best.dag), data, base, options.out, options.device)
    choices = (False, True) if options.device == "cuda" else (False,)
    timed = {
        choice: comparison.row(f"timing, compile={choice}", replace(base, epochs=TIMED_EPOCHS, compile=choice))
        for choice in choices
    }
    faster = min(choices, key=lambda choice: float(timed[choice]["last_epoch_seconds"]))
    for name, epochs, changes in VARIANTS:
        count = 1 if options.tiny else epochs
        start = timed[faster]["seconds"] - TIMED_EPOCHS * timed[faster]["last_epoch_seconds"]
        expected = start + 1.2 * count * timed[faster]["last_epoch_seconds"]
        if time.monotonic() - begun + expected < 60 * options.minutes:
            comparison.row(name, replace(base, epochs=count, compile=faster, **changes))
    print(json.dumps(comparison.summary()))


if __name__ == "__main__":
    main()
