"""Searches for several properties in a run's report: their Pareto fronts, as pictures and tables."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from dvae.figures.front import FrontFigure, save_front
from dvae.reports.document import Block, Figure, Heading, Table
from dvae.reports.numbers import score_words
from dvae.studies import Study, front_of
from dvae.studies.pareto import Front
from dvae.studies.values import values_of

SHOWN = 20
MAX_PAIRS = 3  # of objectives that are drawn against each other


def front_section(study: Study, pictures: Path, ending: str) -> list[Block]:
    """The front of one study; nothing for a study of one score, or one without a finished trial."""
    front = front_of(study)
    if front is None or not front.complete:
        return []
    heading = Heading(f"Search: {front.objectives.words()}")
    pairs = list(combinations(front.objectives.names, 2))[:MAX_PAIRS]
    figures: list[Block] = [_figure(study, front, pair, pictures, f"{ending}-{n}") for n, pair in enumerate(pairs, 1)]
    return [heading, _table(study, front), *figures]


def _table(study: Study, front: Front) -> Table:
    names = front.objectives.needed
    rows = [
        (str(trial.number), *(score_words(values_of(trial)[name]) for name in names)) for trial in front.trials[:SHOWN]
    ]
    note = f"Study {study.name}: {front.feasible:,} of {front.complete:,} candidates obey the constraints, "
    note += f"{len(front.trials):,} are on the front."
    if front.hypervolume is not None:
        note += f" Hypervolume: {front.hypervolume:.4f} times the box that the data's ranges span."
    return Table("", ("trial", *names), tuple(rows), note=note)


def _figure(study: Study, front: Front, pair: tuple[str, str], folder: Path, ending: str) -> Figure:
    x, y = pair
    on_front = {trial.number for trial in front.trials}
    parts: dict[str, list[tuple[float, float]]] = {"front": [], "feasible": [], "broken": []}
    for trial in study.trials:
        values = values_of(trial)
        if values and trial.score is not None:
            kind = "feasible" if front.objectives.feasible(values) else "broken"
            parts["front" if trial.number in on_front else kind].append((values[x], values[y]))
    shown = FrontFigure(x, y, *(tuple(parts[kind]) for kind in ("front", "feasible", "broken")))
    svg, png = (save_front(folder / f"front{ending}{kind}", shown) for kind in (".svg", ".png"))
    return Figure(f"{x} and {y}", svg, png, "Candidates of the search; no other is better in all objectives at once.")
