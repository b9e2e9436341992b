"""A short training of every model, and one figure of all their losses.

    python benchmarks/curves.py --task enas6,asia --epochs 10 --size 4000 --hidden 128 --out benchmarks/results/FOLDER

Enough to see every loss fall as expected, on one machine and one seed; not a comparison of what they end at.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import dvae
from dvae import provenance
from dvae.dag import DagBatch
from dvae.figures import Series, save_curves
from dvae.files import write_json
from dvae.models import MODELS
from dvae.tasks import Task


def graphs_of(task: Task, size: int) -> tuple[DagBatch, str]:
    """The paper's data where they are at hand, sampled DAGs of the task otherwise."""
    try:
        data = task.dataset(size=size)
        return task.batch(data.train.dags), data.name
    except dvae.DvaeError:
        return task.sample_batch(size, seed=0), f"{task.name}, sampled"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="enas6,asia")
    parser.add_argument("--model", default=",".join(MODELS))
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--size", type=int, default=4000)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--budget", type=float, default=120, help="seconds a model may train")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--out", type=Path, required=True, help="a folder for curves.json and the figures")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for task_name in options.task.split(","):
        task = dvae.tasks.get(task_name)
        batch, source = graphs_of(task, options.size)
        series = []
        for name in options.model.split(","):
            vae = dvae.models.build(name, task, hidden=options.hidden, seed=0)
            result = dvae.fit(
                vae, batch, epochs=options.epochs, batch_size=options.batch, learning_rate=options.rate,
                device=options.device, time_budget=options.budget, progress=True,
            )  # fmt: skip
            losses = [epoch["loss"] for epoch in result.history]
            rows.append(
                {
                    "task": task_name, "data": source, "model": name, "loss": losses, "ended": result.ended,
                    "graphs_per_second": result.graphs_per_second,
                }
            )  # fmt: skip
            print(f"{task_name} {name}: {' '.join(f'{loss:.2f}' for loss in losses)}", flush=True)
            if losses:
                series.append(Series(name, tuple(range(1, len(losses) + 1)), tuple(losses)))
        title = f"Training loss on {task.name}, {len(batch):,} graphs, hidden {options.hidden}"
        for suffix in ("svg", "png"):
            path = options.out / f"curves_{task.name}.{suffix}"
            save_curves(path, series, xlabel="epoch", ylabel="loss a graph", title=title, log=True)
        settings = {key: str(value) for key, value in vars(options).items()}
        report = {"benchmark": "curves", "settings": settings, "threads": torch.get_num_threads(), "rows": rows}
        write_json(options.out / "curves.json", {**report, "record": provenance.record(0)})
    print(json.dumps([{key: row[key] for key in ("task", "model", "ended")} for row in rows]))


if __name__ == "__main__":
    main()
