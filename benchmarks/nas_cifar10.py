"""Neural architecture search on CIFAR-10, end to end, within a limit of time.

    python benchmarks/nas_cifar10.py --work WORK --out OUT --minutes 20 --search-minutes 6 --device cuda

Five stages, each with its share of the time: shared weights are trained; random architectures are scored with them; a
D-VAE learns the space; its latent space is searched, with evolution and random search beside it at the same budget; the
best are trained from scratch with the fast recipe, as many as time allows, and the best of these longer. The test
images are used once a training, at the end; every choice before is made on 10,000 training images kept back; which
network is trained longer is chosen, as in the paper, by test accuracy. Pieces that WORK holds are not made again: a
second call goes on, and with another --top or --epochs trains more. OUT gets three small files.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import dvae
from dvae import provenance
from dvae.config import replace
from dvae.dag import Dag, ScoredDag, load_jsonl, to_plain, write_jsonl
from dvae.data.images import ImageData, load_images
from dvae.files import write_json
from dvae.nas import (
    Architecture,
    NetworkConfig,
    Recipe,
    SharedWeightAccuracy,
    SupernetConfig,
    get_recipe,
    train_network,
    train_supernet,
)
from dvae.nas.campaign import folder_name
from dvae.nas.dataset import best_networks, ranked
from dvae.nas.schedules import Schedule
from dvae.nas.search import search_architectures
from dvae.nas.supernet_training import METRICS, WEIGHTS
from dvae.tasks import EnasTask
from dvae.training import TrainingConfig, fit

# Shares of the time before full training.
SUPERNET, SCORING, MODEL, SEARCH = 0.45, 0.13, 0.22, 0.20
LONGER = 3  # times the epochs of the others, at least, for the best, which gets all time that is left
SURE = 0.8  # of the time left is planned for; networks differ in cost
STRATEGIES = ("trust-region", "evolution", "random")
PUBLISHED = {"D-VAE (paper)": 0.9480, "PACE": 0.9508, "DAGNN": 0.9506}


@dataclass(frozen=True)
class Plan:
    """Sizes of everything; `tiny` ones show on a CPU that the script works."""

    images: int | None = None  # of the training set
    validation: int = 10_000
    width: int = 40
    batch: int = 256
    score_batch: int | None = None
    min_scored: int = 2_000
    max_scored: int = 10_000
    chunk: int = 1_000
    sampled: int = 20_000  # architectures the D-VAE learns from
    hidden: int = 256
    latent: int = 32
    budget: int = 300
    each: int = 25
    top: int = 15


TINY = Plan(
    images=600, validation=100, width=4, batch=50, score_batch=50, min_scored=40, max_scored=60, chunk=20,
    sampled=300, hidden=16, latent=8, budget=20, each=10, top=2,
)  # fmt: skip


class Clock:
    """When the whole began, how long it and the stages before full training may take."""

    def __init__(self, minutes: float, search_minutes: float) -> None:
        self.seconds, self.search_seconds, self.begun = 60 * minutes, 60 * search_minutes, time.monotonic()

    @property
    def spent(self) -> float:
        return time.monotonic() - self.begun

    @property
    def left(self) -> float:
        return self.seconds - self.spent


class Run:
    """The pieces in `work`, and what is known so far."""

    def __init__(
        self, work: Path, out: Path, plan: Plan, recipe: Recipe, epochs: int, clock: Clock, device: str
    ) -> None:
        self.work, self.out, self.plan, self.recipe, self.clock, self.device = work, out, plan, recipe, clock, device
        self.epochs = epochs  # of full training; 0: as many as there is time for
        self.data = self._data()
        self.results: dict[str, Any] = {
            "benchmark": "nas_cifar10", "images": self.data.note or "the lossless originals", "published": PUBLISHED,
        }  # fmt: skip

    def all(self) -> None:
        self.supernet()
        meter = SharedWeightAccuracy(
            self.work / "supernet", data=self.data, device=self.device, batch=self.plan.score_batch
        )
        scored = self.score(meter)
        vae = self.model()
        found = self.search(vae, meter, scored)
        self.train(best_networks([*found, *scored], self.recipe.network)[: self.plan.top], scored)

    def write(self) -> None:
        record = provenance.record(0)
        spent = {"seconds": self.clock.spent, "limit_seconds": self.clock.seconds}
        write_json(self.out / "nas_cifar10.json", {**self.results, **spent, "record": record})

    def supernet(self) -> None:
        folder, begun = self.work / "supernet", time.monotonic()
        if not (folder / WEIGHTS).is_file():
            config = SupernetConfig(
                validation=self.plan.validation, batch=self.plan.batch, epochs=100_000,
                schedule=Schedule("cosine", 0.1, 0.0), network=NetworkConfig(width=self.plan.width),
            )  # fmt: skip
            minutes = SUPERNET * self.clock.search_seconds / 60
            train_supernet(config, folder, data=self.data, device=self.device, minutes=minutes, progress=True)
        shutil.copy(folder / METRICS, self.out / "nas_cifar10_supernet.csv")
        with (folder / METRICS).open() as file:
            rows = list(csv.DictReader(file))
        self.results["supernet"] = {
            "epochs": len(rows), "training_seconds": float(rows[-1]["seconds"]), "stage_seconds": _since(begun),
            "mean_accuracy_of_8_random_architectures": float(rows[-1]["watched"]), "width": self.plan.width,
        }  # fmt: skip
        self.write()

    def score(self, meter: SharedWeightAccuracy) -> list[ScoredDag]:
        """Random architectures, as many as the stage's time allows, but not fewer than the least."""
        path, begun = self.work / "scored.jsonl", time.monotonic()
        items = load_jsonl(path) if path.is_file() else []
        if len(items) < self.plan.min_scored:
            meter.many(EnasTask(6).sample(8, seed=99), progress=False)  # the first call sets the device up
            wanted = list(dict.fromkeys(EnasTask(6).sample(self.plan.max_scored, seed=0)))
            measured, count = 0.0, 0
            while len(items) < len(wanted):
                late = _since(begun) > SCORING * self.clock.search_seconds
                if len(items) >= self.plan.min_scored and late:
                    break
                part = wanted[len(items) : len(items) + self.plan.chunk]
                started = time.perf_counter()
                scores = meter.many(part, progress=True)
                measured += time.perf_counter() - started
                count += len(part)
                items += map(ScoredDag, part, scores)
                write_jsonl(path, items)
            speed = {"count": count, "seconds": measured, "architectures_per_second": count / measured}
            (self.work / "speed.json").write_text(json.dumps(speed))
        alone = EnasTask(6).sample(50, seed=7)
        started = time.perf_counter()
        meter.many(alone, progress=False)
        fifty = len(alone) / (time.perf_counter() - started)
        values = sorted(item.score for item in items if item.score is not None)
        self.results["scoring"] = {
            "architectures": len(items), "images_each": len(meter.images), "measured": _read(self.work / "speed.json"),
            "architectures_per_second_fifty_at_a_time": fifty, "stage_seconds": _since(begun),
            "accuracy": {"min": values[0], "median": values[len(values) // 2], "max": values[-1]},
            "same_scores_when_scored_again": self._repeatable(meter, items),
        }  # fmt: skip
        self.write()
        return items

    def _repeatable(self, meter: SharedWeightAccuracy, items: list[ScoredDag]) -> bool:
        some = items[:50]
        return meter.many([item.dag for item in some], progress=False) == [item.score for item in some]

    def model(self) -> dvae.VAE:
        folder, begun = self.work / "model", time.monotonic()
        if not (folder / "model.safetensors").is_file():
            vae = dvae.models.build(
                "dvae", EnasTask(6), hidden=self.plan.hidden, latent=self.plan.latent, readout="sum"
            )
            config = TrainingConfig(
                epochs=2_000, batch_size=256, learning_rate=1e-3, plateau_factor=0.5, plateau_patience=4,
                time_budget=MODEL * self.clock.search_seconds,
            )  # fmt: skip
            fit(
                vae, EnasTask(6).sample(self.plan.sampled, seed=1), config=config, run=folder, device=self.device,
                progress=True,
            )  # fmt: skip
        vae = dvae.load(folder, device=self.device)
        unseen = EnasTask(6).sample(500, seed=2)
        back = vae.decode(vae.encode(unseen).mean, greedy=True)
        same = sum(one == other for one, other in zip(unseen, back, strict=True)) / len(unseen)
        self.results["model"] = {"greedy_reconstruction_of_unseen": same, "stage_seconds": _since(begun)}
        self.write()
        return vae

    def search(self, vae: dvae.VAE, meter: SharedWeightAccuracy, scored: list[ScoredDag]) -> list[ScoredDag]:
        """The same budget and the same start for each strategy; what the trust region finds goes on to training."""
        path, begun = self.work / "found.jsonl", time.monotonic()
        best_before = max(item.score for item in scored if item.score is not None)
        rows = _read(self.work / "search.json") if path.is_file() else []
        if not path.is_file():
            kept: list[ScoredDag] = []
            for name in STRATEGIES:
                started = time.monotonic()
                limit = SEARCH * self.clock.search_seconds * (0.7 if name == "trust-region" else 0.15)
                found = ranked(
                    search_architectures(
                        vae, meter, scored, strategy=name, budget=self.plan.budget, each=self.plan.each, seed=0,
                        seconds=limit,
                    )
                )  # fmt: skip
                values = [item.score for item in found if item.score is not None]
                kept = kept or found
                rows.append(
                    {
                        "strategy": name, "evaluations": len(values), "seconds": _since(started),
                        "best": max(values, default=None), "mean_of_ten_best": _mean(values[:10]),
                        "above_the_best_before": sum(value > best_before for value in values),
                    }
                )  # fmt: skip
            (self.work / "search.json").write_text(json.dumps(rows))
            write_jsonl(path, kept)
        shutil.copy(path, self.out / "nas_cifar10_found.jsonl")
        self.results["search"] = {"best_before": best_before, "rows": rows, "stage_seconds": _since(begun)}
        self.write()
        return load_jsonl(path)

    def train(self, best: list[ScoredDag], scored: list[ScoredDag]) -> None:
        """The best by weight-sharing accuracy and one random architecture, as long as time is left for another; then
        the best of those by test accuracy again, longer."""
        chosen = [("top", item) for item in best] + [("random", scored[0])]
        chosen.insert(min(5, len(chosen) - 1), chosen.pop())  # the random one early, so that it is trained at all
        recipe = self._recipe_in_time(best[0].dag, len(chosen))
        rows: list[dict[str, Any]] = []
        longest = 0.0
        for kind, item in chosen:
            finished = (self._folder(item.dag, recipe) / "result.json").is_file()
            if rows and not finished and self.clock.left < 1.1 * longest + 5:
                break
            rows.append({"chosen": kind, "weight_sharing_accuracy": item.score, **self._trained(item.dag, recipe)})
            longest = max(longest, rows[-1]["seconds"])
            self._write_training(rows, len(chosen), recipe)
        winner, item = max(
            ((row, item) for row, (kind, item) in zip(rows, chosen, strict=False) if kind == "top"),
            key=lambda pair: float(pair[0]["test_accuracy"]),
        )
        an_epoch = winner["seconds"] / winner["epochs"]
        epochs = int(self.clock.left / (1.1 * an_epoch))
        if epochs > recipe.epochs:
            longer = self._trained(item.dag, replace(recipe, epochs=epochs))
            rows.append({"chosen": "longer", "weight_sharing_accuracy": item.score, **longer})
            self._write_training(rows, len(chosen), recipe)

    def _recipe_in_time(self, dag: Dag, networks: int) -> Recipe:
        """The recipe; without epochs of its own, with as many as all networks have time for."""
        if self.epochs:
            return replace(self.recipe, epochs=self.epochs)
        path = self.work / "epochs.json"
        if not path.is_file():
            warm_up = replace(self.recipe, epochs=2)
            spent = train_network(Architecture.from_dag(dag), self.data, warm_up, device=self.device).history
            an_epoch = spent[1]["seconds"] - spent[0]["seconds"]
            epochs = int(SURE * self.clock.left / (an_epoch * (networks + LONGER)))
            path.write_text(json.dumps(max(1, min(epochs, self.recipe.epochs))))
        return replace(self.recipe, epochs=_read(path))

    def _trained(self, dag: Dag, recipe: Recipe) -> dict[str, Any]:
        trained = train_network(
            Architecture.from_dag(dag), self.data, recipe, device=self.device, folder=self._folder(dag, recipe),
            progress=True,
        )  # fmt: skip
        row = {
            "test_accuracy": trained.accuracy, "parameters": trained.size.parameters, "flops": trained.size.flops,
            "epochs": trained.epochs, "seconds": trained.seconds, "dag": to_plain(dag),
        }  # fmt: skip
        print(json.dumps(row), file=sys.stderr, flush=True)
        return row

    def _write_training(self, rows: list[dict[str, Any]], asked: int, recipe: Recipe) -> None:
        done = [row for row in rows if row["chosen"] != "longer"]
        words = f"fast, {recipe.epochs} epochs, width {recipe.network.width}, separable codes as plain convolutions"
        self.results["training"] = {
            "recipe": words, "asked": asked, "done": len(done), "rows": rows,
            "best_test_accuracy": max(row["test_accuracy"] for row in rows),
            "best_test_accuracy_of_top": max(row["test_accuracy"] for row in done if row["chosen"] == "top"),
        }  # fmt: skip
        self.write()

    def _folder(self, dag: Dag, recipe: Recipe) -> Path:
        return self.work / f"trained_{recipe.epochs}" / folder_name(dag)

    def _data(self) -> ImageData:
        data = load_images("cifar10")
        return data.limited(self.plan.images, self.plan.images)


def _since(begun: float) -> float:
    return time.monotonic() - begun


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _read(path: Path) -> Any:
    return json.loads(path.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder for pieces, large ones too")
    parser.add_argument("--out", type=Path, required=True, help="a folder for the results")
    parser.add_argument("--minutes", type=float, default=8.0, help="of all stages together")
    parser.add_argument("--search-minutes", type=float, help="of those, before full training (default: 60%%)")
    parser.add_argument("--epochs", type=int, default=0, help="of full training (default: as many as time allows)")
    parser.add_argument("--top", type=int, help="train at most so many of the best, and then a random one")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="the smallest of everything, to see that it works")
    options = parser.parse_args()
    clock = Clock(options.minutes, options.search_minutes or 0.6 * options.minutes)
    options.out.mkdir(parents=True, exist_ok=True)
    plan = TINY if options.tiny else Plan()
    if options.top is not None:
        plan = dataclasses.replace(plan, top=options.top)
    recipe = get_recipe("fast")
    if options.tiny:
        recipe = replace(recipe, batch=50, **{"network.width": 4})
    if options.device == "cuda":
        torch.set_float32_matmul_precision("high")
    run = Run(options.work, options.out, plan, recipe, options.epochs, clock, options.device)
    run.results["data_seconds"] = clock.spent
    run.all()
    for stage in ("supernet", "scoring", "model", "search"):
        print(stage, json.dumps(run.results[stage]))
    for row in run.results["training"]["rows"]:
        print("training", json.dumps({key: value for key, value in row.items() if key != "dag"}))


if __name__ == "__main__":
    main()
