"""The searches of a run in its report: what each found, how soon, beside the answer where it is known.

Searches are shown together only where they search the same thing: the same score, in the same direction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dvae.errors import DvaeError
from dvae.figures import DagStyle, Panel, Series, save_dags, save_panels
from dvae.reports.document import Block, Figure, Heading, Items, Table
from dvae.reports.front_section import front_section
from dvae.reports.numbers import MISSING, score_words
from dvae.studies import Study, Trial
from dvae.studies.study import best_of, running_best, top_distinct
from dvae.studies.values import objectives_of
from dvae.tasks import get as get_task

TOLERANCE = 1e-6  # within which a score is the best known
TOP = 5
MAX_REASONS = 3


@dataclass(frozen=True)
class StudyFacts:
    """One search, read once."""

    name: str
    strategy: str
    task: str
    score: str | None  # None: the task's own
    higher_is_better: bool
    known: int  # DAGs whose scores were known before
    best_known: float | None
    trials: tuple[Trial, ...]

    @classmethod
    def of(cls, study: Study) -> StudyFacts:
        """What the study's ledger says; older ones do not note the best score known before."""
        about = study.description
        known = about.get("known_before")
        score = about.get("score")
        return cls(
            study.name,
            str(about.get("strategy", study.name)),
            str(about.get("task", "")),
            None if score is None else str(score),
            study.higher_is_better,
            int(about.get("warm", 0)),
            None if known is None else known["score"],
            tuple(study.trials),
        )

    @cached_property
    def best_trial(self) -> Trial | None:
        """The trial with the best score."""
        return best_of(list(self.trials), self.higher_is_better)

    @property
    def best(self) -> float | None:
        """The best score found."""
        return None if self.best_trial is None else self.best_trial.score

    @property
    def failures(self) -> Counter[str]:
        """How many candidates failed, by reason."""
        return Counter(trial.error or "no reason given" for trial in self.trials if trial.state == "failed")


@dataclass(frozen=True)
class SearchGroup:
    """Searches for the same thing, the best first."""

    studies: tuple[StudyFacts, ...]

    @property
    def score(self) -> str:
        """What is searched for, in words."""
        first = self.studies[0]
        return f"the score of {first.task}" if first.score is None else first.score

    @property
    def higher_is_better(self) -> bool:
        return self.studies[0].higher_is_better

    @property
    def direction(self) -> str:
        """In words."""
        return "higher is better" if self.higher_is_better else "lower is better"

    @cached_property
    def optimum(self) -> float | None:
        """The best score of all, where the task can compute it and it is the task's own score."""
        first = self.studies[0]
        if first.score is not None or not first.higher_is_better:
            return None
        try:
            return get_task(first.task).known_optimum()
        except DvaeError:  # a task or a table that is no longer there: then the page does without
            return None

    def label(self, study: StudyFacts) -> str:
        """The strategy, with the name of the study where several share it."""
        shared = sum(other.strategy == study.strategy for other in self.studies) > 1
        return f"{study.strategy} ({study.name})" if shared else study.strategy


def one_score(studies: Iterable[Study]) -> list[StudyFacts]:
    """What is known of the studies that search for one score."""
    return [StudyFacts.of(study) for study in studies if objectives_of(study.description) is None]


def study_section(
    studies: Iterable[Study], pictures: Path, style: DagStyle | None = None, known: Iterable[StudyFacts] | None = None
) -> list[Block]:
    """One part per thing that is searched for; nothing where there are no studies.

    `known` is what `one_score` says of them, where somebody has asked before: it reads all trials.
    """
    studies = list(studies)
    groups = search_groups(one_score(studies) if known is None else known)
    fronts = [study for study in studies if objectives_of(study.description) is not None]
    blocks: list[Block] = []
    for number, group in enumerate(groups, start=1):
        ending = "" if number == 1 else f"-{number}"
        title = "Search" if len(groups) == 1 else f"Search: {group.score}, {group.direction}"
        blocks += [Heading(title), search_table(group), *_failures(group)]
        if any(study.best is not None for study in group.studies):
            blocks += [_curves(group, pictures, ending), _top(group, pictures, ending, style)]
    for number, study in enumerate(fronts, start=1):
        blocks += front_section(study, pictures, f"-{number}")
    return blocks


def search_groups(studies: Iterable[StudyFacts]) -> list[SearchGroup]:
    """Studies by their score and direction, in the order of their first; those that tried nothing are left out."""
    groups: dict[object, list[StudyFacts]] = {}
    for study in studies:
        if study.trials:
            key = study.task if study.score is None else study.score, study.score is None, study.higher_is_better
            groups.setdefault(key, []).append(study)
    return [SearchGroup(tuple(sorted(found, key=_rank))) for found in groups.values()]


def search_table(group: SearchGroup) -> Table:
    """What each search began with and found."""
    optimum = group.optimum
    rows = []
    for study in group.studies:
        target = study.best if optimum is None else optimum
        arrived = MISSING if target is None else arrival(study.trials, target, study.higher_is_better)
        gap = [] if optimum is None else [score_words(None if study.best is None else optimum - study.best)]
        rows.append(
            (
                group.label(study),
                f"{study.known:,}",
                score_words(study.best_known),
                f"{len(study.trials):,}",
                score_words(study.best),
                *gap,
                arrived,
            )
        )
    header = ("strategy", "known before", "best known", "evaluations", "best found")
    reached = ("evaluations to its best",) if optimum is None else ("gap", "evaluations to the optimum")
    note = f"Score: {group.score}; {group.direction}. Every DAG scored once is one evaluation."
    if optimum is not None:
        note += f" The exact optimum is {score_words(optimum)}."
    return Table("", (*header, *reached), tuple(rows), note=note)


def arrival(trials: Sequence[Trial], target: float, higher_is_better: bool = True) -> str:
    """After how many evaluations the target was reached, in words."""
    sign = 1 if higher_is_better else -1
    for count, trial in enumerate(trials, start=1):
        if trial.score is not None and sign * (trial.score - target) >= -TOLERANCE:
            return f"{count:,}"
    return "not reached"


def _rank(study: StudyFacts) -> tuple[bool, float]:
    """The best first, those without a score last."""
    if study.best is None:
        return True, 0.0
    return False, -study.best if study.higher_is_better else study.best


def _failures(group: SearchGroup) -> list[Block]:
    lines = []
    for study in group.studies:
        reasons = study.failures
        if reasons:
            first = "; ".join(f"{reason} ({count:,})" for reason, count in reasons.most_common(MAX_REASONS))
            more = "; ..." if len(reasons) > MAX_REASONS else ""
            lines.append(
                f"{group.label(study)}: {sum(reasons.values()):,} of {len(study.trials):,} failed: {first}{more}"
            )
    return [Items(tuple(lines))] if lines else []


def _curves(group: SearchGroup, folder: Path, ending: str) -> Figure:
    series = []
    for study in group.studies:
        scored = [(count, trial.score) for count, trial in enumerate(study.trials, start=1) if trial.score is not None]
        if scored:
            best = running_best((score for _, score in scored), group.higher_is_better)
            series.append(Series(group.label(study), tuple(count for count, _ in scored), tuple(best)))
    if group.optimum is not None:
        end = max(one.x[-1] for one in series)
        series.append(Series("optimum", (1.0, end), (group.optimum, group.optimum)))
    panel = Panel("Best so far", "evaluations", f"score, {group.direction}", tuple(series))
    svg, png = (save_panels(folder / f"searches{ending}{kind}", [panel]) for kind in (".svg", ".png"))
    return Figure("Best score found", svg, png, "The best score after so many evaluations, by strategy.")


def top_of(group: SearchGroup) -> list[Trial]:
    """The best trials of all the searches together."""
    trials = [trial for study in group.studies for trial in study.trials if trial.score is not None]
    return top_distinct(trials, TOP, group.higher_is_better)


def _top(group: SearchGroup, folder: Path, ending: str, style: DagStyle | None) -> Figure:
    trials = [trial for study in group.studies for trial in study.trials if trial.score is not None]
    top = top_of(group)
    dags, titles = [trial.dag for trial in top], [score_words(trial.score) for trial in top]
    svg, png = (
        save_dags(folder / f"best{ending}{kind}", dags, titles=titles, style=style) for kind in (".svg", ".png")
    )
    caption = f"The {len(dags)} best of {len(trials):,} scored DAGs, with their scores; {group.direction}."
    return Figure("Best DAGs found", svg, png, caption, "drawing")
