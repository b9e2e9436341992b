"""How many evaluations a search needs to find the best network, against its rivals.

    python benchmarks/search.py RUN --task asia-bnlearn --seeds 5 --budget 500 --json

RUN is a model trained on Bayesian networks over the same variables (`dvae train --task asia --run RUN`). Every seed
gives each strategy the same scored networks to start from; every distinct network scored counts as one evaluation.
Beside the results stand the exact optimum and what hill climbing finds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import dvae
from dvae import provenance
from dvae.search import Archive, Evaluation, Evolution, RandomSearch, Strategy, TrustRegion
from dvae.tasks import Task
from dvae.tasks.bayesnet import BayesNetTask
from dvae.tasks.hill_climbing import hill_climb
from dvae.tasks.structure import exact_optimum

CLOSE = 1e-6


def search(
    strategy: Strategy, task: Task, warm: list[Evaluation], budget: int, each: int, target: float
) -> dict[str, Any]:
    """Asks and tells until the target is found or the budget is spent."""
    start = time.perf_counter()
    strategy.tell(warm)
    spent, found = 0, None
    best = -float("inf")
    while spent < budget and found is None:
        dags = strategy.ask(min(each, budget - spent))
        if not dags:
            break
        scores = task.scores(dags)
        strategy.tell([Evaluation(dag, score) for dag, score in zip(dags, scores, strict=True)])
        for score in scores:
            spent += 1
            best = max(best, score)
            if found is None and score >= target - CLOSE:
                found = spent
    return {"best": best, "evaluations_to_target": found, "spent": spent, "seconds": time.perf_counter() - start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--task", default="asia", help="whose score is searched: asia, asia-bnlearn, bn:FILE.csv")
    parser.add_argument("--strategies", default="trust-region,evolution,random")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--each", type=int, default=10, help="networks asked for at once")
    parser.add_argument("--warm", type=int, default=5000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    vae = dvae.load(options.run)
    task = dvae.tasks.get(options.task)
    if not isinstance(task, BayesNetTask):
        parser.error(f"{options.task} is not a task of Bayesian networks")
    network_scores = task.network_scores
    optimum = exact_optimum(network_scores)
    climbed = hill_climb(network_scores, restarts=10, seed=0)
    pool = vae.task.sample(180_000 if options.warm > 20_000 else 20_000, seed=0)
    makers: dict[str, Callable[[Archive, int], Strategy]] = {
        "trust-region": lambda archive, seed: TrustRegion(vae, archive, seed=seed),
        "evolution": lambda archive, seed: Evolution(archive, seed=seed),
        "random": lambda archive, seed: RandomSearch(vae, archive, seed=seed),
    }
    rows: list[dict[str, Any]] = []
    for seed in range(options.seeds):
        chosen = torch.randperm(len(pool), generator=torch.Generator().manual_seed(seed))[: options.warm].tolist()
        dags = [pool[place] for place in chosen]
        warm = [Evaluation(dag, score) for dag, score in zip(dags, task.scores(dags), strict=True)]
        for name in options.strategies.split(","):
            strategy = makers[name](Archive(task), seed)
            result = search(strategy, task, warm, options.budget, options.each, optimum.score)
            rows.append({"strategy": name, "seed": seed, **result})
            print(rows[-1], file=sys.stderr, flush=True)
    summary = {}
    for name in options.strategies.split(","):
        mine = [row for row in rows if row["strategy"] == name]
        reached = [row["evaluations_to_target"] for row in mine if row["evaluations_to_target"] is not None]
        summary[name] = {
            "reached": f"{len(reached)} of {len(mine)}",
            "median_evaluations": statistics.median(reached) if reached else None,
            "median_best": statistics.median(row["best"] for row in mine),
        }
    report = {
        "benchmark": "search", "task": options.task, "optimum": optimum.score, "hill_climbing": climbed.score,
        "warm": options.warm, "budget": options.budget, "summary": summary, "rows": rows,
        "record": provenance.record(0),
    }  # fmt: skip
    print(json.dumps(report, indent=2) if options.json else json.dumps(summary, indent=2))


if __name__ == "__main__":
    main()
