"""Do shorter number formats in matrix products change training?

    python benchmarks/precision.py --device cuda --epochs 8 --json

Trains the same model from the same seed once for each format and compares the losses epoch by epoch.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="enas6")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--size", type=int, help="use only the first DAGs of the data set")
    parser.add_argument("--hidden", type=int, default=501)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--precision", default="", help="formats joined by commas (default: all of the device)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    everything = "float32,tf32,bf16" if options.device == "cuda" else "float32,bf16"
    task = dvae.tasks.get(options.task)
    data = task.dataset(size=options.size)
    batch = task.batch(data.train.dags)
    rows: list[dict[str, Any]] = []
    for precision in (options.precision or everything).split(","):
        vae = dvae.models.build("dvae", task, hidden=options.hidden, seed=0)
        result = dvae.fit(
            vae, batch, epochs=options.epochs, batch_size=options.batch, device=options.device, precision=precision
        )
        losses = [epoch["loss"] for epoch in result.history]
        reference = rows[0]["loss"] if rows else losses
        gap = max(abs(loss - other) / other for loss, other in zip(losses, reference, strict=True))
        row = {"precision": precision, "loss": losses, "largest_relative_gap": gap}
        rows.append({**row, "graphs_per_second": result.graphs_per_second})
    report = {
        "benchmark": "precision", "task": options.task, "data": data.name, "device": options.device,
        "batch": options.batch, "hidden": options.hidden, "threads": torch.get_num_threads(), "rows": rows,
        "record": provenance.record(0),
    }  # fmt: skip
    if options.json:
        print(json.dumps(report, indent=2))
        return
    for row in rows:
        shown = " ".join(f"{loss:.3f}" for loss in row["loss"])
        print(f"{row['precision']:>8}: {shown}  (largest gap {row['largest_relative_gap']:.2%})")


if __name__ == "__main__":
    main()
