"""Evaluations that a search needs on tabular benchmarks, where every true score is known.

    python benchmarks/nas_search.py nasbench201=RUN nasbench-graph:arxiv=RUN --seeds 20 --json

Each RUN is a model trained on the benchmark's DAGs without their scores (`dvae train --task nasbench201 --run RUN`).
Every strategy starts from the same few random DAGs, which count as evaluations. The target is a score that one in a
thousand of all DAGs reach; uniform random sampling without replacement stands beside the others, and what it needs on
average is known exactly: (all + 1) / (good + 1).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import dvae
from dvae import provenance
from dvae.dag import Dag, ScoredDag
from dvae.models import VAE
from dvae.strategies import Archive, Evolution
from dvae.studies.study import running_best
from dvae.tasks import NasBenchGraphTask, TabularTask
from dvae.tasks.nasbench_graph import tree_dag

TOP = 0.001


class UniformSampling:
    """DAGs of the benchmark, each as likely as any other, none twice."""

    needs_start = False

    def __init__(self, vae: VAE, archive: Archive, *, seed: int) -> None:
        self.archive = archive
        assert isinstance(archive.task, TabularTask)
        entries = archive.task.entries
        order = torch.randperm(len(entries), generator=torch.Generator().manual_seed(seed + 1000)).tolist()
        self.dags = [entries[place].dag for place in order]

    def ask(self, count: int) -> list[Dag]:
        found: list[Dag] = []
        while self.dags and len(found) < count:
            found += self.archive.take([self.dags.pop()], 1)
        return found

    def tell(self, evaluations: Iterable[ScoredDag]) -> None:
        self.archive.add(evaluations)

    def state(self) -> dict[str, Any]:
        return {"left": len(self.dags)}

    def restore(self, state: Mapping[str, Any]) -> None:
        del self.dags[state["left"] :]


class TreeEvolution(Evolution):
    """Evolution that also hangs an operation of a tree elsewhere, which adding or taking one edge cannot do."""

    def changed(self, dag: Dag) -> Dag:
        if self.draw(2) == 0:
            return super().changed(dag)
        before = dag.predecessors()[1:-1]
        parents = [sources[-1] for sources in before]
        place = self.draw(len(parents))
        parents[place] = self.draw(place + 1)
        child = tree_dag(tuple(parents), dag.types[1:-1])
        return child if self.archive.task.is_valid(child) else dag


def search(
    vae: VAE, task: TabularTask, strategy: Any, start: list[Dag], seed: int, budget: int, each: int, target: float
) -> dict[str, Any]:
    """Searches until the target is found or the budget is spent; the start counts."""
    begun = time.perf_counter()
    study = dvae.search(
        vae, task, strategy=strategy, start=start, seed=seed, budget=budget, batch=each, initial=2,
        on_round=lambda study: study.best_score >= target,
    )  # fmt: skip
    seconds = time.perf_counter() - begun
    scores = [trial.score for trial in study.trials if trial.score is not None]
    curve = running_best(scores)
    found = next((count for count, score in enumerate(scores, 1) if score >= target), None)
    kept = {str(place): curve[place - 1] for place in (20, 50, 100, 200, 400) if place <= len(curve)}
    spent = len(study.trials)
    return {
        "best": study.best_score, "evaluations_to_target": found, "spent": spent, "best_after": kept, "seconds": seconds
    }  # fmt: skip


def benchmark(name: str, run: str, options: argparse.Namespace) -> dict[str, Any]:
    vae = dvae.load(run)
    task = dvae.tasks.get(name)
    assert isinstance(task, TabularTask), f"{name} is no tabular benchmark"
    target = task.best(TOP)
    good = sum(entry.score is not None and entry.score >= target for entry in task.entries)
    strategies: dict[str, Any] = {
        "trust-region": "trust-region",
        "evolution": TreeEvolution if isinstance(task, NasBenchGraphTask) else "evolution",
        "uniform": UniformSampling,
    }
    rows: list[dict[str, Any]] = []
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        start = list(dict.fromkeys(task.sample(2 * options.start, seed=seed)))[: options.start]
        for strategy in options.strategies.split(","):
            how = strategies[strategy]
            result = search(vae, task, how, start, seed, options.budget, options.each, target)
            rows.append({"task": name, "strategy": strategy, "seed": seed, **result})
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    summary = {
        strategy: summarised([row for row in rows if row["strategy"] == strategy], options.budget)
        for strategy in strategies
    }
    facts = {"dags": len(task.entries), "target": target, "good": good, "optimum": task.best(1 / len(task.entries))}
    expected = (len(task.entries) + 1) / (good + 1)
    return {"task": name, **facts, "expected_of_uniform": expected, "summary": summary, "rows": rows}


def summarised(rows: list[dict[str, Any]], budget: int) -> dict[str, Any]:
    """Medians count a search that did not reach the target as more than the budget."""
    needed = [row["evaluations_to_target"] or float("inf") for row in rows]
    middle = statistics.median(needed) if needed else float("inf")
    return {
        "reached": sum(value <= budget for value in needed),
        "of": len(rows),
        "median_evaluations": middle if middle <= budget else f"more than {budget}",
        "median_best": statistics.median(row["best"] for row in rows) if rows else None,
        "median_seconds": statistics.median(row["seconds"] for row in rows) if rows else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="TASK=RUN")
    parser.add_argument("--strategies", default="trust-region,evolution,uniform")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--budget", type=int, default=400)
    parser.add_argument("--each", type=int, default=10, help="DAGs asked for at once")
    parser.add_argument("--start", type=int, default=20, help="random DAGs scored first")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    parts = [benchmark(*text.rsplit("=", 1), options) for text in options.runs]
    report = {
        "benchmark": "nas_search", "top": TOP, "budget": options.budget, "start": options.start, "each": options.each,
        "tasks": parts, "record": provenance.record(0),
    }  # fmt: skip
    print(json.dumps(report if options.json else {part["task"]: part["summary"] for part in parts}, indent=2))


if __name__ == "__main__":
    main()
