"""Expressions close to 1/3 + x + sin(x * x), by the protocol of weighted retraining (Tripp et al., NeurIPS 2020).

    python benchmarks/expressions.py train --run RUN --epochs 60
    python benchmarks/expressions.py search --run RUN --strategy latent-evolution --seeds 0-9 --lines rows.jsonl
    python benchmarks/expressions.py table --lines rows.jsonl --json

Nothing scoring below the median (4.736) is ever seen. The model is trained on the worse half, as the published one was
(50,111 expressions, 20,183 distinct DAGs); each seed draws 5,000 of its expressions, whose scores the search knows.
Then 500 evaluations; a DAG that is known costs none and is not proposed. Every finished search is a line of the file,
which a second call does not search again. `table` sets the means beside the published searches.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import random
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import dvae
from dvae import provenance
from dvae.dag import Dataset, ScoredDag
from dvae.data import data_folder
from dvae.runs.retraining import trainer
from dvae.strategies import LatentEvolution, LatentEvolutionConfig
from dvae.studies import Retraining, Study
from dvae.tasks import ExpressionsTask
from dvae.tasks.expressions import FILE
from dvae.training import TrainingConfig

MEDIAN = 4.73639217
KNOWN, BUDGET, AT = 5_000, 500, (50, 100, 200, 300, 400, 500)
TEST = 1_000  # distinct DAGs of the worse half that the model is not trained on, to measure reconstruction
STRATEGIES: dict[str, Any] = {  # beside those of the library: the parts of latent-evolution alone
    "latents": partial(LatentEvolution, config=LatentEvolutionConfig(latents=1.0, grafts=0.0)),
    "edits": partial(LatentEvolution, config=LatentEvolutionConfig(latents=0.0, grafts=0.0)),
    "edits+grafts": partial(LatentEvolution, config=LatentEvolutionConfig(latents=0.0, grafts=0.5)),
    "edits+latents": partial(LatentEvolution, config=LatentEvolutionConfig(latents=0.5, grafts=0.0)),
}


def worse_half(task: ExpressionsTask) -> list[ScoredDag]:
    """Every published expression that scores no better than the median."""
    return [item for item in task.read(data_folder() / FILE) if item.score is not None and -item.score >= MEDIAN]


def distinct(task: ExpressionsTask) -> Dataset:
    """The worse half as DAGs, each once; the last ones are for testing."""
    dags = list(dict.fromkeys(item.dag for item in worse_half(task)))
    random.Random(0).shuffle(dags)
    return Dataset.of("the worse half", dags[:-TEST], (), dags[-TEST:])


def train(options: argparse.Namespace) -> None:
    """A model of the worse half."""
    task = ExpressionsTask()
    settings = dict(setting.split("=", 1) for setting in options.set)
    run = dvae.Run.create(
        options.run, task, data=distinct(task), preset="auto", epochs=options.epochs,
        **{key: json.loads(value) for key, value in settings.items()},
    )  # fmt: skip
    result = run.fit(device=options.device, progress=False)
    vae, dags = run.model(options.device), run.dataset.test.dags
    back = vae.decode(vae.encode(dags).mean, greedy=True, valid=True)
    share = sum(a == b for a, b in zip(task.keys_of(back), task.keys_of(dags), strict=True)) / len(dags)
    drawn = vae.sample(1000, seed=0, valid=True)
    print(json.dumps({
        "epochs": result.epochs, "seconds": result.seconds, "loss": result.final_loss,
        "reconstruction_of_unseen": share, "valid": sum(map(task.is_valid, drawn)) / 1000, "distinct": len(set(drawn)),
    }), flush=True)  # fmt: skip


def search(vae: dvae.VAE, items: list[ScoredDag], name: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """One search from 5,000 known scores."""
    task = ExpressionsTask()
    known = sorted(random.Random(seed).sample(items, options.known), key=lambda item: item.score or 0.0)
    plan = None
    if options.retrain:
        settings = TrainingConfig(batch_size=64, learning_rate=options.retrain_rate, clip=5.0)
        dags = list(dict.fromkeys(item.dag for item in known))
        plan = Retraining(
            options.retrain, trainer(settings, options.device), dags, weight=options.retrain_weight,
            epochs=options.retrain_epochs, folder=options.keep and options.keep / f"{name}-{seed}",
        )  # fmt: skip
    strategy = STRATEGIES.get(name, name)
    if options.settings:
        pairs = (setting.split("=", 1) for setting in options.settings)
        strategy = partial(LatentEvolution, config=LatentEvolutionConfig(**{k: json.loads(v) for k, v in pairs}))
    started = time.perf_counter()
    study = dvae.search(
        vae, task, strategy=strategy, warm=known, seed=seed, budget=options.budget,
        batch=options.batch, retrain=plan,
    )  # fmt: skip
    return {
        "best": best_at(study, options.budget), "evaluations": len(study.trials),
        "expression": task.format(study.best_dag), "seconds": round(time.perf_counter() - started, 1),
    }  # fmt: skip


def best_at(study: Study, budget: int) -> dict[str, float]:
    """The lowest log(1 + MSE) after so many evaluations."""
    errors = [0.0 - trial.score for trial in study.trials if trial.score is not None]
    return {str(count): min(errors[:count]) for count in sorted({*AT, budget}) if count <= budget}


def searches(options: argparse.Namespace) -> None:
    """All seeds of all strategies that are not in the file yet."""
    task = ExpressionsTask()
    items = worse_half(task)
    vae = dvae.load(options.run, device=options.device)
    first, _, last = options.seeds.partition("-")
    done = [(row["label"], row["seed"]) for row in lines_of(options.lines)]
    for name in options.strategy.split(","):
        label = name + (f", retrained every {options.retrain}" if options.retrain else "") + options.note
        for seed in range(int(first), int(last or first) + 1):
            if (label, seed) in done:
                continue
            row = {"label": label, "seed": seed, "model": vae.config.name, "budget": options.budget}
            row |= search(vae, items, name, seed, options)
            row["record"] = provenance.record(seed)
            with options.lines.open("a", encoding="utf-8") as file:  # of several processes, one at a time
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(json.dumps(row) + "\n")
            print(label, seed, row["best"], row["expression"], row["seconds"], file=sys.stderr, flush=True)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def table(options: argparse.Namespace) -> None:
    """Means over seeds, and the published ones."""
    rows = lines_of(options.lines)
    labels = list(dict.fromkeys(row["label"] for row in rows))
    ours = {label: summary([row["best"] for row in rows if row["label"] == label]) for label in labels}
    path = data_folder() / "expressions" / "published_searches.json"
    published = {}
    if path.is_file():
        for name, seeds in json.loads(path.read_text(encoding="utf-8")).items():
            if name.startswith("rank/"):
                published[name] = summary([seed["best_at"] for seed in seeds.values()])
    report = {"benchmark": "expressions", "median": MEDIAN, "known": KNOWN, "ours": ours, "published": published}
    print(json.dumps(report | ({"rows": rows, "record": provenance.record(0)} if options.json else {}), indent=2))


def summary(best: list[dict[str, float]]) -> dict[str, Any]:
    """Over seeds: the mean after each number of evaluations, and every seed's last."""
    counts = [str(count) for count in AT if all(str(count) in each for each in best)]
    final = [each[max(each, key=int)] for each in best]
    return {
        "seeds": len(best), "mean": {count: statistics.fmean(each[count] for each in best) for count in counts},
        "mean_of_last": statistics.fmean(final), "median_of_last": statistics.median(final), "last": final,
    }  # fmt: skip


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make, look, show = (commands.add_parser(name) for name in ("train", "search", "table"))
    for each in (make, look):
        each.add_argument("--run", type=Path, required=True)
        each.add_argument("--device", default="cpu")
    make.add_argument("--epochs", type=int, default=60)
    make.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings of the run, values as JSON")
    look.add_argument("--strategy", default="latent-evolution", help=f"several: A,B; also {', '.join(STRATEGIES)}")
    look.add_argument("--seeds", default="0-9", help="FIRST-LAST, or one")
    look.add_argument("--budget", type=int, default=BUDGET)
    look.add_argument("--batch", type=int, default=10)
    look.add_argument("--known", type=int, default=KNOWN, help="scores that the search is told")
    look.add_argument("--retrain", type=int, default=0, metavar="N", help="every N evaluations; 0: never")
    look.add_argument("--retrain-weight", type=float, default=1e-3)
    look.add_argument("--retrain-epochs", type=int, default=1)
    look.add_argument("--retrain-rate", type=float, default=3e-4)
    look.add_argument("--keep", type=Path, help="a folder for retrained weights")
    look.add_argument("--settings", nargs="*", default=[], metavar="NAME=VALUE", help="of latent-evolution")
    look.add_argument("--note", default="", help="is added to the labels of the rows")
    for each in (look, show):
        each.add_argument("--lines", type=Path, required=True, help="a JSONL file of finished searches")
    show.add_argument("--json", action="store_true", help="with all rows")
    options = parser.parse_args()
    torch.set_num_threads(1)
    {"train": train, "search": searches, "table": table}[options.command](options)


if __name__ == "__main__":
    main()
