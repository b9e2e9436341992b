"""The summary of a run's page: the best DAG, three numbers, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dvae.dag import Dag, DagSet
from dvae.evaluation import Evaluation
from dvae.figures import DagStyle, fold, make_scene, save_scene
from dvae.figures.folding import MANY
from dvae.models import VAE
from dvae.reports.document import Advice, Fact, Figure, Summary
from dvae.reports.numbers import score_words
from dvae.reports.study_section import StudyFacts

EDGE = "#7f8da1"  # seen on light and on dark


@dataclass(frozen=True)
class Best:
    """The best DAG that is known of a run."""

    dag: Dag
    score: float
    note: str


def summarize(
    name: str,
    pictures: Path,
    *,
    model: VAE | None,
    evaluation: Evaluation | None,
    searches: Sequence[StudyFacts],
    searched: bool,
    known: DagSet | None,
    style: DagStyle | None,
) -> Summary:
    """The summary; `name` is the run's folder, as it stands in commands; `searches` are those for one score."""
    best = best_of_all(searches, known)
    facts = tuple(_facts(best, evaluation, model, known))[:3]
    figure = None if best is None or style is None else _figure(best, pictures, style)
    return Summary(facts, figure, tuple(_advice(name, model, evaluation, searched)))


def best_of_all(searches: Sequence[StudyFacts], known: DagSet | None) -> Best | None:
    """The best DAG of the first search that scored any, or of the data where it was better or nothing was searched."""
    scored = [(one, trial) for one in searches if (trial := one.best_trial) is not None]
    in_data = _best_known(known)
    if not scored:
        return in_data
    first = scored[0][0]
    alike = [
        (one, trial)
        for one, trial in scored
        if (one.score, one.higher_is_better) == (first.score, first.higher_is_better)
    ]
    sign = 1 if first.higher_is_better else -1
    study, trial = max(alike, key=lambda pair: sign * (pair[1].score or 0.0))
    assert trial.score is not None
    if in_data is not None and first.score is None and first.higher_is_better and in_data.score >= trial.score:
        return in_data
    return Best(
        trial.dag, trial.score, f"found by {study.strategy}, evaluation {trial.number + 1:,} of {len(study.trials):,}"
    )


def _best_known(known: DagSet | None) -> Best | None:
    if known is None:
        return None
    scored = [(score, place) for place, score in enumerate(known.scores) if score is not None]
    if not scored:
        return None
    score, place = max(scored)
    return Best(known.dags[place], score, f"in the data, number {place:,}")


def _facts(best: Best | None, evaluation: Evaluation | None, model: VAE | None, known: DagSet | None) -> Iterator[Fact]:
    if best is not None:
        yield Fact("Best score", score_words(best.score), best.note)
    if evaluation is not None:
        yield Fact("Reconstruction", f"{evaluation.greedy.share.value:.1%}", "of test DAGs come back exactly, greedily")
        yield Fact("Validity", f"{evaluation.prior.validity.value:.1%}", "of decodings from the prior follow the rules")
    if known is not None:
        yield Fact("Data", f"{len(known):,}", "DAGs")
    if model is not None:
        yield Fact("Latent space", f"{model.config.latent}", "dimensions")
        yield Fact("Parameters", f"{model.num_parameters():,}", f"of the model {model.config.name}")


def _figure(best: Best, pictures: Path, style: DagStyle) -> Figure:
    style = replace(style, background=None, edge=EDGE)
    folding = fold(best.dag) if len(best.dag) > MANY else None
    scene = make_scene(best.dag, style, folding=folding)
    svg, png = (save_scene(pictures / f"summary{kind}", scene, style) for kind in (".svg", ".png"))
    caption = f"Score {score_words(best.score)}, {best.note}. Click it to look around."
    return Figure("Best DAG", svg, png, caption, "drawing", scene)


def _advice(name: str, model: VAE | None, evaluation: Evaluation | None, searched: bool) -> Iterator[Advice]:
    run = shlex.quote(name)
    if model is None:
        yield Advice("Training has not finished: go on with it.", f"dvae train --run {run} --resume")
        return
    if evaluation is None:
        yield Advice("Measure how well the model reconstructs and how valid its samples are.", f"dvae evaluate {run}")
    if not searched and model.task.can_score:
        yield Advice("Search the latent space for better DAGs.", f"dvae search {run} --budget 100")
    yield Advice("Look around in the latent space.", f"dvae explore {run}")
    yield Advice("Draw new DAGs from the model.", f"dvae sample {run} -n 12 --draw samples.svg")
