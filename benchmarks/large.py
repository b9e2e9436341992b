r"""Large DAGs: models trained for the same time, and what they generate judged as LayerDAG judges it.

    python benchmarks/large.py --seconds 3600 --device cuda --preset h200 --work /tmp/large-runs \
        --out benchmarks/results/large-h200

does it all: high-level synthesis (LUT), NA-Edge (cortex) and TPU tiles (run time), each with `layerwise` and `dvae`,
each trained for the same seconds, then `dvae evaluate --surrogate` with the published sizes of the surrogate. Trainings
go on where they stopped, and what is in `--out` is not measured again. `--preset cpu` has the settings of two shared
CPU cores, with fewer and smaller DAGs (docs/results/large-quality.md).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).parent))

from large_data import NAMES, PROPERTIES, write

from dvae.config import parse_override
from dvae.evaluation import SurrogateSettings
from dvae.runs import Run
from dvae.tasks import get

SURROGATES = {"hls": (3, 64), "na_edge": (1, 1), "tpu": (4, 128)}  # layers and width, as published
NEVER = 1_000_000  # epochs between two validations


@dataclass(frozen=True)
class Preset:
    """Settings for one kind of machine."""

    model: dict[str, Any]
    training: dict[str, Any]
    data: dict[str, int] = field(default_factory=dict)  # of `large_data.write`
    labels: int | None = None
    surrogate_epochs: int = 500
    surrogate_patience: int = 100
    models: dict[str, dict[str, Any]] = field(default_factory=dict)  # what one model has besides


PRESETS = {
    "h200": Preset(
        {"hidden": 256, "latent": 128},
        {"batch_size": 64, "learning_rate": 5e-4, "schedule": "cosine", "warmup": 500, "clip": 20.0},
        models={"layerwise": {"token_width": 256, "layers": 4, "kl_weight": 0.1}},
    ),
    "cpu": Preset(
        {"hidden": 64, "latent": 64},
        {"batch_size": 16, "learning_rate": 1.5e-3, "schedule": "cosine", "warmup": 100, "clip": 20.0},
        {"max_nodes": 64, "limit": 4_000},
        labels=1_000,
        surrogate_epochs=100,
        surrogate_patience=25,
        models={"layerwise": {"token_width": 64, "kl_weight": 0.1}, "dvae": {"batch_size": 32, "learning_rate": 1e-3}},
    ),
    "tiny": Preset(
        {"hidden": 8, "latent": 4},
        {"batch_size": 16, "learning_rate": 1e-3},
        {"max_nodes": 200, "limit": 24},
        labels=20,
        surrogate_epochs=2,
        models={"layerwise": {"token_width": 8}},
    ),
}


def main() -> None:
    """Trains and judges every model on every data set that has not been measured yet."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--sets", default=",".join(NAMES))
    words.add_argument("--models", default="layerwise,dvae")
    words.add_argument("--preset", choices=PRESETS, default="h200")
    words.add_argument("--seconds", type=float, default=3600, help="of training, for each model")
    words.add_argument("--epochs", type=int, default=300, help="at most; the rate falls to a hundredth by then")
    words.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any setting of the run")
    words.add_argument("--labels", type=int, help="generate for so many training labels, not for all")
    words.add_argument("--test-limit", type=int)
    words.add_argument("--valid", action="store_true", help="generate within the rules that the data obey")
    words.add_argument(
        "--places", type=int, help="latents for each place of a layerwise model, besides the common ones"
    )
    words.add_argument("--change", type=float, help="vary training DAGs by so much, instead of drawing from the prior")
    words.add_argument("--best-of", type=int, default=1, help="make so many DAGs for a label, and take the nearest")
    words.add_argument("--device", default="auto")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--work", type=Path, required=True, help="where data and runs are kept")
    words.add_argument("--out", type=Path, required=True, help="where results are kept, a JSON file for each")
    options = words.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    options.work.mkdir(parents=True, exist_ok=True)
    found = {}
    for name in options.sets.split(","):
        for model in options.models.split(","):
            path = options.out / f"{name}-{model}.json"
            if not path.exists():
                measured = measure(name, model, PRESETS[options.preset], options)
                path.write_text(json.dumps(measured, indent=2) + "\n")
            found[path.stem] = json.loads(path.read_text())["generation"]["generated"]
    print(json.dumps(found))


def measure(name: str, model: str, preset: Preset, options: argparse.Namespace) -> dict[str, Any]:
    """One model on one data set: trained, or trained on, and judged."""
    data = options.work / f"{name}.jsonl.gz"
    if not data.exists():
        write(name, data, seed=options.seed, **preset.data)
    training = trained(name, model, data, preset, options)
    layers, width = SURROGATES[name]
    judged = Run.open(options.work / f"{name}-{model}").generation(
        PROPERTIES[name],
        labels=options.labels or preset.labels,
        test_limit=options.test_limit,
        settings=SurrogateSettings(layers, width, preset.surrogate_epochs, preset.surrogate_patience),
        valid=options.valid,
        change=options.change,
        best_of=options.best_of,
        seed=options.seed,
        device=options.device,
    )
    return {"set": name, "model": model, "preset": options.preset, **training, "generation": judged.to_mapping()}


def trained(name: str, model: str, data: Path, preset: Preset, options: argparse.Namespace) -> dict[str, Any]:
    """Trains the run up to its seconds, unless it has had them; how that went."""
    folder = options.work / f"{name}-{model}"
    started = time.process_time()
    if (folder / "run.toml").exists():
        run = Run.open(folder)
    else:
        settings = {**preset.model, **preset.training, **preset.models.get(model, {})}
        settings |= {"epochs": options.epochs, "training.seed": options.seed, "validation_every": NEVER}
        settings |= {"model.name": model, "model.conditions": (PROPERTIES[name],), "time_budget": options.seconds}
        if options.places:
            settings["latent"] += options.places * get(f"file:{data}").max_nodes
            settings["place_latents"] = options.places
        settings |= dict(parse_override(text) for text in options.set)
        run = Run.create(folder, f"file:{data}", preset="paper", **settings)
    if not (folder / "model.safetensors").exists():
        run.fit(resume=(folder / "checkpoint.safetensors").exists(), device=options.device)
    record = json.loads((folder / "training.json").read_text())
    return {"training": record["result"], "device": record["device"], "cpu_seconds": time.process_time() - started}


if __name__ == "__main__":
    main()
