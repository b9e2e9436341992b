"""Pictures of Bayesian networks: edges as wide as they are certain, and without a head where none is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dvae.dag.value import Dag
from dvae.errors import ConfigError
from dvae.figures.arrows import EdgeLook
from dvae.figures.dags import draw_dag
from dvae.figures.picture import Picture
from dvae.figures.picture_file import write_picture
from dvae.figures.png import png_bytes
from dvae.figures.style import DagStyle, mixed
from dvae.figures.svg import svg_text

DISCRETE, CONTINUOUS = "#bfdcf5", "#fbd9a0"  # blue and orange: told apart by colour-blind eyes
PLAIN_WIDTH = 1.8
NARROW, WIDE = 0.9, 4.0  # of an edge that is in no network of a bootstrap, and of one in all
PALE, DARK = "#c3ccd8", "#475569"
MAX_LABEL_WIDTH = 190.0


@dataclass(frozen=True, slots=True)
class NetworkEdge:
    """An edge of a network; `confidence`, from 0 to 1, makes it wide, and one that is not `directed` has no head."""

    source: str
    target: str
    directed: bool = True
    confidence: float | None = None


def draw_network(
    names: Sequence[str],
    edges: Iterable[NetworkEdge],
    *,
    continuous: Iterable[str] = (),
    title: str | None = None,
) -> Picture:
    """A network, top to bottom; edges without direction are laid out as they are given, so they must make no cycle."""
    edges = list(edges)
    place = {name: number for number, name in enumerate(names)}
    for edge in edges:
        for end in (edge.source, edge.target):
            if end not in place:
                raise ConfigError(f"an edge ends in {end!r}, which is no variable of the network")
    dag = Dag(tuple(names), tuple((place[edge.source], place[edge.target]) for edge in edges))
    at = {name: number for number, name in enumerate(dag.types)}
    looks = {(at[edge.source], at[edge.target]): look_of(edge) for edge in edges}
    return draw_dag(dag, title=title, style=network_style(names, continuous), looks=looks)


def save_network(
    path: str | Path,
    names: Sequence[str],
    edges: Iterable[NetworkEdge],
    *,
    continuous: Iterable[str] = (),
    title: str | None = None,
) -> Path:
    """Writes the picture of a network to a .svg or .png file; returns its path."""
    picture = draw_network(names, edges, continuous=continuous, title=title)
    return write_picture(path, svg=lambda: svg_text(picture).encode(), png=lambda: png_bytes(picture))


def network_style(names: Iterable[str], continuous: Iterable[str] = ()) -> DagStyle:
    """Boxes with whole names; continuous variables have another colour."""
    numbers = set(continuous)
    colours = tuple((name, CONTINUOUS if name in numbers else DISCRETE) for name in names)
    return DagStyle(colours=colours, max_label_width=MAX_LABEL_WIDTH, edge=DARK, edge_width=PLAIN_WIDTH)


def look_of(edge: NetworkEdge) -> EdgeLook:
    """Width and colour of an edge."""
    mark = "→" if edge.directed else "–"
    if edge.confidence is None:
        return EdgeLook(PLAIN_WIDTH, DARK, edge.directed, f"{edge.source} {mark} {edge.target}")
    share = min(max(edge.confidence, 0.0), 1.0)
    note = f"{edge.source} {mark} {edge.target}: confidence {share:.0%}"
    return EdgeLook(NARROW + (WIDE - NARROW) * share, mixed(PALE, DARK, share), edge.directed, note)
