"""Two or more runs side by side: the settings in which they differ, their data, and their numbers."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from dvae.config import check
from dvae.runs.listing import summary
from dvae.runs.number_rows import NumberRow, number_rows
from dvae.runs.summary import RunSummary

ALWAYS = ("task", "data")  # shown even where all runs agree
SOURCE = (*ALWAYS, "size", "data_seed", "fingerprint")  # which DAGs a run has
DATA = (*SOURCE, "validation", "started_from")


@dataclass(frozen=True)
class SettingRow:
    """A setting of every run, None where it has none."""

    name: str
    values: tuple[object, ...]

    @property
    def differs(self) -> bool:
        """Whether the runs do not agree."""
        return any(value != self.values[0] for value in self.values)

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {"name": self.name, "values": list(self.values)}


@dataclass(frozen=True)
class Comparison:
    """Runs side by side; `notes` say where their numbers do not mean the same."""

    runs: tuple[RunSummary, ...]
    data: tuple[SettingRow, ...]  # the task and the data, and what else differs about them
    settings: tuple[SettingRow, ...]  # those of model and training that differ
    numbers: tuple[NumberRow, ...]
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The folders of the runs."""
        return tuple(run.name for run in self.runs)

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        rows = {part: [row.to_mapping() for row in getattr(self, part)] for part in ("data", "settings", "numbers")}
        return {"runs": list(self.names), **rows, "notes": list(self.notes)}


def compare(runs: Sequence[str | Path | RunSummary]) -> Comparison:
    """Two or more runs, given by their folders."""
    check(len(runs) >= 2, f"a comparison needs at least two runs, not {len(runs)}")
    found = tuple(run if isinstance(run, RunSummary) else summary(run) for run in runs)
    places = sorted((str(Path(run.name).resolve()), run.name) for run in found)
    twice = next((name for (one, name), (other, _) in pairwise(places) if one == other), None)
    check(twice is None, f"{twice} is named twice: a comparison needs different runs")
    names = dict.fromkeys(name for run in found for name in run.settings)
    rows = [SettingRow(name, tuple(run.settings.get(name) for run in found)) for name in names]
    return Comparison(
        found,
        data=tuple(row for row in rows if row.name in DATA and (row.name in ALWAYS or row.differs)),
        settings=tuple(row for row in rows if row.name not in DATA and row.differs),
        numbers=tuple(number_rows(found)),
        notes=tuple(_notes(found)),
    )


def _notes(runs: Sequence[RunSummary]) -> Iterator[str]:
    """What keeps numbers from meaning the same."""
    if len({run.task for run in runs}) > 1:
        yield "the runs have different tasks"
    elif len({_data(run) for run in runs}) > 1:
        yield "the runs have different data, so their test graphs differ"
    protocols = {run.evaluation.protocol for run in runs if run.evaluation is not None}
    if len(protocols) > 1:
        yield "the runs were not evaluated in the same way (`protocol` in evaluation.json)"
    if len({run.predictivity.protocol for run in runs if run.predictivity is not None}) > 1:
        yield "scores were not predicted in the same way (`protocol` in predictivity.json)"
    for run in runs:
        if run.is_stale:
            yield f"{run.name} was trained on after its evaluation: dvae evaluate {shlex.quote(run.name)}"


def _data(run: RunSummary) -> tuple[object, ...]:
    """The same for runs with the same DAGs, wherever these are kept."""
    fingerprint = run.settings.get("fingerprint")
    return (fingerprint,) if fingerprint is not None else tuple(run.settings.get(name) for name in SOURCE)
