"""Quality against seconds of training: reconstruction, and how well a sparse GP predicts scores from the latents.

    python benchmarks/time_to_quality.py --task enas6 --device cuda --contenders ours,paper,dagnn,pace \
        --seconds 5,10,15,20,40,80 --seeds 0,1,2 --out benchmarks/results/FOLDER

Training stops at each of the times, is measured, and goes on: `seconds` are those of training alone. `started` are the
seconds from the start of the training function to its first step, compiling and capturing included. `ours` is the
preset auto; the others have the paper's settings. Rows are kept as they come (`rows.jsonl`), so a run that was stopped
goes on where it was; a contender is finished when its epochs are done. No score is used in training. On a machine that
other work shares, seconds say little: with --alone the figure counts epochs at rates that were measured without it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import torch

import dvae
from dvae import provenance
from dvae.dag import Dataset
from dvae.evaluation import predictivity, prior_samples, reconstruction
from dvae.figures import Panel, Series, save_panels
from dvae.files import write_json
from dvae.models import VAE
from dvae.runs import Run

PAPER = {"paper": "dvae", "dagnn": "dagnn", "pace": "pace"}
TEST_GRAPHS = 1_000


def new_run(folder: Path, task: str, contender: str, seed: int, size: int | None, device: str) -> Run:
    """The run of a contender, before its training."""
    settings: dict[str, Any] = {"seed": seed} | ({} if size is None else {"size": size})
    if contender == "ours":
        return Run.create(folder, task, preset="auto", device=device, **settings)
    return Run.create(folder, task, preset="paper", **{"model.name": PAPER[contender]}, **settings)


def quality(vae: VAE, data: Dataset, seed: int) -> dict[str, float | None]:
    """What is measured of a model: reconstruction, samples, predictivity."""
    test = vae.task.batch(data.test.dags[:TEST_GRAPHS])
    row: dict[str, float | None] = {
        mode: reconstruction(vae, test, mode=mode, seed=seed, progress=False).share.value
        for mode in ("mean", "posterior")
    }
    prior = prior_samples(vae, data.train.dags, seed=seed, recompute=True, progress=False)
    row["validity"] = prior.validity.value
    row["uniqueness"] = None if prior.uniqueness is None else prior.uniqueness.value
    found = predictivity(vae, data, repeats=1, seed=seed, baselines=False, progress=False).rows[0]
    return {**row, "rmse": found.rmse_mean, "r": found.r_mean}


def measured(
    folder: Path, task: str, contender: str, seed: int, options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """A row for each of the times at which training stops."""
    run = new_run(folder, task, contender, seed, options.size, options.device)
    for place, limit in enumerate(options.seconds):
        began = time.monotonic()
        vae = run.new_model()
        result = run.fit(vae=vae, resume=place > 0, device=options.device, time_budget=limit, progress=True)
        spent = time.monotonic() - began
        yield {
            "task": task, "contender": contender, "seed": seed, "device": options.device, "seconds": result.seconds,
            "epochs": result.epochs, "ended": result.ended, "graphs_per_second": result.graphs_per_second,
            "graphs": len(run.dataset.train), "fit_wall": spent, **quality(vae, run.dataset, seed),
        }  # fmt: skip
        if result.ended == "epochs":
            return


def draw(rows: list[dict[str, Any]], out: Path, task: str, alone: dict[str, float]) -> None:
    """RMSE, and what is not given back, against seconds; at the rates of a machine that does nothing else, if given."""

    def seconds(row: dict[str, Any]) -> float:
        rate = alone.get(row["contender"])
        return float(row["seconds"] if rate is None else row["epochs"] * row["graphs"] / rate)

    panels = []
    for name, label in (("rmse", "RMSE of a sparse GP"), ("lost", "share of DAGs not given back at the mean")):
        series = []
        for contender in dict.fromkeys(row["contender"] for row in rows):
            mine = sorted((row for row in rows if row["contender"] == contender and row["epochs"]), key=seconds)
            values = [row["rmse"] if name == "rmse" else max(1 - row["mean"], 1e-5) for row in mine]
            series.append(Series(contender, tuple(map(seconds, mine)), tuple(values)))
        panels.append(Panel(f"{task}: {label}", "seconds of training", label, tuple(series), log=True, log_x=True))
    for suffix in ("svg", "png"):
        save_panels(out / f"{task}.{suffix}", panels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="enas6")
    parser.add_argument("--size", type=int, help="DAGs of a task that samples its data")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--contenders", default="ours,paper", help=f"ours, {', '.join(PAPER)}")
    parser.add_argument("--seconds", default="5,10,15,20,40", help="of training, at which quality is measured")
    parser.add_argument("--seeds", default="0")
    parser.add_argument(
        "--alone", default="", metavar="NAME=RATE,..",
        help="graphs a second of contenders alone on the machine: where it was shared, the figure takes these",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.seconds = [float(word) for word in options.seconds.split(",")]
    options.device = dvae.devices.available_device(options.device)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "rows.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    for contender in options.contenders.split(","):
        for seed in map(int, options.seeds.split(",")):
            key = {"task": options.task, "contender": contender, "seed": seed, "device": options.device}
            if any(key.items() <= row.items() for row in rows):
                continue
            with tempfile.TemporaryDirectory() as folder:
                new = []
                for row in measured(Path(folder) / "run", options.task, contender, seed, options):
                    print(json.dumps(row), flush=True)
                    new.append(row)
            with path.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in new)
            rows += new
    alone = {name: float(rate) for name, _, rate in (word.partition("=") for word in options.alone.split(",") if word)}
    draw([row for row in rows if row["task"] == options.task], options.out, options.task, alone)
    settings = {name: str(value) for name, value in vars(options).items()}
    report = {"benchmark": "time_to_quality", "settings": settings, "threads": torch.get_num_threads()}
    write_json(options.out / f"{options.task}.json", {**report, "rows": rows, "record": provenance.record(0)})


if __name__ == "__main__":
    main()
