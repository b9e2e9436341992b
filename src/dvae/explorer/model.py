"""The page without a browser: what it sends goes in unchecked, values to show come out.

Every method checks what it is given, so that a callback is one call and a line of layout.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import torch
from torch import Tensor

from dvae.dag import Dag, ScoredDag
from dvae.errors import DagError, DvaeError, StudyError, TaskError
from dvae.explorer import edits, graph_view, places, reading, walks
from dvae.explorer.exports import MOST_DAGS, Export, export
from dvae.explorer.places import Given, Known, Place, RequestError
from dvae.explorer.space import Finding, Map, Space
from dvae.explorer.studies import Baseline, Snapshot, StudyLike, baselines, snapshot
from dvae.explorer.walks import MOST_SIDE, PATHS, Changes, Step

FARTHEST = 1e4  # a click on the map, in its own units
WALK_STEPS = 33
SECONDS_BETWEEN_LOOKS = 1.0  # at a study, however many pages ask


@dataclass(frozen=True, eq=False)
class Walk:
    """A path with a drawing of each of its DAGs and what changed since the one before."""

    steps: tuple[Step, ...]
    pictures: tuple[list[graph_view.Element], ...]
    changes: tuple[Changes, ...]


class PageModel:
    """One run and the studies followed beside it."""

    def __init__(
        self, space: Space, studies: Sequence[StudyLike] = (), *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.space = space
        self.style = graph_view.style_for(space.task)
        self.studies = tuple(_Watched(study, clock) for study in studies)
        self._walk = lru_cache(maxsize=32)(self._walk_between)

    def warm_up(self) -> None:
        """Computes beforehand what the first look at the page would have to wait for."""
        self.space.find(Known(self.space.best))
        self.find({"latent": [0.0] * self.space.latent_size})

    @cached_property
    def baselines(self) -> tuple[Baseline, ...]:
        return baselines(self.space)

    @property
    def study_names(self) -> list[str]:
        return [watched.study.name for watched in self.studies]

    def place(self, payload: object) -> Place:
        return places.from_json(payload, known=len(self.space.known), latent=self.space.latent_size)

    def plane(self, name: object) -> Map:
        return self.space.plane(places.choice(name, tuple(self.space.map_names), "the map"))

    def find(self, payload: object, enforce: object = None) -> Finding:
        """What there is at a place; a DAG the model cannot hold is said to be so in words."""
        try:
            return self.space.find(self.place(payload), bool(enforce))
        except TaskError as error:
            raise RequestError(str(error).replace("DAG 0 has", "the DAG has", 1)) from None

    def click(self, payload: object, plane: object, anchor: object) -> Place:
        """The place that a click on the map means."""
        if not isinstance(payload, Mapping):
            raise RequestError("the page sent no click")
        if payload.get("known") is not None:
            return self.place({"known": payload["known"]})
        x, y = (places.number(payload.get(axis), -FARTHEST, FARTHEST, "a place on the map") for axis in "xy")
        centre = None if anchor is None else self.space.latent_of(self.place(anchor))
        return self.space.at(self.plane(plane), x, y, centre)

    def typed(self, text: object) -> Place:
        """The DAG of a text, if the model can hold it."""
        place = Given(reading.read_text(text, self.space.task))
        self.find(places.to_json(place))
        return place

    def retyped(self, current: object, node: object, label: object, enforce: object = None) -> Place | None:
        """The page's DAG with another type of a node; None where it has that type already."""
        dag = self.find(current, enforce).dag
        number = places.whole_number(node, 0, len(dag) - 1, "the number of a node")
        if isinstance(label, bool) or not isinstance(label, (str, int)):
            raise RequestError("a type is a word or a number")
        return None if dag.types[number] == label else self._edited(edits.retype(dag, number, label, self.space.task))

    def toggled(self, current: object, source: object, target: object, enforce: object = None) -> Place:
        """The page's DAG with one edge more, or less."""
        dag = self.find(current, enforce).dag
        if source is None or target is None:
            raise RequestError("choose the two ends of the edge first: click one node, then the other")
        last = len(dag) - 1
        ends = [places.whole_number(end, 0, last, "the number of a node") for end in (source, target)]
        try:
            return self._edited(edits.toggle_edge(dag, *ends))
        except DagError as error:
            raise RequestError(f"this edge cannot be: {error}") from None

    def walk(self, start: object, end: object, path: object, enforce: object = None) -> Walk:
        """The way from one DAG to another."""
        kind = places.choice(path, PATHS, "the way")
        return self._walk(self.place(start), self.place(end), kind, bool(enforce))

    def grid(self, current: object, plane: object, side: object, reach: object, enforce: object = None) -> list[Step]:
        """The DAGs around the page's DAG."""
        centre = self.find(current, enforce).latent
        odd = places.whole_number(
            int(side) if isinstance(side, str) and side.isdigit() else side, 3, MOST_SIDE, "the side"
        )
        if odd % 2 == 0:
            raise RequestError("the side of a neighbourhood must be odd")
        far = places.number(reach, 0.01, 10.0, "the reach")
        return walks.neighbourhood(self.space, centre, self.plane(plane), odd, far, enforce=bool(enforce))

    def study(self, number: object) -> Snapshot:
        return self._watched(number).look()

    def others(self, number: object) -> list[Snapshot]:
        """The studies beside the chosen one, as far as they can be read."""
        chosen = self._watched(number)
        found = []
        for watched in self.studies:
            if watched is not chosen:
                try:
                    found.append(watched.look())
                except DvaeError:
                    continue  # its own view says why
        return found

    def trial_latents(self, number: object) -> Tensor:
        """The latents of a study's scored DAGs; those that the model cannot hold are left out."""  # trial latent
        return self._watched(number).latents(self.space)

    def trial(self, study: object, number: object) -> Place:
        scored = {trial.number: trial for trial in self.study(study).scored}
        wanted = places.whole_number(number, 0, 2**53, "the number of a trial")
        if wanted not in scored:
            raise RequestError(f"the study has no scored trial {wanted}")
        return Given(scored[wanted].dag)

    def export_current(self, current: object, key: object, enforce: object = None) -> Export:
        finding = self.find(current, enforce)
        return export([ScoredDag(finding.dag, finding.score)], key, self.space.task)

    def export_trials(self, study: object, numbers: object, key: object) -> Export:
        """The chosen trials of a study's best as a file, best first."""
        if not isinstance(numbers, list) or not numbers:
            raise RequestError("tick at least one DAG to export")
        if len(numbers) > MOST_DAGS:
            raise RequestError(f"one file holds at most {MOST_DAGS:,} DAGs")
        top = [trial for trial in self.study(study).top if trial.number in numbers]
        return export([ScoredDag(trial.dag, trial.score) for trial in top], key, self.space.task)

    def at(self, plane: Map, latent: Tensor) -> tuple[float, float]:
        """Where a latent is on a map."""
        x, y = plane.project(latent[None])[0].tolist()
        return (x, y) if math.isfinite(x) and math.isfinite(y) else (0.0, 0.0)

    def _edited(self, dag: Dag) -> Place:
        place = Given(dag)
        self.find(places.to_json(place))
        return place

    def _walk_between(self, start: Place, end: Place, path: walks.Path, enforce: bool) -> Walk:
        ends = [self.find(places.to_json(place), enforce).latent for place in (start, end)]
        steps = walks.walk(self.space, ends[0], ends[1], WALK_STEPS, path, enforce=enforce)
        dags = [step.dag for step in steps]
        task = self.space.task
        differences = [Changes(), *(walks.changes(a, b, task) for a, b in pairwise(dags))]
        return Walk(tuple(steps), tuple(graph_view.film(dags, self.style, task)), tuple(differences))

    def _watched(self, number: object) -> _Watched:
        if not self.studies:
            raise RequestError("no study is followed here")
        return self.studies[places.whole_number(number, 0, len(self.studies) - 1, "the number of a study")]


class _Watched:
    """A study, read at most once a second, and the latents of what it scored, each encoded once."""

    def __init__(self, study: StudyLike, clock: Callable[[], float]) -> None:
        self.study, self._clock = study, clock
        self._lock = threading.Lock()
        self._seen: Snapshot | None = None
        self._when = -math.inf
        self._latents: dict[int, Tensor | None] = {}

    def look(self) -> Snapshot:
        with self._lock:
            if self._seen is None or self._clock() - self._when >= SECONDS_BETWEEN_LOOKS:
                try:
                    self._seen = snapshot(self.study)
                except DvaeError:
                    raise
                except Exception as error:  # whatever a storage may raise: it is busy, gone or not a storage
                    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                    raise StudyError(f"the study {self.study.name!r} cannot be read now: {reason}") from error
                self._when = self._clock()
            return self._seen

    def latents(self, space: Space) -> Tensor:
        scored = self.look().scored
        with self._lock:
            new = [trial for trial in scored if trial.number not in self._latents]
            for trial, latent in zip(new, _encoded(space, [trial.dag for trial in new]), strict=True):
                self._latents[trial.number] = latent
            found = [latent for trial in scored if (latent := self._latents[trial.number]) is not None]
        return torch.stack(found) if found else torch.empty(0, space.latent_size)


def _encoded(space: Space, dags: Sequence[Dag]) -> list[Tensor | None]:
    """The latents of DAGs, all at once; one by one where the model cannot hold some of them, which get None."""
    try:
        return list(space.encode(dags))
    except (TaskError, DagError):
        return [None] if len(dags) == 1 else [latent for dag in dags for latent in _encoded(space, [dag])]
