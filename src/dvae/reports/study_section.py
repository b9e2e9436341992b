"""The searches of a run in its report: what each found, how soon, beside the answer where it is known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dvae.bayesnet.scores import MOST_TABULATED
from dvae.bayesnet.structure import exact_optimum
from dvae.figures import Panel, Series, save_dags, save_panels
from dvae.reports.document import Block, Figure, Heading, Table
from dvae.studies import Study, Trial
from dvae.studies.study import DATABASE, running_best, storage_of, top_distinct
from dvae.tasks import BayesNetTask, Task
from dvae.tasks import get as get_task

CLOSE = 1e-6
TOP = 5


def searches(run: Path, folder: Path) -> list[Block]:
    """Of all studies in the run's own database; nothing where there is none."""
    if not (run / DATABASE).is_file():
        return []
    from dvae.studies.optuna_ledger import study_names

    url = storage_of(run)
    studies = [Study.open(url, name) for name in study_names(url)]
    studies = [study for study in studies if study.best() is not None]
    if not studies:
        return []
    optimum = known_optimum(get_task(str(studies[0].description["task"])))
    blocks: list[Block] = [Heading("Search"), search_table(studies, optimum)]
    blocks.append(_curves(studies, optimum, folder))
    blocks.append(_top(studies, folder))
    return blocks


def known_optimum(task: Task) -> float | None:
    """The score of the best DAG of all, where it can be computed."""
    if not isinstance(task, BayesNetTask) or len(task.variables) > MOST_TABULATED or not task.can_score:
        return None
    return exact_optimum(task.network_scores).score


def search_table(studies: Sequence[Study], optimum: float | None) -> Table:
    rows = []
    for study in studies:
        trials, about = study.trials, study.description
        best = study.best_score
        gap = "" if optimum is None else f"{optimum - best:.3f}"
        rows.append(
            (
                str(about.get("strategy", study.name)),
                f"{len(trials):,}",
                f"{best:.3f}",
                gap,
                arrival(trials, best if optimum is None else optimum, study.higher_is_better),
            )
        )
    reached = "evaluations to its best" if optimum is None else "evaluations to the optimum"
    warm = studies[0].description.get("warm", 0)
    note = f"All began with {warm:,} scored DAGs; every DAG scored once is one evaluation."
    if optimum is not None:
        note += f" The exact optimum, by dynamic programming over all networks, is {optimum:.3f}."
    return Table("", ("strategy", "evaluations", "best score", "gap", reached), tuple(rows), note=note)


def arrival(trials: Sequence[Trial], target: float, higher_is_better: bool = True) -> str:
    """After how many evaluations the target was reached, in words."""
    sign = 1 if higher_is_better else -1
    for count, trial in enumerate(trials, start=1):
        if trial.score is not None and sign * (trial.score - target) >= -CLOSE:
            return f"{count:,}"
    return "not reached"


def _curves(studies: Sequence[Study], optimum: float | None, folder: Path) -> Figure:
    series = []
    for study in studies:
        scored = [(count, trial.score) for count, trial in enumerate(study.trials, start=1) if trial.score is not None]
        best = running_best((score for _, score in scored), study.higher_is_better)
        name = str(study.description.get("strategy", study.name))
        series.append(Series(name, tuple(count for count, _ in scored), tuple(best)))
    if optimum is not None:
        end = max(one.x[-1] for one in series)
        series.append(Series("optimum", (1.0, end), (optimum, optimum)))
    panel = Panel("Best so far", "evaluations", "score", tuple(series))
    svg, png = (save_panels(folder / f"searches{ending}", [panel]) for ending in (".svg", ".png"))
    return Figure("Best score found", svg, png, "The best score after so many evaluations, by strategy.")


def _top(studies: Sequence[Study], folder: Path) -> Figure:
    """The best DAGs of all the searches together."""
    trials = [trial for study in studies for trial in study.trials if trial.score is not None]
    top = top_distinct(trials, TOP, studies[0].higher_is_better)
    dags, titles = [trial.dag for trial in top], [f"{trial.score:.3f}" for trial in top]
    svg, png = (save_dags(folder / f"best{ending}", dags, titles=titles) for ending in (".svg", ".png"))
    return Figure(
        "Best DAGs found", svg, png, f"The {len(dags)} best of {len(trials):,} scored DAGs, with their scores."
    )
