"""A trained model and the DAGs its map is drawn from: everything the page asks about a place.

Nothing here knows of a browser. A `Space` is read-only; the same question has the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import torch
from torch import Tensor

from dvae.dag import Dag, DagBatch, DagSet
from dvae.dag.schema import PropertyRange
from dvae.errors import ConfigError, DvaeError
from dvae.explorer import neighbour_map
from dvae.explorer.making import Made
from dvae.explorer.maps import FlatMap, flat_maps
from dvae.explorer.neighbour_map import NeighbourMap
from dvae.explorer.places import Changed, Given, Known, Latent, Place, RequestError
from dvae.models import VAE
from dvae.progress import track

CONFIDENCE_DRAWS = 64
FEWER_FROM, LEAST_DRAWS = 100, 4  # nodes above which fewer decodings must do, and how few
NEAREST = 6
ENCODED_AT_ONCE = 1000
REMEMBERED = 512  # findings kept, so that the panels of one page compute each place once

Origin = Literal["known", "decoded", "given"]

Map = FlatMap | NeighbourMap


@dataclass(frozen=True)
class Neighbour:
    """A known DAG near a latent."""

    index: int
    distance: float
    score: float | None


@dataclass(frozen=True, eq=False)
class Finding:
    """A DAG, where it lies, and what is known of it."""

    place: Place
    origin: Origin
    dag: Dag
    latent: Tensor  # latent
    valid: bool
    broken_rule: str | None  # why it is not valid
    confidence: float  # share of sampled decodings of the latent that are this DAG
    score: float | None
    rank: float | None  # share of the known scores that are lower
    same_as: int | None  # the known DAG that this is
    nearest: tuple[Neighbour, ...]


class Space:
    """The latent space of `vae`, seen through `known` DAGs."""

    def __init__(
        self,
        vae: VAE,
        known: DagSet,
        latents: Tensor,
        title: str,
        source: str = "",
        splits: Sequence[str] = (),
    ) -> None:
        if not len(known) == len(latents) > 0:
            raise ConfigError("a map needs at least one DAG, and one latent for each")
        if splits and len(splits) != len(known):
            raise ConfigError(f"{len(known)} DAGs have {len(splits)} names of parts; give one for each, or none")
        self.vae, self.task, self.known = vae.eval(), vae.task, known
        self.latents = latents.float().cpu()
        self.title = title
        self.source = source  # where the known DAGs come from, in words
        self.splits = tuple(splits)  # the part of the data that each known DAG belongs to; empty where there are none
        self.bent = Made(lambda: NeighbourMap.of(self.latents))
        self.find = lru_cache(maxsize=REMEMBERED)(self._find)

    @classmethod
    def of(cls, vae: VAE, known: DagSet, title: str, source: str = "", splits: Sequence[str] = ()) -> Space:
        """Encodes the DAGs, with a bar where that takes long."""
        starts = range(0, len(known), ENCODED_AT_ONCE)
        parts = [
            vae.encode(known.dags[start : start + ENCODED_AT_ONCE]).mean.cpu()
            for start in track(starts, "Encoding the map", unit="thousand DAGs")
        ]
        latents = torch.cat(parts) if parts else torch.empty(0, vae.config.latent)
        return cls(vae, known, latents, title, source, splits)

    @cached_property
    def planes(self) -> tuple[FlatMap, ...]:
        """The flat maps: planes through the latent space."""
        return flat_maps(self.latents, self.known.scores)

    @property
    def map_names(self) -> list[str]:
        """The names of the maps that can be chosen."""
        bent = [neighbour_map.NAME] if len(self.known) >= neighbour_map.MIN_DAGS and neighbour_map.is_possible() else []
        return [plane.name for plane in self.planes] + bent

    @property
    def neighbour_map(self) -> NeighbourMap:
        """The map that bends; whoever asks for it first waits some seconds."""
        return self.bent.get()

    @cached_property
    def sorted_scores(self) -> Tensor:
        """The known scores, rising."""
        return torch.tensor(sorted(score for score in self.known.scores if score is not None), dtype=torch.float64)

    @cached_property
    def number_of(self) -> dict[Hashable, int]:
        """The first known DAG of each key."""
        numbers: dict[Hashable, int] = {}
        for start in range(0, len(self.known), ENCODED_AT_ONCE):
            batch = self.task.batch(self.known.dags[start : start + ENCODED_AT_ONCE])
            for offset, key in enumerate(self.task.keys(batch)):
                numbers.setdefault(key, start + offset)
        return numbers

    @property
    def latent_size(self) -> int:
        """The number of dimensions of a latent."""
        return self.vae.config.latent

    @property
    def draws(self) -> int:
        """How many sampled decodings the confidence in a DAG is measured on; of large DAGs they take long."""
        return max(LEAST_DRAWS, min(CONFIDENCE_DRAWS, CONFIDENCE_DRAWS * FEWER_FROM // self.task.max_nodes))

    @property
    def best(self) -> int:
        """The known DAG with the highest score; the first one where there are none."""
        scores = [-math.inf if score is None else score for score in self.known.scores]
        return max(range(len(scores)), key=scores.__getitem__)

    def plane(self, name: str) -> Map:
        """The map called `name`."""
        if name not in self.map_names:
            raise ConfigError(f"there is no map {name!r}; choose one of {', '.join(self.map_names)}")
        if name == neighbour_map.NAME:
            return self.neighbour_map
        return next(plane for plane in self.planes if plane.name == name)

    def latent_of(self, place: Place) -> Tensor:
        """Where a place is in the latent space."""  # latent
        match place:
            case Known(index):
                return self.latents[index]
            case Latent(values):
                return torch.tensor(values)
            case Given(dag):
                return self.encode([dag])[0]
            case Changed():
                return self._changed(place)[0]

    @property
    def conditions(self) -> tuple[PropertyRange, ...]:
        """The properties that DAGs can be asked for; none, where the model was trained without."""
        ranges = () if self.vae.conditions is None else self.vae.conditions.ranges
        return tuple(one for one in ranges if one.low < one.high)

    def _changed(self, place: Changed) -> tuple[Tensor, Tensor]:
        """The latent of a place with other conditions, and the row of conditions that it is decoded with."""
        conditions = self.vae.conditions
        if conditions is None:
            raise RequestError("this model was trained without conditions")
        latent = self.latent_of(place.base)[None].to(self.vae.device)
        before = conditions.weight.new_full((1, len(conditions.names)), torch.nan)
        if not isinstance(place.base, Latent):
            dag = self.known.dags[place.base.index] if isinstance(place.base, Known) else place.base.dag
            before = conditions.of(self.task.batch([dag]).to(self.vae.device))
        moved, after = conditions.changed(latent, before, dict(place.given))
        return moved[0].float().cpu(), after

    def encode(self, dags: Sequence[Dag]) -> Tensor:
        """The latent means of DAGs."""  # count latent
        return self.vae.encode(dags).mean.float().cpu()

    def at(self, plane: Map, x: float, y: float, anchor: Tensor | None = None) -> Latent:
        """The latent under a point of a map; what the map does not show is the anchor's, or the mean's."""
        centre = plane.centre if anchor is None else anchor
        return Latent(tuple(plane.lift(torch.tensor([[x, y]]), centre)[0].tolist()))

    def decode(self, latents: Tensor, *, enforce: bool = False) -> list[Dag]:
        """The likeliest DAG of each latent."""
        return self.vae.decode(latents, greedy=True, valid=enforce)

    def random(self, seed: int) -> Latent:
        """A latent from the prior, moved to where the data lie."""
        return Latent(tuple(self.vae.prior(1, seed=seed)[0].tolist()))

    def scores_of(self, dags: Sequence[Dag]) -> list[float | None]:
        """The scores of DAGs: the task's own where it can score, else those that came with the data."""
        return [self._score(dag) for dag in dags]

    def broken_rule(self, dag: Dag) -> str:
        """The rule of the task that an invalid DAG breaks, in the words of the command line."""
        try:
            found = self.task.why_invalid(dag)
        except DvaeError:  # a decoding that is no DAG of the task at all
            found = None
        return found or f"it breaks the rules of {self.task.name}"

    def nearest(self, latent: Tensor, count: int = NEAREST, without: int | None = None) -> tuple[Neighbour, ...]:
        """The known DAGs nearest to a latent, each DAG once, the number `without` left out."""
        distances = (self.latents - latent).norm(dim=1)
        order = distances.topk(min(len(distances), 8 * count + 8), largest=False).indices.tolist()
        found: dict[Dag, Neighbour] = {}
        for index in order:
            dag = self.known.dags[index]
            if dag not in found and (without is None or dag != self.known.dags[without]):
                found[dag] = Neighbour(index, float(distances[index]), self.known.scores[index])
        return tuple(found.values())[:count]

    def rank_of(self, score: float | None) -> float | None:
        """The share of known scores below this one."""
        if score is None or not len(self.sorted_scores):
            return None
        return int(torch.searchsorted(self.sorted_scores, score)) / len(self.sorted_scores)

    def _find(self, place: Place, enforce: bool = False) -> Finding:
        """What there is at a place."""
        latent = self.latent_of(place)
        origin: Origin = "known"
        asked: Tensor | None = None
        match place:
            case Known(index):
                dag = self.known.dags[index]
                batch = self.task.batch([dag])
            case Latent():
                origin = "decoded"
                batch = self.vae.decode_batch(latent[None], greedy=True, valid=enforce).to(torch.device("cpu"))
                dag = self.task.unbatch(batch)[0]
            case Given(given):
                origin, dag = "given", given
                batch = self.task.batch([dag])
            case Changed():
                origin, (latent, asked) = "decoded", self._changed(place)
                batch = self.vae.decode_batch(latent[None], greedy=True, valid=enforce, given=asked)
                batch = batch.to(torch.device("cpu"))
                dag = self.task.unbatch(batch)[0]
        valid = bool(self.task.valid(batch)[0])
        same_as = self._number(batch) if valid else None
        score = self._score(dag) if valid else None
        return Finding(
            place=place,
            origin=origin,
            dag=dag,
            latent=latent,
            valid=valid,
            broken_rule=None if valid else self.broken_rule(dag),
            confidence=self._confidence(latent, batch, enforce, asked),
            score=score,
            rank=self.rank_of(score),
            same_as=same_as,
            nearest=self.nearest(latent, without=same_as),
        )

    def _number(self, batch: DagBatch) -> int | None:
        return self.number_of.get(self.task.keys(batch)[0])

    def _confidence(self, latent: Tensor, batch: DagBatch, enforce: bool, given: Tensor | None) -> float:
        drawn = self.vae.decode_batch(latent[None], copies=self.draws, seed=0, valid=enforce, given=given)
        (key,) = self.task.keys(batch)
        return sum(other == key for other in self.task.keys(drawn.to(torch.device("cpu")))) / self.draws

    def _score(self, dag: Dag) -> float | None:
        try:
            if self.task.can_score:
                return self.task.score(dag)
            number = self._number(self.task.batch([dag]))
        except DvaeError:  # no DAG of the task, or its table is gone: it has no score
            return None
        return None if number is None else self.known.scores[number]
