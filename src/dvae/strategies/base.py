"""Ask for DAGs, tell their scores: every way of searching behind one interface.

A strategy never proposes a DAG that was scored or proposed before (its archive sees to that), and it learns only what
it is told. It may be told of DAGs it did not propose: scored training data are a warm start.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

from dvae.dag import Dag
from dvae.errors import DvaeError
from dvae.models import VAE
from dvae.strategies.archive import Archive, Evaluation
from dvae.tasks import Task

ATTEMPTS = 50  # rounds of drawing before a strategy says that it finds nothing new
DRAWS = 256


class Strategy(Protocol):
    archive: Archive

    def ask(self, count: int) -> list[Dag]:
        """At most `count` valid DAGs nobody has proposed; fewer only if the strategy finds no more."""
        ...

    def tell(self, evaluations: Iterable[Evaluation]) -> None: ...

    def state(self) -> dict[str, Any]:
        """Plain values that, with all that was told, are enough to go on from here in another process."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Takes up a `state`, after having been told all that was told before it."""
        ...


class Drawing:
    """What strategies that draw by chance have in common: an archive, a generator, and a state that holds it."""

    def __init__(self, archive: Archive, seed: int) -> None:
        self.archive = archive
        self.generator = torch.Generator().manual_seed(seed)

    def tell(self, evaluations: Iterable[Evaluation]) -> None:
        self.archive.add(evaluations)

    def state(self) -> dict[str, Any]:
        return {"generator": base64.b64encode(bytes(self.generator.get_state().tolist())).decode()}

    def restore(self, state: Mapping[str, Any]) -> None:
        values = list(base64.b64decode(state["generator"]))
        self.generator.set_state(torch.tensor(values, dtype=torch.uint8))


class RandomSearch(Drawing):
    """Latents from the prior (moved to where the training data lie) or from their range, decoded once each."""

    def __init__(self, vae: VAE, archive: Archive, *, seed: int = 0, box: tuple[Tensor, Tensor] | None = None) -> None:
        super().__init__(archive, seed)
        self.vae, self.box = vae, box

    def ask(self, count: int) -> list[Dag]:
        found: list[Dag] = []
        for _ in range(ATTEMPTS):
            latents = self._latents(DRAWS)
            decoded = decoded_dags(self.vae, latents, seed=draw_seed(self.generator))
            found += self.archive.take(decoded, count - len(found))
            if len(found) == count:
                break
        return found

    def _latents(self, count: int) -> Tensor:
        if self.box is None:
            return self.vae.prior(count, seed=draw_seed(self.generator))
        low, high = self.box
        return low + (high - low) * torch.rand(count, len(low), generator=self.generator, dtype=low.dtype)


class Evolution(Drawing):
    """Regularised evolution (Real et al., AAAI 2019) on the DAGs themselves, no model: the honest rival.

    The population is the youngest `population` scored DAGs; a parent is the best of `tournament` of them, a child
    differs from it by one change: another type of a node, or an edge more or less.
    """

    def __init__(self, archive: Archive, *, seed: int = 0, population: int = 50, tournament: int = 10) -> None:
        super().__init__(archive, seed)
        self.population, self.tournament = population, tournament

    def ask(self, count: int) -> list[Dag]:
        if not len(self.archive):
            raise DvaeError("evolution needs scored DAGs to start from: tell it some first")
        found: list[Dag] = []
        for _ in range(ATTEMPTS * count):
            if len(found) == count:
                break
            child = self._changed(self._parent())
            for _ in range(self._draw(3)):  # where all neighbours are known, further changes lead on
                child = self._changed(child) if self.archive.unknown([child]) == [] else child
            if self.archive.task.is_valid(child):
                found += self.archive.take([child], 1)
        return found

    def _parent(self) -> Dag:
        youngest = range(max(0, len(self.archive) - self.population), len(self.archive))
        rivals = [youngest[self._draw(len(youngest))] for _ in range(self.tournament)]
        return self.archive.dags[max(rivals, key=self.archive.scores.__getitem__)]

    def _changed(self, dag: Dag) -> Dag:
        return changed(self.archive.task, dag, self.generator)

    def _draw(self, below: int) -> int:
        return draw_below(below, self.generator)


def changed(task: Task, dag: Dag, generator: torch.Generator) -> Dag:
    """`dag` with another type of a node, or an edge more or less, if a valid one is found soon; else as it is."""
    for _ in range(ATTEMPTS):
        types, edges = list(dag.types), set(dag.edges)
        if draw_below(2, generator) == 0:
            types[draw_below(len(types), generator)] = task.vocabulary.labels[draw_below(task.num_types, generator)]
        else:
            source, target = sorted(torch.randperm(len(types), generator=generator)[:2].tolist())
            edges ^= {(source, target)}
        child = Dag(tuple(types), tuple(edges))
        if child != dag and task.is_valid(child):
            return child
    return dag


def decoded_dags(vae: VAE, latents: Tensor, *, greedy: bool = False, seed: int | None = None) -> list[Dag]:
    """Valid DAGs that latents decode to: the task's rules are kept while decoding."""
    batch = vae.decode_batch(latents, greedy=greedy, seed=seed, valid=True)
    return vae.task.unbatch(batch.select(vae.task.valid(batch)))


def draw_below(limit: int, generator: torch.Generator) -> int:
    return int(torch.randint(limit, (1,), generator=generator))


def draw_seed(generator: torch.Generator) -> int:
    return int(torch.randint(2**62, (1,), generator=generator))
