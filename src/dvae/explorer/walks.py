"""Moving through the latent space: along a path between two DAGs, and around one of them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from dvae.dag import Dag, Edge
from dvae.errors import ConfigError
from dvae.explorer.neighbour_map import NeighbourMap
from dvae.explorer.places import Latent
from dvae.explorer.space import Map, Space
from dvae.tasks import Task

Path = Literal["line", "circle"]
PATHS: tuple[Path, ...] = ("line", "circle")
MAX_STEPS = 64
MAX_SIDE = 9
FLAT = 1e-3  # sine of an angle below which a great circle is a line, or is not defined


@dataclass(frozen=True, eq=False)
class Step:
    """A decoded DAG; `share` says how far along the path (0 to 1) it stands."""

    share: float
    latent: Tensor  # latent
    dag: Dag
    valid: bool
    score: float | None

    @property
    def place(self) -> Latent:
        return Latent(tuple(self.latent.tolist()))


@dataclass(frozen=True)
class Changes:
    """What separates a DAG from the one before, by the names of nodes (`Task.node_names`)."""

    nodes: frozenset[Hashable] = frozenset()  # new, or of another type
    added: frozenset[tuple[Hashable, Hashable]] = frozenset()
    removed: frozenset[tuple[Hashable, Hashable]] = frozenset()

    def __len__(self) -> int:
        return len(self.nodes) + len(self.added) + len(self.removed)


def latents_between(start: Tensor, end: Tensor, count: int, path: Path) -> Tensor:
    """`count` latents from start to end along the line or the great circle about the origin."""  # count latent
    if not 2 <= count <= MAX_STEPS:
        raise ConfigError(f"a walk has 2 to {MAX_STEPS} steps, not {count}")
    shares = torch.linspace(0, 1, count, dtype=torch.float64)[:, None]
    start, end = start.double(), end.double()
    lengths = float(start.norm()), float(end.norm())
    if path == "line" or min(lengths) == 0:
        return torch.lerp(start[None], end[None], shares)
    cosine = float((start @ end) / (lengths[0] * lengths[1]))
    angle = math.acos(max(-1.0, min(1.0, cosine)))
    if math.sin(angle) < FLAT:
        return torch.lerp(start[None], end[None], shares)
    # Shoemake's spherical interpolation of the directions; lengths go over evenly.
    directions = torch.sin((1 - shares) * angle) * start / lengths[0] + torch.sin(shares * angle) * end / lengths[1]
    return directions / math.sin(angle) * (lengths[0] + shares * (lengths[1] - lengths[0]))


def walk(space: Space, start: Tensor, end: Tensor, count: int, path: Path, *, enforce: bool = False) -> list[Step]:
    """The DAGs decoded along a path."""
    latents = latents_between(start, end, count, path).float()
    shares = torch.linspace(0, 1, count).tolist()
    return _steps(space, latents, shares, enforce)


def neighbourhood(
    space: Space, centre: Tensor, plane: Map, side: int, reach: float, *, enforce: bool = False
) -> list[Step]:
    """A square of side x side DAGs around a latent, row by row from the top, along the axes of a map.

    `reach` is how far the outermost lie, in standard deviations of the known DAGs along each axis. A map of neighbours
    has no straight axes; the first principal components take their place.
    """
    if not 3 <= side <= MAX_SIDE or side % 2 == 0:
        raise ConfigError(f"a neighbourhood has an odd side from 3 to {MAX_SIDE}, not {side}")
    plane = space.planes[0] if isinstance(plane, NeighbourMap) else plane
    spread = plane.project(space.latents).std(0) if len(space.latents) > 1 else torch.ones(2)
    offsets = torch.linspace(-1, 1, side) * reach
    grid = torch.cartesian_prod(-offsets, offsets).flip(1) * spread  # rows from the top, x across
    return _steps(space, centre + grid @ plane.axes, [0.0] * len(grid), enforce)


def latents_of(steps: Sequence[Step]) -> Tensor:
    """The latents of all steps."""  # step latent
    return torch.stack([step.latent for step in steps])


def _steps(space: Space, latents: Tensor, shares: list[float], enforce: bool) -> list[Step]:
    batch = space.vae.decode_batch(latents, greedy=True, valid=enforce).to(torch.device("cpu"))
    dags, valid = space.task.unbatch(batch), space.task.valid(batch).tolist()
    scores = {dag: space.scores_of([dag])[0] for dag, good in zip(dags, valid, strict=True) if good}
    rows = zip(shares, latents, dags, valid, strict=True)
    return [Step(share, latent, dag, good, scores.get(dag)) for share, latent, dag, good in rows]


def changes(before: Dag, after: Dag, task: Task) -> Changes:
    """The parts of `after` that are new, and the edges of `before` that are gone."""
    old, new = task.node_names(before), task.node_names(after)
    types = dict(zip(old, before.types, strict=True))
    moved = {name for name, label in zip(new, after.types, strict=True) if types.get(name) != label}
    had, has = _named(before.edges, old), _named(after.edges, new)
    return Changes(frozenset(moved), frozenset(has - had), frozenset(had - has))


def _named(edges: tuple[Edge, ...], names: Sequence[Hashable]) -> set[tuple[Hashable, Hashable]]:
    return {(names[source], names[target]) for source, target in edges}
