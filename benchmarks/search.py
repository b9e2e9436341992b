"""How many evaluations a search needs to find the best DAG, against its rivals; several models side by side.

    python benchmarks/search.py RUN --task asia-bnlearn --seeds 5 --budget 500 --json
    python benchmarks/search.py PLAIN HEAD --task asia-bnlearn --warm 50 --strategies paper,trust-region --seeds 10 \
        --lines rows.jsonl --json
    python benchmarks/search.py PLAIN HEAD --task enas6-surrogate --warm 50 ...

Each RUN is a model of the same DAGs (`dvae train --task asia --run RUN`). Every seed gives each strategy and each model
the same scored DAGs to start from; every distinct DAG scored counts as one evaluation. The target is the best score of
all, where it is known: the exact optimum of networks over few variables, a table's best. What hill climbing finds, with
the networks it scores on its way, stands beside the results on Bayesian networks. With --lines every row is also
appended to a file at once, and rows that are there already are not measured again.
"""

from __future__ import annotations

import argparse
import itertools
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
from dvae.bayesnet.scores import MAX_TABULATED
from dvae.bayesnet.structure import exact_optimum
from dvae.dag import Dag, ScoredDag
from dvae.models import VAE
from dvae.studies import Study
from dvae.studies.study import running_best
from dvae.tasks import TabularTask, Task
from dvae.tasks.bayesnet import BayesNetTask

CLOSE = 1e-6
AFTER = (20, 50, 100, 200, 300, 400, 500)


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
    curve = running_best([trial.score for trial in study.trials if trial.score is not None])
    after = {str(count): curve[min(count, len(curve)) - 1] for count in AFTER if count <= budget and curve}
    return {
        "best": study.best_score, "evaluations_to_target": found, "spent": len(study.trials), "best_after": after,
        "seconds": seconds,
    }  # fmt: skip


def found_after(study: Study, target: float) -> int | None:
    """How many evaluations it took to reach the target."""
    scores = (trial.score for trial in study.trials)
    return next((count for count, score in enumerate(scores, 1) if score is not None and score >= target - CLOSE), None)


def known_answers(task: Task) -> dict[str, Any]:
    """The best score of all, where it is known, and of networks what hill climbing finds."""
    if isinstance(task, TabularTask):
        return {"optimum": task.best(0.0)}
    if not isinstance(task, BayesNetTask):
        best = task.known_optimum()
        return {} if best is None else {"optimum": best}
    scores = task.network_scores
    climbed = hill_climb(scores, restarts=10, seed=0)
    answers: dict[str, Any] = {"hill_climbing": {"score": climbed.score, "evaluations": climbed.evaluations}}
    if len(task.variables) <= MAX_TABULATED:
        answers["optimum"] = exact_optimum(scores).score
    return answers


def start_of(task: Task, pool: list[Dag], count: int, seed: int) -> list[ScoredDag]:
    """The scored DAGs that all searches with one seed begin with."""
    chosen = torch.randperm(len(pool), generator=torch.Generator().manual_seed(seed))[:count].tolist()
    dags = [pool[place] for place in chosen]
    return [ScoredDag(dag, score) for dag, score in zip(dags, task.scores(dags), strict=True)]


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
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--task", default="asia", help="whose score is searched: any that scores its DAGs")
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
    models = {run: dvae.load(run, device=options.device) for run in options.runs}
    task = dvae.tasks.get(options.task)
    if not task.can_score:
        parser.error(f"{options.task} has no score of its own")
    answers = known_answers(task)
    target = answers.get("optimum", float("inf"))
    names = options.strategies.split(",")
    rows: list[dict[str, Any]] = []
    if options.lines is not None and options.lines.exists():
        rows = [json.loads(line) for line in options.lines.read_text().splitlines()]
    pool = next(iter(models.values())).task.sample(180_000 if options.warm > 20_000 else 20_000, seed=0)
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        warm = start_of(task, pool, options.warm, seed)
        for run, name in itertools.product(models, names):
            if any(is_row(row, run, name, seed, options) for row in rows):
                continue
            each = 50 if name == "paper" else options.each
            result = search(models[run], task, name, warm, seed, options.budget, each, target)
            best = max(item.score for item in warm if item.score is not None)
            row = {"task": options.task, "run": run, "warm": options.warm, "strategy": name, "seed": seed}
            row |= {"warm_best": best, **result}
            rows.append(row)
            if options.lines is not None:
                with options.lines.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            print(row, file=sys.stderr, flush=True)
    of_runs = {
        run: {name: summary_of(found) for name in names if (found := rows_of(rows, run, name, options))}
        for run in models
    }  # fmt: skip
    one = len(models) == 1
    report = {
        "benchmark": "search", "task": options.task, "run": options.runs[0] if one else options.runs, **answers,
        "warm": options.warm, "budget": options.budget, "summary": of_runs[options.runs[0]] if one else of_runs,
        "rows": rows, "record": provenance.record(0),
    }  # fmt: skip
    print(json.dumps(report if options.json else {**answers, "summary": report["summary"]}, indent=2))


def rows_of(rows: list[dict[str, Any]], run: str, name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of a model and a strategy, of all seeds."""
    return [row for row in rows if is_row(row, run, name, row["seed"], options)]


def is_row(row: dict[str, Any], run: str, name: str, seed: int, options: argparse.Namespace) -> bool:
    """Whether a row is this search; rows of older files do not say what of."""
    asked = {"task": options.task, "run": run, "warm": options.warm}
    same = all(row.get(key, value) == value for key, value in asked.items())
    return same and bool(row["strategy"] == name and row["seed"] == seed)


if __name__ == "__main__":
    main()
