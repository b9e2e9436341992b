"""A DAG with too many nodes for a picture, folded into fewer: groups of its nodes, and the edges between groups.

Layers (longest paths from a source) are cut into bands of equal height. What hangs together within a band is one
group, and groups of a band that have the same types stand in one stack. Edges between groups lead from one band to a
later one, so the folded graph is a DAG too, whichever of its groups are opened again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dvae.dag.value import Dag, Edge, Label, joined
from dvae.errors import ConfigError

MANY = 80  # nodes above which a drawing opens folded
LIMIT = 60  # boxes that a folded drawing should have at most
DEPTH = 14  # groups one after another, so that a drawing fits into a window
UNEVEN = 0.3  # share of all nodes that one group may hold before whole bands are folded instead
NAMED = 2  # types that the name of a group lists

Group = tuple[int, ...]  # nodes, sorted
Opened = Collection[tuple[int, int]]  # groups by their first node and their size


@dataclass(frozen=True, slots=True)
class Folding:
    """Groups of nodes in topological order, and how many edges lead from one group to another."""

    groups: tuple[Group, ...]
    links: tuple[tuple[Edge, int], ...]

    def __len__(self) -> int:
        return len(self.groups)


def fold(dag: Dag, limit: int = LIMIT, opened: Opened = ()) -> Folding:
    """The finest folding into at most `limit` groups; those of `opened` are folded again, each for itself."""
    if limit < 1:
        raise ConfigError(f"a drawing was to be folded into {limit} groups; it needs at least one")
    groups = _opened(dag, _groups(dag, limit), limit, opened)
    place = {node: number for number, group in enumerate(groups) for node in group}
    links = Counter((place[source], place[target]) for source, target in dag.edges)
    return Folding(tuple(groups), tuple(sorted((link, n) for link, n in links.items() if link[0] != link[1])))


def _groups(dag: Dag, limit: int) -> list[Group]:
    """A DAG that is small enough is not folded; parts of which one holds nearly all are no better than bands."""
    if len(dag) <= limit:
        return [(node,) for node in range(len(dag))]
    layers = dag.layers()
    depth = max(layers) + 1
    for height in _heights(-(-depth // min(DEPTH, limit)), depth):
        groups = _stacks(dag, [layer // height for layer in layers])
        if len(groups) <= limit:
            if max(map(len, groups)) <= UNEVEN * len(dag):
                return groups
            break
    height = -(-depth // min(DEPTH, limit))
    bands: dict[int, list[int]] = defaultdict(list)
    for node, layer in enumerate(layers):
        bands[layer // height].append(node)
    return [tuple(bands[band]) for band in sorted(bands)]


def _opened(dag: Dag, groups: list[Group], limit: int, opened: Opened) -> list[Group]:
    shown: list[Group] = []
    for group in groups:
        if len(group) > 1 and (group[0], len(group)) in opened:
            inner = [tuple(group[node] for node in part) for part in _groups(_part(dag, group), limit)]
            if len(inner) == 1:  # a stack of equal nodes
                inner = [(node,) for node in group]
            shown += _opened(dag, inner, limit, opened)
        else:
            shown.append(group)
    return shown


def _part(dag: Dag, nodes: Group) -> Dag:
    number = {node: place for place, node in enumerate(nodes)}
    inside = [(number[u], number[v]) for u, v in dag.edges if u in number and v in number]
    return Dag(tuple(dag.types[node] for node in nodes), tuple(inside))


def group_name(types: Collection[Label]) -> str:
    """What a group of nodes with these types is called."""
    if len(types) == 1:
        return str(next(iter(types)))
    counts = Counter(map(str, types)).most_common()
    if len(counts) == 1:
        return f"{counts[0][0]} ×{len(types):,}"
    shown = ", ".join(f"{label} {count}" for label, count in counts[:NAMED])
    return f"{len(types):,} nodes: {shown}" + (" …" if len(counts) > NAMED else "")


def _heights(height: int, depth: int) -> Iterator[int]:
    """Heights of bands to try, each a third more than the one before, and the whole depth at last."""
    while height < depth:
        yield height
        height += max(1, height // 3)
    yield depth


def _stacks(dag: Dag, bands: list[int]) -> list[Group]:
    """The parts that hang together within their bands, those of one band with equal types together, in order."""
    firsts = joined(len(dag), (edge for edge in dag.edges if bands[edge[0]] == bands[edge[1]]))
    parts: dict[int, list[int]] = defaultdict(list)
    for node, first in enumerate(firsts):
        parts[first].append(node)
    stacks: dict[tuple[int, frozenset[tuple[Label, int]]], list[int]] = defaultdict(list)
    for first, nodes in parts.items():
        kind = frozenset(Counter(dag.types[node] for node in nodes).items())
        stacks[bands[first], kind] += nodes
    ordered = sorted(stacks.items(), key=lambda stack: (stack[0][0], min(stack[1])))
    return [tuple(sorted(nodes)) for _, nodes in ordered]
