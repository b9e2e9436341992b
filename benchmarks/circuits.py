r"""Amplifiers (the task `circuits`): do they come back, are samples valid, and do samples on demand obey?

    python benchmarks/circuits.py reconstruction --seconds 90 --out benchmarks/results/circuits_reconstruction.json
    python benchmarks/circuits.py demand --seconds 38 --latent 64 --batch 128 --rate 2e-3 --mutations 0.5 --trees 150 \
        --out benchmarks/results/circuits_demand.json
    python benchmarks/circuits.py prediction --out benchmarks/results/circuits_prediction.json

These made the results there, on an H200 that other trainings shared (`prediction`: on a CPU).

`reconstruction` trains on the 8,000 training circuits and decodes the means of the 500 test circuits, greedily; it
also draws samples within the rules. `demand` trains on one half of the training circuits, chosen by the seed, with
the figure of merit as the condition, asks for 20 values of it, and has the samples judged by boosted trees that were
fitted to the other half. `prediction` fits such trees to all training circuits and tests them on the test circuits.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

from dvae.dag import DagSet
from dvae.evaluation.column_closeness import ColumnCloseness, compare_columns
from dvae.models import VAE, build
from dvae.regression.boosting import BoostedTrees
from dvae.regression.column_features import ColumnFeatures
from dvae.regression.metrics import pearson, rmse, spearman
from dvae.tasks import get
from dvae.training import fit

PROPERTY = "fom"
ASKED, SAMPLES = 20, 100  # values of the property, and circuits for each


def main() -> None:
    """Measures one part and writes its numbers down."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("part", choices=["reconstruction", "demand", "prediction"])
    words.add_argument("--model", default="pace")
    words.add_argument("--hidden", type=int, default=256)
    words.add_argument("--latent", type=int, default=128)
    words.add_argument("--batch", type=int, default=64)
    words.add_argument("--rate", type=float, default=1e-3)
    words.add_argument("--mutations", type=float, default=0.0, help="the share of training circuits that are changed")
    words.add_argument("--trees", type=int, default=400, help="of the regressor")
    words.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="further settings of the model")
    words.add_argument("--seconds", type=float, default=600, help="of training")
    words.add_argument("--device", default="auto")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--out", type=Path)
    options = words.parse_args()
    part = {"reconstruction": reconstruction, "demand": demand, "prediction": prediction}[options.part]
    found = {"part": options.part, "seed": options.seed, **part(options)}
    print(json.dumps(found))
    if options.out is not None:
        options.out.write_text(json.dumps(found, indent=2) + "\n")


def reconstruction(options: argparse.Namespace) -> dict[str, Any]:
    """How many test circuits come back, and whether samples within the rules are valid."""
    task = get("circuits")
    data = task.dataset()
    vae, about = trained(options, data.train)
    test = list(data.test.dags)
    decoded = vae.decode(vae.encode(test).mean, greedy=True, seed=options.seed)
    close = ColumnCloseness.of(
        [compare_columns(task.schema, truth, found) for truth, found in zip(test, decoded, strict=True)]
    )
    samples = vae.sample(1000, seed=options.seed, valid=True)
    about["valid"] = sum(task.is_valid(dag) for dag in samples) / len(samples)
    about["distinct"] = len(set(task.keys_of(samples))) / len(samples)
    known = set(task.keys_of(data.train.dags))
    about["novel"] = sum(key not in known for key in task.keys_of(samples)) / len(samples)
    return {**about, **close.to_mapping()}


def demand(options: argparse.Namespace) -> dict[str, Any]:
    """Whether circuits that are asked for by a property have it, by the judgement of regressors that saw others."""
    task = get("circuits")
    data = task.dataset()
    order = torch.randperm(len(data.train), generator=torch.Generator().manual_seed(options.seed)).tolist()
    seen, unseen = (part_of(data.train, order[half::2]) for half in (0, 1))
    features, judge, scale = fitted(unseen, options)
    vae, about = trained(options, seen, conditions=(PROPERTY,))
    values = seen.properties[PROPERTY]
    shares = (torch.arange(ASKED, dtype=torch.float64) + 0.5) / ASKED
    asked = torch.quantile(values, shares)
    medians = []
    for number, value in enumerate(asked.tolist()):
        samples = vae.sample(SAMPLES, seed=options.seed + number, valid=True, given={PROPERTY: value})
        medians.append(float(judge.predict(features(samples)).median()) * scale[1] + scale[0])
    found = torch.tensor(medians, dtype=torch.float64)
    truth = (data.test.properties[PROPERTY] - scale[0]) / scale[1]
    judged = judge.predict(features(data.test.dags))
    return {
        **about,
        "rank_correlation": spearman(found, asked),
        "r": pearson(found, asked),
        "asked": asked.tolist(),
        "median": medians,
        "judge": {"trees": options.trees, "r": pearson(judged, truth), "rmse": rmse(judged, truth)},
    }


def prediction(options: argparse.Namespace) -> dict[str, Any]:
    """How well boosted trees on plain features predict the property of test circuits."""
    data = get("circuits").dataset()
    started = time.monotonic()
    features, trees, scale = fitted(data.train, options)
    truth = (data.test.properties[PROPERTY] - scale[0]) / scale[1]
    predicted = trees.predict(features(data.test.dags))
    return {
        "property": PROPERTY, "trees": options.trees, "r": pearson(predicted, truth), "rmse": rmse(predicted, truth),
        "seconds": time.monotonic() - started,
    }  # fmt: skip


def fitted(dags: DagSet, options: argparse.Namespace) -> tuple[ColumnFeatures, BoostedTrees, tuple[float, float]]:
    """Boosted trees for the standardised property, its mean and its deviation."""
    features, values = ColumnFeatures.of(dags.dags), dags.properties[PROPERTY]
    center, scale = float(values.mean()), float(values.std(correction=0))
    trees = BoostedTrees.fit(features(dags.dags), (values - center) / scale, trees=options.trees, seed=options.seed)
    return features, trees, (center, scale)


def trained(options: argparse.Namespace, dags: DagSet, **settings: Any) -> tuple[VAE, dict[str, Any]]:
    """A model trained for about `--seconds`, with a learning rate that falls to zero meanwhile."""
    more = {key: json.loads(value) for key, value in (text.split("=", 1) for text in options.set)}
    sizes = {"hidden": options.hidden, "latent": options.latent, **more, **settings}
    common: dict[str, Any] = {"batch_size": options.batch, "learning_rate": options.rate, "seed": options.seed}
    common |= {"mutations": options.mutations, "device": options.device, "progress": False}
    trial = fit(build(options.model, get("circuits"), seed=options.seed, **sizes), dags, epochs=3, **common)
    first, last = trial.history[0], trial.history[-1]
    pace = (
        (trial.seconds - trial.seconds / 3) / 2 if "seconds" not in last else (last["seconds"] - first["seconds"]) / 2
    )
    epochs = max(1, int(options.seconds / max(pace, 1e-3)))
    vae = build(options.model, get("circuits"), seed=options.seed, **sizes)
    result = fit(vae, dags, epochs=epochs, schedule="cosine", time_budget=1.2 * options.seconds, **common)
    about = {
        "model": options.model, **sizes, "batch": options.batch, "rate": options.rate, "circuits": len(dags),
        "mutations": options.mutations,
        "epochs": result.epochs, "planned_epochs": epochs, "seconds": result.seconds, "device": str(vae.device),
        "graphs_per_second": result.graphs_per_second, "loss": result.history[-1],
    }  # fmt: skip
    return vae, about


def part_of(dags: DagSet, places: list[int]) -> DagSet:
    return DagSet.of([dags.dags[place] for place in places], [dags.scores[place] for place in places])


if __name__ == "__main__":
    main()
