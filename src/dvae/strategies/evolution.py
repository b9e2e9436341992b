"""Regularised evolution (Real et al., AAAI 2019) on the DAGs themselves."""

from __future__ import annotations

from dvae.dag import Dag
from dvae.errors import DvaeError
from dvae.models import VAE
from dvae.strategies.archive import Archive
from dvae.strategies.base import ATTEMPTS, Drawing, draw_below
from dvae.strategies.edits import changed


class Evolution(Drawing):
    """The rival that needs no model: `vae` is not looked at.

    The population is the youngest `population` scored DAGs; a parent is the best of `tournament` of them, a child
    differs from it by one edit.
    """

    description = "regularised evolution on the DAGs themselves, without the model: the honest rival"
    needs_start = True

    def __init__(
        self, vae: VAE | None, archive: Archive, *, seed: int = 0, population: int = 50, tournament: int = 10
    ) -> None:
        super().__init__(archive, seed)
        self.population, self.tournament = population, tournament

    def ask(self, count: int) -> list[Dag]:
        """Changed copies of the winners of small tournaments."""
        if not len(self.archive):
            raise DvaeError("evolution needs scored DAGs to start from: tell it some first")
        found: list[Dag] = []
        for _ in range(ATTEMPTS * count):
            if len(found) == count:
                break
            child = self.changed(self._parent())
            for _ in range(self.draw(3)):  # where all neighbours are known, further edits lead on
                child = self.changed(child) if self.archive.unknown([child]) == [] else child
            if self.archive.task.is_valid(child):
                found += self.archive.take([child], 1)
        return found

    def changed(self, dag: Dag) -> Dag:
        """A child of `dag`."""
        return changed(self.archive.task, dag, self.generator)

    def draw(self, below: int) -> int:
        """A random integer from 0 to `below` - 1."""
        return draw_below(below, self.generator)

    def _parent(self) -> Dag:
        youngest = range(max(0, len(self.archive) - self.population), len(self.archive))
        rivals = [youngest[self.draw(len(youngest))] for _ in range(self.tournament)]
        return self.archive.dags[max(rivals, key=self.archive.scores.__getitem__)]
