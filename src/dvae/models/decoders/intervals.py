"""What teacher forcing has to compute on large graphs: states, and the intervals of sources they are asked about.

A node passes from state to state as it receives its predecessors, from the nearest down (`plan`). Each state is asked
about the sources between one predecessor and the next: an interval of positions, in which the last source alone has an
edge. So nothing needs to be listed pair by pair. States of one graph whose intervals nearly agree form a `Rectangle`,
states times sources; what is too small for one is listed. Of a state that depends on a type alone only the number of
nodes that ask the same question counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.dag import DagBatch

RECTANGLE_PAIRS = 2_048  # states times sources of a rectangle: times the edge network's width it should fit a cache
SMALLEST_RECTANGLE = 48  # pairs; fewer are cheaper as a list
FULL = 0.75  # least share of a rectangle's pairs that are asked about


@dataclass(frozen=True)
class Rectangles:
    """Some states of a graph each, times some of its sources, one rectangle after another; entries state by state."""

    states: Tensor  # row: number of the state
    heights: tuple[int, ...]  # rectangle: how many rows
    lows: tuple[int, ...]  # rectangle: graph*node of its first source
    widths: tuple[int, ...]  # rectangle: how many sources
    areas: tuple[int, ...]  # batch: entries of each graph
    edges: Tensor  # entries that are edges
    edge_graph: Tensor  # their graphs
    outside: Tensor  # entries outside of their state's interval, which are not asked about


@dataclass(frozen=True)
class Prefixes:
    """Sums over the first edges of nodes with about as many predecessors."""

    edge_source: Tensor  # node edge: graph*node of the predecessor, the nearest first; repeated where there is none
    kept: Tensor  # state: index into node*edge


@dataclass(frozen=True)
class Listed:
    """Single decisions: a source, a state, how many nodes ask, and for how many of them the answer is yes."""

    source: Tensor  # entry: graph*node
    state: Tensor  # entry: number of the state
    count: Tensor  # entry
    edges: Tensor  # entry


@dataclass(frozen=True)
class IntervalPlan:
    """States are numbered: types, in between (in the order of `prefixes`), final."""

    prefixes: tuple[Prefixes, ...]
    between_types: Tensor  # state
    finals: Tensor  # state: graph*node
    rectangles: Rectangles
    listed: Listed

    @classmethod
    def of(cls, batch: DagBatch, num_types: int) -> IntervalPlan:
        nodes = batch.max_nodes
        graph, source, target = batch.adjacency.nonzero(as_tuple=True)
        order = ((graph * nodes + target) * nodes - source).argsort()  # by target, the nearest predecessor first
        source, node = source[order], (graph * nodes + target)[order]
        degrees = node.bincount(minlength=len(batch) * nodes)
        starts = degrees.cumsum(0) - degrees
        prefixes, between = _prefixes(node - node % nodes + source, degrees, starts)
        is_last = torch.ones_like(node, dtype=torch.bool)
        is_last[:-1] = node[1:] != node[:-1]
        final = (is_last & (source > 0)).nonzero().squeeze(1)
        owner = torch.cat([node[between], node[final]])
        begins = torch.cat([source[between + 1], torch.zeros_like(final)])
        ends = torch.cat([source[between], source[final]])
        groups, rest = _groups(owner // nodes, begins, ends, nodes)
        few = _listed_intervals((owner - owner % nodes)[rest], begins[rest], ends[rest], rest, len(between), num_types)
        typed = _typed(batch, degrees, starts, source, num_types)
        return cls(
            prefixes=prefixes,
            between_types=batch.types.flatten()[node[between]],
            finals=node[final],
            rectangles=_rectangles(
                groups, owner - owner % nodes + begins, ends - begins, len(between), num_types, batch
            ),
            listed=Listed(*map(torch.cat, zip(few, typed, strict=True))),
        )


def _prefixes(edge_source: Tensor, degrees: Tensor, starts: Tensor) -> tuple[tuple[Prefixes, ...], Tensor]:
    """How sums over the first edges of a node are taken, and after which edge each of the states is reached."""
    widest = max(int(degrees.max()) - 1, 0) if len(degrees) else 0
    found, edges, low = [], [edge_source.new_zeros(0)], 0
    high = 1
    while low < widest:
        some = ((degrees - 1 > low) & (degrees - 1 <= high)).nonzero().squeeze(1)
        if len(some):
            step = torch.arange(high, device=degrees.device)
            known = (degrees[some] - 1)[:, None]  # the state after the last edge is the final one
            edge = starts[some, None] + torch.minimum(step, known - 1)
            kept = (step < known).flatten().nonzero().squeeze(1)
            found.append(Prefixes(edge_source[edge], kept))
            edges.append(edge.flatten()[kept])
        low, high = high, 2 * high
    return tuple(found), torch.cat(edges)


def _groups(graphs: Tensor, begins: Tensor, ends: Tensor, nodes: int) -> tuple[list[list[int]], Tensor]:
    """Intervals of a graph that nearly agree, and those that are left over."""
    order = ((graphs * nodes + begins) * (nodes + 1) + ends).argsort()
    columns = zip(order.tolist(), *(values[order].tolist() for values in (graphs, begins, ends)), strict=True)
    found: list[list[int]] = []
    rest: list[int] = []
    group: list[int] = []
    graph = low = high = asked = 0
    for number, of_graph, begin, end in columns:
        pairs = (max(end, high) - low) * (len(group) + 1)
        if of_graph == graph and group and pairs <= RECTANGLE_PAIRS and asked + end - begin >= FULL * pairs:
            group.append(number)
            high, asked = max(end, high), asked + end - begin
            continue
        if len(group) * (high - low) >= SMALLEST_RECTANGLE:
            found.append(group)
        else:
            rest.extend(group)
        group, graph, low, high, asked = [number], of_graph, begin, end, end - begin
    if len(group) * (high - low) >= SMALLEST_RECTANGLE:
        found.append(group)
    else:
        rest.extend(group)
    return found, order.new_tensor(rest)


def _rectangles(
    groups: list[list[int]], begins: Tensor, lengths: Tensor, num_between: int, num_types: int, batch: DagBatch
) -> Rectangles:
    """The rectangles around groups of intervals, which begin at a graph*node."""
    rows = begins.new_tensor([number for group in groups for number in group])
    heights = begins.new_tensor([len(group) for group in groups])
    of_row = torch.repeat_interleave(heights)  # which rectangle
    begin, end = begins[rows], (begins + lengths)[rows]
    low = begins.new_full((len(groups),), begins.numel() + batch.types.numel()).scatter_reduce_(
        0, of_row, begin, "amin"
    )
    width = torch.zeros_like(low).scatter_reduce_(0, of_row, end, "amax") - low
    row_width = width[of_row]
    row_start = row_width.cumsum(0) - row_width
    ahead, behind = begin - low[of_row], (low + width)[of_row] - end
    has_edge = rows < num_between
    areas = begins.new_zeros(len(batch)).index_add_(0, low // batch.max_nodes, heights * width)
    return Rectangles(
        states=num_types + rows,
        heights=tuple(heights.tolist()),
        lows=tuple(low.tolist()),
        widths=tuple(width.tolist()),
        areas=tuple(areas.tolist()),
        edges=(row_start + ahead)[has_edge],
        edge_graph=(begin // batch.max_nodes)[has_edge],
        outside=torch.cat([_ranges(row_start, ahead), _ranges(row_start + row_width - behind, behind)]),
    )


def _ranges(begins: Tensor, lengths: Tensor) -> Tensor:
    """The numbers of all ranges, one after another."""
    entry = torch.repeat_interleave(lengths)
    return (begins - lengths.cumsum(0) + lengths)[entry] + torch.arange(len(entry), device=entry.device)


def _listed_intervals(
    offset: Tensor, begins: Tensor, ends: Tensor, number: Tensor, num_between: int, num_types: int
) -> tuple[Tensor, ...]:
    """Every source of the intervals; the first has an edge where the state is one in between."""
    entry = torch.repeat_interleave(ends - begins)  # which interval
    source = _ranges(offset + begins, ends - begins)
    edges = (source == (offset + begins)[entry]) & (number < num_between)[entry]
    return source, num_types + number[entry], torch.ones_like(entry), edges.to(entry.dtype)


def _typed(
    batch: DagBatch, degrees: Tensor, starts: Tensor, source: Tensor, num_types: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """How many nodes that have received nothing yet ask for each source and type, and how many then take it."""
    nodes, device = batch.max_nodes, batch.device
    position = torch.arange(nodes, device=device).expand(len(batch), -1)
    asking = (batch.node_mask() & (position > 0)).flatten().nonzero().squeeze(1)
    degree = degrees[asking]
    nearest = (
        torch.where(degree > 0, source[starts[asking].clamp(max=max(len(source) - 1, 0))], 0) if len(source) else 0
    )
    types, graph = batch.types.flatten()[asking], asking // nodes
    takes = degree > 0
    cell = (graph * nodes + nearest) * num_types + types
    beyond = (graph * nodes + asking % nodes) * num_types + types  # a node asks for those before it
    change = torch.zeros(len(batch) * nodes * num_types, dtype=torch.int64, device=device)
    change.index_add_(0, cell, torch.ones_like(cell)).index_add_(0, beyond, -torch.ones_like(beyond))
    counts = change.view(len(batch), nodes, num_types).cumsum(1).flatten()
    edges = torch.zeros_like(counts).index_add_(0, cell[takes], torch.ones_like(cell[takes]))
    asked = counts.nonzero().squeeze(1)
    return asked // num_types, asked % num_types, counts[asked], edges[asked]
