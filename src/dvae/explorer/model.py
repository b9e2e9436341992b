"""The page without a browser: it takes unchecked requests and returns values to show.

Every method checks what it is given, so that a callback is one call and a line of layout.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from torch import Tensor

from dvae.dag import Dag, ScoredDag
from dvae.errors import DagError, DvaeError, TaskError
from dvae.explorer import edits, filters, graph_view, neighbour_map, places, walks
from dvae.explorer.bookmarks import Bookmarks
from dvae.explorer.conditions import Handle, handles
from dvae.explorer.exports import MAX_DAGS, Export, export
from dvae.explorer.places import Changed, Given, Known, Place, RequestError
from dvae.explorer.quantities import NUMBER, SCORE, SPLIT, Mask, Quantities
from dvae.explorer.space import Finding, Map, Space
from dvae.explorer.studies import Baseline, Scored, Snapshot, StudyLike, WatchedStudy, baselines
from dvae.explorer.walks import MAX_SIDE, PATHS, Changes, Step
from dvae.figures import Direction
from dvae.runs import Comparison
from dvae.studies.study import top_distinct

MAX_CLICK = 1e4  # distance of a click from the origin of the map, in its own units
WALK_STEPS = 33


@dataclass(frozen=True, eq=False)
class Walk:
    """A path with a drawing of each of its DAGs and what changed since the previous one."""

    steps: tuple[Step, ...]
    pictures: tuple[list[graph_view.Element], ...]
    changes: tuple[Changes, ...]


class PageModel:
    """One run, the studies followed beside it, and the runs it is compared with."""

    def __init__(
        self,
        space: Space,
        studies: Sequence[StudyLike] = (),
        *,
        bookmarks: Bookmarks | None = None,
        others: Sequence[PageModel] = (),
        comparison: Comparison | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.space = space
        self.bookmarks = bookmarks or Bookmarks()
        self.others, self.comparison = tuple(others), comparison  # runs to compare with, and all their numbers
        self.style = graph_view.task_style(space.task)
        self.studies = tuple(WatchedStudy(study, clock) for study in studies)
        self._walk = lru_cache(maxsize=32)(self._walk_between)

    def warm_up(self) -> None:
        """Computes beforehand what the first page would have to wait for."""
        self.space.find(Known(self.space.best))
        self.find({"latent": [0.0] * self.space.latent_size})

    @cached_property
    def baselines(self) -> tuple[Baseline, ...]:
        """Scores that searches are compared with on the page."""
        return baselines(self.space)

    @cached_property
    def handles(self) -> tuple[Handle, ...]:
        """The sliders of the model's conditions."""
        return handles(self.space)

    @property
    def study_names(self) -> list[str]:
        """The names of the studies that the page follows."""
        return [watched.study.name for watched in self.studies]

    def place(self, payload: object) -> Place:
        """The place that the page names."""
        return places.from_json(payload, known=len(self.space.known), latent=self.space.latent_size)

    def plane(self, name: object) -> Map:
        """The map that the page names."""
        return self.space.plane(places.choice(name, tuple(self.space.map_names), "the map"))

    def plane_if_ready(self, name: object) -> Map | None:
        """As `plane`, but None while the map is still being made; asking begins the making."""
        if places.choice(name, tuple(self.space.map_names), "the map") == neighbour_map.NAME:
            self.space.bent.start()
            if not self.space.bent.is_done:
                return None
        return self.plane(name)

    @cached_property
    def quantities(self) -> Quantities:
        """What the known DAGs can be coloured, filtered and sorted by."""
        known = self.space.known
        given = {SCORE: known.scores} if len(self.space.sorted_scores) else {}
        named = {SPLIT: self.space.splits} if self.space.splits else {}
        labels = self.space.task.vocabulary.labels
        return Quantities(known.dags, {**given, NUMBER: list(range(len(known)))}, named, labels)

    def shown(self, text: object) -> Mask:
        """Which known DAGs a filter lets through."""
        return filters.matches(text, self.quantities)

    def find(self, payload: object, enforce: object = None) -> Finding:
        """What there is at a place; a DAG that the model cannot hold is refused in words."""
        try:
            return self.space.find(self.place(payload), bool(enforce))
        except TaskError as error:
            raise RequestError(error.problem) from None

    def click(self, payload: object, plane: object, anchor: object) -> Place:
        """The place that a click on the map means; a click that names its map is one on that map."""
        if not isinstance(payload, Mapping):
            raise RequestError("the page sent no click")
        if payload.get("known") is not None:
            return self.place({"known": payload["known"]})
        if payload.get("trial") is not None:
            return self.trial(payload.get("study"), payload["trial"])
        x, y = (places.number(payload.get(axis), -MAX_CLICK, MAX_CLICK, "a place on the map") for axis in "xy")
        centre = None if anchor is None else self.space.latent_of(self.place(anchor))
        return self.space.at(self.plane(payload.get("plane", plane)), x, y, centre)

    def typed(self, text: object) -> Place:
        """The DAG of a text, if the model can hold it."""
        return self.held(places.from_text(text, self.space.task))

    def retyped(self, current: object, node: object, label: object, enforce: object = None) -> Place | None:
        """The page's DAG with another type of a node; None where it has that type already."""
        dag = self.find(current, enforce).dag
        number = places.whole_number(node, 0, len(dag) - 1, "the number of a node")
        if isinstance(label, bool) or not isinstance(label, (str, int)):
            raise RequestError("a type is a word or a number")
        if dag.types[number] == label:
            return None
        return self.held(Given(edits.retype(dag, number, label, self.space.task)))

    def with_condition(self, current: object, name: object, value: object) -> Place:
        """What the page's DAG would be with another value of a property; conditions asked before stay."""
        ranges = {one.name: one for one in self.space.conditions}
        asked = ranges[places.choice(name, tuple(ranges), "the condition")]
        place = self.place(current)
        base, before = (place.base, dict(place.given)) if isinstance(place, Changed) else (place, {})
        number = places.number(value, asked.low, asked.high, asked.name)
        return Changed(base, tuple(sorted({**before, asked.name: number}.items())))

    def slider_values(self, place: Place) -> dict[str, float]:
        """Where the sliders of conditions stand for a DAG; they stay where they were moved to for a changed one."""
        if isinstance(place, Changed):
            return {}
        dag = self.space.known.dags[place.index] if isinstance(place, Known) else getattr(place, "dag", None)
        return {one.name: one.at({} if dag is None else dag.properties) for one in self.handles}

    def slider_moved(self, current: object, name: object, value: object) -> Place | None:
        """As `with_condition`; None where the page moved the slider to the DAG, and nobody the DAG to the slider."""
        place = self.with_condition(current, name, value)
        return None if self.slider_values(self.place(current)).get(str(name)) == value else place

    def toggled(self, current: object, source: object, target: object, enforce: object = None) -> Place:
        """The page's DAG with an edge added or removed."""
        dag = self.find(current, enforce).dag
        if source is None or target is None:
            raise RequestError("choose the two ends of the edge first: click one node, then the other")
        last = len(dag) - 1
        ends = [places.whole_number(end, 0, last, "the number of a node") for end in (source, target)]
        try:
            return self.held(Given(edits.toggle_edge(dag, *ends)))
        except DagError as error:
            raise RequestError(f"this edge cannot be added: {error}") from None

    def walk(self, start: object, end: object, path: object, enforce: object = None, direction: object = None) -> Walk:
        """The DAGs on the path from one place to another, drawn in a direction."""
        kind = places.choice(path, PATHS, "the path")
        way = graph_view.direction_of(direction)
        return self._walk(self.place(start), self.place(end), kind, bool(enforce), way)

    def grid(self, current: object, plane: object, side: object, reach: object, enforce: object = None) -> list[Step]:
        """The DAGs around the page's DAG."""
        centre = self.find(current, enforce).latent
        odd = places.whole_number(
            int(side) if isinstance(side, str) and side.isdecimal() and len(side) < 4 else side,
            3,
            MAX_SIDE,
            "the size of the grid",
        )
        if odd % 2 == 0:
            raise RequestError("the size of the grid must be odd")
        far = places.number(reach, 0.01, 10.0, "the reach")
        return walks.neighbourhood(self.space, centre, self.plane(plane), odd, far, enforce=bool(enforce))

    def study(self, number: object) -> Snapshot:
        """The chosen study as it is now."""
        return self._watched(number).read()

    def readable_studies(self) -> dict[int, Snapshot]:
        """All studies that can be read now, by their numbers."""
        found = {}
        for number, watched in enumerate(self.studies):
            try:
                found[number] = watched.read()
            except DvaeError:
                continue  # it says why when it is chosen
        return found

    def comparable_studies(self, number: object) -> dict[int, Snapshot]:
        """The chosen study and those whose scores mean the same, by their numbers."""
        chosen = self.study(number)
        found = {key: each for key, each in self.readable_studies().items() if each.is_comparable(chosen)}
        return {**found, places.whole_number(number, 0, len(self.studies) - 1, "the number of a study"): chosen}

    def best_until(self, number: object, numbers: Sequence[int]) -> tuple[int, ...]:
        """The best of a study's first trials, as its number."""
        study, wanted = self.study(number), set(numbers)
        first = [trial for trial in study.scored if trial.number in wanted]
        return tuple(trial.number for trial in top_distinct(first, 1, study.higher_is_better))

    def trial_latents(self, number: object) -> Tensor:
        """The latents of a study's scored DAGs; those that the model cannot hold are left out."""  # trial latent
        return self._watched(number).latents(self.space)

    def placed_trials(self, number: object) -> tuple[list[int], Tensor]:
        """The numbers of a study's scored trials that the model can hold, and their latents."""  # trial latent
        return self._watched(number).placed(self.space)

    def trial(self, study: object, number: object) -> Place:
        """The DAG of a scored trial, called after it."""
        trial = self.scored_trial(study, number)
        return Given(trial.dag, f"Trial {trial.number:,} of {self.study(study).name}"[: places.MAX_NAME])

    def scored_trial(self, study: object, number: object) -> Scored:
        """A trial that has a score."""
        scored = {trial.number: trial for trial in self.study(study).scored}
        wanted = places.whole_number(number, 0, 2**53, "the number of a trial")
        if wanted not in scored:
            raise RequestError(f"the study has no scored trial {wanted}")
        return scored[wanted]

    def export_current(self, current: object, key: object, enforce: object = None, direction: object = None) -> Export:
        """The page's DAG as a file."""
        finding = self.find(current, enforce)
        way = graph_view.direction_of(direction)
        return export([ScoredDag(finding.dag, finding.score)], key, self.space.task, way)

    def export_trials(self, study: object, numbers: object, key: object, direction: object = None) -> Export:
        """The selected ones of a study's best trials as a file, best first."""
        if not isinstance(numbers, list) or not numbers:
            raise RequestError("select at least one DAG to export")
        if len(numbers) > MAX_DAGS:
            raise RequestError(f"one file holds at most {MAX_DAGS:,} DAGs")
        top = [trial for trial in self.study(study).top if trial.number in numbers]
        way = graph_view.direction_of(direction)
        return export([ScoredDag(trial.dag, trial.score) for trial in top], key, self.space.task, way)

    def at(self, plane: Map, latent: Tensor) -> tuple[float, float]:
        """Where a latent is on a map."""
        x, y = plane.project(latent[None])[0].tolist()
        return (x, y) if math.isfinite(x) and math.isfinite(y) else (0.0, 0.0)

    def held(self, place: Given) -> Place:
        """The place, once it is known that the model can hold its DAG."""
        self.find(places.to_json(place))
        return place

    def _walk_between(self, start: Place, end: Place, path: walks.Path, enforce: bool, direction: Direction) -> Walk:
        ends = [self.find(places.to_json(place), enforce).latent for place in (start, end)]
        steps = walks.walk(self.space, ends[0], ends[1], WALK_STEPS, path, enforce=enforce)
        dags: list[Dag] = [step.dag for step in steps]
        task = self.space.task
        differences = [Changes(), *(walks.changes(a, b, task) for a, b in pairwise(dags))]
        return Walk(tuple(steps), tuple(graph_view.film(dags, self.style, task, direction)), tuple(differences))

    def _watched(self, number: object) -> WatchedStudy:
        if not self.studies:
            raise RequestError("this page follows no study")
        return self.studies[places.whole_number(number, 0, len(self.studies) - 1, "the number of a study")]
