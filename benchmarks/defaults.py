"""How much of unseen DAGs a model gives back after a few minutes on a few cores, with other settings side by side.

    OMP_NUM_THREADS=2 python benchmarks/defaults.py FILE.jsonl --minutes 10 --variant auto

FILE holds DAGs whose "split" says train or test. Prints one JSON object: of the test DAGs, and of those that are not
among the training DAGs, the share that greedy decoding of the posterior mean gives back.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from dvae import Run, provenance

VARIANTS: dict[str, dict[str, Any]] = {
    "auto": {},
    "auto, no mutations": {"mutations": 0.0},
    "auto, canonical order": {"model.node_order": "canonical"},
    "auto, dvae": {"model.name": "dvae", "model.readout": "sum"},
    "auto, dvae, no mutations": {"model.name": "dvae", "model.readout": "sum", "mutations": 0.0},
    "paper": {"preset": "paper"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--variant", choices=VARIANTS, default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", help="keep the run here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(
            options.run or Path(folder) / "run", data=options.file, minutes=options.minutes,
            **{"training.seed": options.seed} | VARIANTS[options.variant],
        )  # fmt: skip
        result = run.fit(device="cpu", progress=False)
        print(json.dumps(measured(run) | {
            "file": Path(options.file).name, "variant": options.variant, "seed": options.seed, "ended": result.ended,
            "epochs": result.epochs, "planned_epochs": run.config.training.epochs, "seconds": round(result.seconds),
            "graphs_per_second": round(result.graphs_per_second), "threads": os.environ.get("OMP_NUM_THREADS"),
            "model": run.config.model.name, "record": provenance.record(options.seed),
        }))  # fmt: skip


def measured(run: Run) -> dict[str, Any]:
    """Reconstruction of all test DAGs and of those that training has not seen; validity of prior samples."""
    task, vae = run.task, run.model("cpu")
    seen = set(task.keys_of(run.dataset.train.dags))
    dags = list(run.dataset.test.dags)
    keys = task.keys_of(dags)
    decoded = vae.decode(vae.encode(dags).mean, greedy=True)
    same = [task.is_valid(back) and task.key(back) == key for back, key in zip(decoded, keys, strict=True)]
    new = [good for good, key in zip(same, keys, strict=True) if key not in seen]
    samples, obeying = (vae.sample(300, seed=0, valid=valid) for valid in (False, True))
    return {
        "test": len(dags), "test_reconstruction": sum(same) / len(same), "unseen": len(new),
        "unseen_reconstruction": sum(new) / len(new), "prior_validity": sum(map(task.is_valid, samples)) / 300,
        "prior_validity_enforced": sum(map(task.is_valid, obeying)) / 300,
    }  # fmt: skip


if __name__ == "__main__":
    main()
