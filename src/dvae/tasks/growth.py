"""Decoding within the rules of DAGs: what each decision may be, so that the graph can still become a legal one.

Before each decision the rules look at what the partial graph still owes (`Standing`): nodes that need successors,
loose ends that must meet, pieces that must be joined. The nodes to come can settle only so much; what they could not
settle, the newest node must. The bounds are necessary ones, so no legal DAG is excluded; what slips through is found
afterwards and decoded again with nodes kept in reserve (`GrowthRules.cautious`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from dvae.tasks.graph_rules import GraphRules
from dvae.tasks.rule_tables import UNLIMITED, RuleTables, tables_on
from dvae.tasks.rules import EdgeRule, EdgeRules, PartialGraphs
from dvae.tasks.vocabulary import END_INDEX, START_INDEX, Vocabulary


class Standing(NamedTuple):
    """What the nodes of partial graphs have and owe; a virtual start has and owes nothing."""

    room: Tensor  # row node: how many more successors it may have
    inner_room: Tensor  # row node: those that are not the end node
    owed: Tensor  # row node: how many successors before the end it must still get
    loose: Tensor  # row node, bool: whether it owes nothing, but would go to the end node (or be a sink)
    horizon: Tensor  # row node: the fewest nodes to come that settle what it owes
    debts: Tensor  # row node: what it adds to the ends that must meet
    piece: Tensor | None  # row node: where it matters, the first node of the piece it is in


class Claim(NamedTuple):
    """So many of the `useful` sources must be among the predecessors of the newest node."""

    useful: Tensor  # row source, bool
    needed: Tensor  # row


@dataclass(frozen=True, eq=False)
class GraphGrowth:
    """The decoding rules of a task with `GraphRules`; positions are those of the model's DAGs."""

    tables: RuleTables
    min_inner: int  # nodes of the data's DAGs, without an own end node
    max_inner: int
    last: int  # the last position, where only the end can be
    virtual_start: bool
    virtual_end: bool
    end_chooses: bool  # whether the end node chooses edges before it takes the loose ends
    single_source: bool
    capacity: int  # how many loose ends may be left at the end
    joins: bool  # whether being in one piece is a rule that does not follow from the others
    reserve: int = 0  # nodes to come that are not counted on

    @classmethod
    def of(
        cls, rules: GraphRules, vocabulary: Vocabulary, max_nodes: int, *, virtual_start: bool, virtual_end: bool,
        end_chooses: bool,
    ) -> GraphGrowth:  # fmt: skip
        tables = RuleTables.of(rules, vocabulary, virtual_start=virtual_start, virtual_end=virtual_end)
        own_end, (low, high) = int(not virtual_end), rules.nodes
        single_source, single_sink = rules.single_source or not virtual_start, rules.single_sink or not virtual_end
        capacity = int(tables.max_in[END_INDEX]) if own_end else 1 if rules.single_sink else UNLIMITED
        return cls(
            tables,
            min_inner=max(low - own_end, 2 if virtual_end and not virtual_start else 1),
            max_inner=UNLIMITED if high is None else high - own_end,
            last=max_nodes - 1,
            virtual_start=virtual_start,
            virtual_end=virtual_end,
            end_chooses=end_chooses,
            single_source=single_source,
            capacity=capacity,
            joins=rules.connected and not (single_source or single_sink),
        )

    def cautious(self, attempt: int) -> GraphGrowth:
        return replace(self, reserve=attempt % 4)

    def next_types(self, graphs: PartialGraphs, num_types: int) -> Tensor:
        tables, position = tables_on(self.tables, graphs.types.device), graphs.types.shape[1]
        left, standing = self._left(position), self._standing(graphs, tables)
        ends = self._may_end(graphs, standing, tables)
        if left < 1:
            allowed = ends.new_zeros(len(ends), num_types)
            allowed[:, END_INDEX] = True
            return allowed
        takable = tables.pair[graphs.types] & (standing.inner_room > 0)[..., None]  # row node type
        needed = self._needed(position, tables).expand(len(ends), -1)
        room = torch.minimum(takable.sum(1), tables.max_in)
        fed = needed <= room
        fed[:, START_INDEX] = fed[:, END_INDEX] = False
        allowed = fed & self._leads_to_an_end(standing, takable, room, needed, position, tables)
        allowed[:, END_INDEX] = ends
        stuck = ~allowed.any(1, keepdim=True)
        return torch.where(stuck, fed, allowed)

    def next_edges(self, graphs: PartialGraphs) -> EdgeRules:
        tables, position = tables_on(self.tables, graphs.types.device), graphs.types.shape[1] - 1
        kind, before = graphs.types[:, position], graphs.types[:, :position]
        standing = self._standing(PartialGraphs(before, graphs.adjacency[:, :position, :position]), tables)
        ending = kind == END_INDEX
        room = torch.where(ending[:, None], standing.room, standing.inner_room)
        takable = tables.pair[before, kind[:, None]] & (room > 0)
        claims = self._claims(standing, kind, position, tables)
        most, place = tables.max_in[kind], torch.arange(position, device=kind.device)

        def rule(source: int, edges: Tensor) -> EdgeRule:
            chosen = edges & (place > source)
            if self.virtual_start and source == 0:
                return EdgeRule(None, ~chosen.any(1))
            open_, free = takable & (place <= source), most - chosen.sum(1)
            possible = takable[:, source] & (free > 0)
            allowed, required = possible, torch.zeros_like(ending)
            for claim in claims:
                useful = open_ & claim.useful
                missing = claim.needed - (chosen & claim.useful).sum(1)
                required = required | (useful[:, source] & (useful.sum(1) <= missing))
                allowed = allowed & (useful[:, source] | (missing < free))
            if standing.piece is not None:
                required = required | self._joins(standing.piece, open_, chosen, source, position)
            required = required & possible
            allowed = allowed & self._keeps_enough(standing, chosen, kind, source, position, tables) | required
            if self.virtual_end:
                allowed, required = allowed | ending, required & ~ending
            return EdgeRule(allowed, required)

        return rule

    def _left(self, position: int) -> int:
        """How many inner nodes may still come, that at `position` included."""
        return min(self.last - position, self.max_inner - self._count(position))

    def _count(self, position: int) -> int:
        """How many nodes before `position` are the data's."""
        return position - int(self.virtual_start)

    def _needed(self, position: int, tables: RuleTables) -> Tensor:
        """How many predecessors a node at `position` must have."""  # type
        may_be_source = tables.source & (not self.single_source or self._count(position) == 0)
        return torch.maximum(tables.min_in, (~may_be_source).long())

    def _standing(self, graphs: PartialGraphs, tables: RuleTables) -> Standing:
        types = graphs.types
        real = torch.ones_like(types, dtype=torch.bool)
        if self.virtual_start:
            real[:, 0] = False
        out = graphs.adjacency.sum(2)
        lacking, unused = (tables.min_out[types] - out).clamp(min=0), out == 0
        if self.end_chooses and not self.virtual_end:
            joinable = tables.pair[types, END_INDEX]
            owed = torch.maximum(lacking - joinable.long(), (unused & ~joinable).long())
            loose = (owed <= 0) & (unused | (lacking > 0))
        else:
            owed = torch.where(unused & tables.ends[types], 0, torch.maximum(lacking, unused.long()))
            loose = unused & (owed == 0)
        owed, loose = owed.clamp(min=0) * real, loose & real
        horizon = torch.where(owed > 0, torch.maximum(owed, tables.beyond[types]), 0)
        debts = owed if self.capacity >= UNLIMITED else torch.maximum(owed, loose.long())
        room, inner_room = ((limit[types] - out).clamp(min=0) * real for limit in (tables.max_out, tables.inner_room))
        piece = pieces_of(graphs.adjacency & real[:, :, None]) if self.joins else None
        return Standing(room, inner_room, owed, loose, horizon, debts, piece)

    def _may_end(self, graphs: PartialGraphs, standing: Standing, tables: RuleTables) -> Tensor:
        """Whether the graphs are legal as they are, once the end node has taken the loose ends."""  # row
        position, loose = graphs.types.shape[1], standing.loose.sum(1)
        enough = self._count(position) >= self.min_inner
        ends = (standing.owed.sum(1) == 0) & (loose <= self.capacity) & enough
        if not self.virtual_end:
            joinable = tables.pair[graphs.types, END_INDEX] & (standing.room > 0)
            ends &= (joinable.sum(1) if self.end_chooses else loose) >= int(self.tables.min_in[END_INDEX])
        if standing.piece is not None:
            ends &= self._pieces(standing.piece) <= 1
        return ends

    def _after(self, standing: Standing, position: int, tables: RuleTables) -> Tensor:
        """How many inner nodes may come after the one at `position`: none after the last possible sink."""  # row type
        left = self._left(position)
        after = max(left - 1 - min(self.reserve, left // 2), 0)
        final = (standing.loose & (standing.inner_room == 0)).sum(1) + 1 >= self.capacity
        return torch.where(final[:, None] & (tables.inner_room == 0), 0, after)

    def _leads_to_an_end(
        self, standing: Standing, takable: Tensor, room: Tensor, needed: Tensor, position: int, tables: RuleTables
    ) -> Tensor:
        """Whether with a node of each type all that is owed can still be settled."""  # row type
        after = self._after(standing, position, tables)
        urgent = standing.horizon[..., None] > after[:, None]  # row node type
        good = (tables.distance <= after) & (urgent <= takable).all(1) & (urgent.sum(1) <= tables.max_in)
        good &= (standing.owed[..., None] - urgent.long() <= after[:, None]).all(1)
        indebted = (takable & (standing.debts > 0)[..., None]).sum(1)
        good &= self._to_meet(standing, after, tables) <= torch.minimum(indebted, tables.max_in)
        missing = self.min_inner - self._count(position) - 1
        if missing > 0:
            final = (after == 0) & (self._left(position) > 1) & (tables.inner_room == 0)
            good &= ~final
            if self.single_source:
                good &= standing.inner_room.sum(1)[:, None] - needed + tables.inner_room > 0
        if standing.piece is not None:
            index = standing.piece[..., None].expand_as(takable)
            reached = (torch.zeros_like(index).scatter_add(1, index, takable.long()) > 0).sum(1)  # row type
            pieces = self._pieces(standing.piece)[:, None]
            good &= pieces - after * (self._widest(tables) - 1) <= torch.minimum(reached, room)
        return good

    def _to_meet(self, standing: Standing, after: Tensor, tables: RuleTables) -> Tensor:
        """How many debts a node of each type must take over, so that the nodes after it can settle the rest."""
        debts, widest = standing.debts.sum(1)[:, None], self._widest(tables)
        unused = torch.maximum(tables.min_out, (~tables.ends).long())
        owed = torch.where(tables.ends, 0, unused)  # by a new node
        if self.capacity >= UNLIMITED:
            return debts + owed - after * widest
        onward = int(tables.max_in[2:][tables.inner_room[2:] > 0].amax()) if (tables.inner_room[2:] > 0).any() else 1
        inner = max(onward, 1) if self.capacity == 1 else widest  # a final sink comes once only
        settled = (after - 1).clamp(min=0) * (inner - 1) + (after > 0) * (widest - 1)
        return debts + owed.clamp(min=1) - self.capacity - settled

    def _widest(self, tables: RuleTables) -> int:
        """The most predecessors an inner node may have."""
        return max(int(tables.max_in[2:].amax()), 1) if len(tables.max_in) > 2 else 1

    def _claims(self, standing: Standing, kind: Tensor, position: int, tables: RuleTables) -> list[Claim]:
        """What the newest node must take: its fewest predecessors, all that no later node can, its share of debts."""
        row = torch.arange(len(kind), device=kind.device)
        ending = kind == END_INDEX
        table = self._after(standing, position, tables)
        after = table[row, kind] * ~ending
        urgent = torch.where(ending[:, None], standing.loose | (standing.owed > 0), standing.horizon > after[:, None])
        share = torch.where(ending, 0, self._to_meet(standing, table, tables)[row, kind])
        return [
            Claim(torch.ones_like(urgent), self._needed(position, tables)[kind]),
            Claim(urgent, urgent.sum(1)),
            Claim(standing.debts > 0, share),
        ]

    def _joins(self, piece: Tensor, open_: Tensor, chosen: Tensor, source: int, position: int) -> Tensor:
        """Where `source` is the last chance to join a piece that must be joined now."""  # row
        joined, options = (torch.zeros_like(piece).scatter_add(1, piece, some.long()) for some in (chosen, open_))
        after = max(self._left(position) - 1 - self.reserve, 0)
        missing = self._pieces(piece) - after * (self._widest(self.tables) - 1) - (joined > 0).sum(1)
        reachable = ((options > 0) & (joined == 0)).sum(1)
        own = piece[:, source, None]
        last = open_[:, source] & (options.gather(1, own)[:, 0] == 1) & (joined.gather(1, own)[:, 0] == 0)
        return last & (reachable <= missing)

    def _pieces(self, piece: Tensor) -> Tensor:
        """How many pieces there are; a virtual start is none."""  # row
        return (piece == torch.arange(piece.shape[1], device=piece.device)).sum(1) - int(self.virtual_start)

    def _keeps_enough(
        self, standing: Standing, chosen: Tensor, kind: Tensor, source: int, position: int, tables: RuleTables
    ) -> Tensor:
        """Whether, with an edge from `source`, later nodes find predecessors and the end node its fewest."""  # row
        after, ending = max(self._left(position) - 1, 0), kind == END_INDEX
        kept = torch.ones_like(ending)
        if self.single_source and self.min_inner > self._count(position) + 1:
            kept &= standing.inner_room.sum(1) - chosen.sum(1) - 1 + tables.inner_room[kind] > 0
        fewest = 0 if self.virtual_end or self.end_chooses else int(self.tables.min_in[END_INDEX])
        if fewest > 1:
            spare = standing.loose.sum(1) - (chosen & standing.loose).sum(1) + after
            kept &= ~standing.loose[:, source] | (spare >= fewest)
        return kept | ending


def pieces_of(adjacency: Tensor) -> Tensor:
    """The first node of the piece that each node is in, edges taken without their direction."""  # row node
    rows, source, target = adjacency.nonzero(as_tuple=True)
    count = adjacency.shape[1]
    ends = torch.cat([rows * count + source, rows * count + target])
    piece = torch.arange(count, device=adjacency.device).repeat(len(adjacency), 1)
    while True:
        least = torch.minimum(piece[rows, source], piece[rows, target]).repeat(2)
        lower = piece.flatten().scatter_reduce(0, ends, least, "amin").view_as(piece)
        lower = lower.gather(1, lower)
        if torch.equal(lower, piece):
            return piece
        piece = lower
