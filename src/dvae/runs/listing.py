"""Reads what the folders of runs tell, without loading their models."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dvae.config import to_mapping
from dvae.errors import DvaeError, FormatError, MissingError
from dvae.evaluation import Evaluation, Predictivity
from dvae.figures import read_series
from dvae.files import read_json
from dvae.reports.run_page import EVALUATION, PREDICTIVITY
from dvae.reports.study_section import StudyFacts
from dvae.runs.config import FILE, read_config
from dvae.runs.summary import RunSummary, StudySummary, TrainingSummary, Unreadable
from dvae.studies import front_of, studies_of
from dvae.training.loop import METRICS, TRAINING

MAX_DEPTH = 4  # of folders below the one whose runs are listed


def summary(folder: str | Path) -> RunSummary:
    """What the folder of a run tells; a run that is still training has less to tell."""
    folder = Path(folder)
    if not folder.is_dir():
        raise MissingError(f"{folder}: there is no such folder")
    evaluation, predictivity = _object(folder / EVALUATION), _object(folder / PREDICTIVITY)
    return RunSummary(
        name=str(folder),
        settings=_flat(to_mapping(read_config(folder))),
        training=_training(folder),
        evaluation=None if evaluation is None else Evaluation.from_mapping(evaluation, str(folder / EVALUATION)),
        predictivity=None
        if predictivity is None
        else Predictivity.from_mapping(predictivity, str(folder / PREDICTIVITY)),
        studies=_studies(folder),
    )


def summaries(folder: str | Path) -> list[RunSummary | Unreadable]:
    """The runs in a folder and in the folders below it, by name; one that is damaged stops nobody."""
    folder = Path(folder)
    if not folder.is_dir():
        raise MissingError(
            f"{folder}: there is no such folder; name one that holds runs, or start one with: dvae train"
        )
    found: list[RunSummary | Unreadable] = []
    for run in sorted(_run_folders(folder, MAX_DEPTH)):
        try:
            found.append(summary(run))
        except (DvaeError, OSError) as error:
            found.append(Unreadable(str(run), str(error)))
    return found


def _run_folders(folder: Path, depth: int) -> Iterator[Path]:
    if (folder / FILE).is_file():
        yield folder
    elif depth:
        with os.scandir(folder) as entries:
            below = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name[0] != "."]
        for path in below:
            yield from _run_folders(Path(path), depth - 1)


def _flat(settings: Mapping[str, object]) -> dict[str, object]:
    """Settings by their full names: `model.hidden`."""
    flat: dict[str, object] = {}
    for key, value in settings.items():
        flat |= {f"{key}.{part}": v for part, v in value.items()} if isinstance(value, Mapping) else {key: value}
    return flat


def _training(folder: Path) -> TrainingSummary | None:
    """Of the record that is written when training ends or, before that, of the metrics alone."""
    if not (folder / METRICS).is_file():
        return None
    series = {one.name: one for one in read_series(folder / METRICS) if one.y}
    epochs = max((int(one.x[-1]) for one in series.values()), default=0)
    last = {name: one.y[-1] for name, one in series.items()}
    loss = last.get("loss")
    so_far = TrainingSummary(epochs, seconds=last.get("seconds"), loss=loss)
    try:
        record: Any = _object(folder / TRAINING) or {}
        result = record["result"]
        if int(result["epochs"]) < epochs:  # it was resumed, and goes on
            return so_far
        return TrainingSummary(
            epochs=int(result["epochs"]),
            ended=str(result["ended"]),
            seconds=float(result["seconds"]),
            graphs_per_second=float(result["graphs_per_second"]),
            device=str(record["device"]),
            date=str(record["record"]["date"]),
            loss=loss,
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return so_far


def _studies(folder: Path) -> tuple[StudySummary, ...]:
    found = []
    for study in studies_of(folder):
        try:
            facts, front = StudyFacts.of(study), front_of(study)
        finally:
            study.close()
        score = f"the score of {facts.task}" if facts.score is None else facts.score
        if front is not None:
            score = f"hypervolume of {', '.join(front.objectives.names)}"
        found.append(
            StudySummary(
                name=facts.name,
                strategy=facts.strategy,
                score=score,
                higher_is_better=front is not None or facts.higher_is_better,
                evaluations=sum(trial.state in ("complete", "failed") for trial in facts.trials),
                failed=sum(facts.failures.values()),
                best=facts.best if front is None else front.hypervolume,
                objectives=None if front is None else front.objectives.to_mapping(),
            )
        )
    return tuple(found)


def _object(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    found = read_json(path)
    if not isinstance(found, dict):
        raise FormatError.at(path, 1, "expected an object")
    return found
