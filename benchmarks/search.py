"""How many evaluations a search needs to find the best network, against its rivals.

    python benchmarks/search.py RUN --task asia-bnlearn --seeds 5 --budget 500 --json

RUN is a model trained on Bayesian networks over the same variables (`dvae train --task asia --run RUN`). Every seed
gives each strategy the same scored networks to start from; every distinct network scored counts as one evaluation.
Beside the results stand the exact optimum, where the variables are few enough for it, and what hill climbing finds,
with the networks it scores on its way. With --lines every row is also appended to a file at once, and rows that are
there already are not measured again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import dvae
from dvae import provenance
from dvae.bayesnet.hill_climbing import hill_climb
from dvae.bayesnet.scores import MOST_TABULATED
from dvae.bayesnet.structure import exact_optimum
from dvae.dag import ScoredDag
from dvae.models import VAE
from dvae.studies import Study
from dvae.tasks import Task
from dvae.tasks.bayesnet import BayesNetTask

CLOSE = 1e-6


def search(
    vae: VAE, task: Task, strategy: str, warm: list[ScoredDag], seed: int, budget: int, each: int, target: float
) -> dict[str, Any]:
    """Searches until the target is found or the budget is spent."""
    start = time.perf_counter()
    study = dvae.search(
        vae, task, strategy=strategy, warm=warm, seed=seed, budget=budget, batch=each, initial=2,
        on_round=lambda study: found_after(study, target) is not None,
    )  # fmt: skip
    found, seconds = found_after(study, target), time.perf_counter() - start
    return {"best": study.best_score, "evaluations_to_target": found, "spent": len(study.trials), "seconds": seconds}


def found_after(study: Study, target: float) -> int | None:
    """How many evaluations it took to reach the target."""
    scores = (trial.score for trial in study.trials)
    return next((count for count, score in enumerate(scores, 1) if score is not None and score >= target - CLOSE), None)


def known_answers(task: BayesNetTask) -> dict[str, Any]:
    scores = task.network_scores
    climbed = hill_climb(scores, restarts=10, seed=0)
    answers: dict[str, Any] = {"hill_climbing": {"score": climbed.score, "evaluations": climbed.evaluations}}
    if len(task.variables) <= MOST_TABULATED:
        answers["optimum"] = exact_optimum(scores).score
    return answers


def summary_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    reached = [row["evaluations_to_target"] for row in rows if row["evaluations_to_target"] is not None]
    return {
        "reached": f"{len(reached)} of {len(rows)}",
        "median_evaluations_of_those": statistics.median(reached) if reached else None,
        # A search that did not arrive counts as longer than all that did.
        "median_evaluations_of_all": _median_of_all([row["evaluations_to_target"] for row in rows]),
        "median_best": statistics.median(row["best"] for row in rows),
        "worst_best": min(row["best"] for row in rows),
        "median_seconds": statistics.median(row["seconds"] for row in rows),
    }


def _median_of_all(counts: list[int | None]) -> float | None:
    median = statistics.median([float("inf") if count is None else count for count in counts])
    return None if median == float("inf") else median


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--task", default="asia", help="whose score is searched: asia, asia-bnlearn, bn:FILE.csv")
    parser.add_argument("--strategies", default="trust-region,evolution,random,gradient")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--each", type=int, default=10, help="networks asked for at once (paper's strategy: 50)")
    parser.add_argument("--warm", type=int, default=5000)
    parser.add_argument("--device", default="cpu", help="of the model")
    parser.add_argument("--lines", type=Path, help="a JSONL file of finished rows, to go on from")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    vae = dvae.load(options.run, device=options.device)
    task = dvae.tasks.get(options.task)
    if not isinstance(task, BayesNetTask):
        parser.error(f"{options.task} is not a task of Bayesian networks")
    answers = known_answers(task)
    target = answers.get("optimum", float("inf"))
    names = options.strategies.split(",")
    rows: list[dict[str, Any]] = []
    if options.lines is not None and options.lines.exists():
        rows = [json.loads(line) for line in options.lines.read_text().splitlines()]
    pool = vae.task.sample(180_000 if options.warm > 20_000 else 20_000, seed=0)
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        chosen = torch.randperm(len(pool), generator=torch.Generator().manual_seed(seed))[: options.warm].tolist()
        dags = [pool[place] for place in chosen]
        warm = [ScoredDag(dag, score) for dag, score in zip(dags, task.scores(dags), strict=True)]
        for name in names:
            if any(row["strategy"] == name and row["seed"] == seed for row in rows):
                continue
            each = 50 if name == "paper" else options.each
            result = search(vae, task, name, warm, seed, options.budget, each, target)
            row = {"strategy": name, "seed": seed, "warm_best": max(task.scores(dags)), **result}
            rows.append(row)
            if options.lines is not None:
                with options.lines.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            print(row, file=sys.stderr, flush=True)
    summary = {name: summary_of([row for row in rows if row["strategy"] == name]) for name in names}
    report = {
        "benchmark": "search", "task": options.task, "run": str(options.run), **answers,
        "warm": options.warm, "budget": options.budget, "summary": summary, "rows": rows,
        "record": provenance.record(0),
    }  # fmt: skip
    print(json.dumps(report if options.json else {**answers, "summary": summary}, indent=2))


if __name__ == "__main__":
    main()
