"""DeepGMG as a decoder (Li et al. 2018, algorithm 1), nodes in topological order, edges only into the new node.

A node is added by its type, then its predecessors one by one: "another edge?", and if so "from which node?". Before
every type and every "another edge?" the states of all nodes go through some rounds of messages, and they are kept: a
state depends on all the decisions before it. So teacher forcing runs in the order of the decisions too, one propagation
a decision, for all graphs of a batch in step: node i of every graph at once, then its k-th edge. Graphs that have no
k-th decision keep their states meanwhile, so no graph feels the others (in the original they do).

The true predecessors are added from the largest index down. As in the original the likelihood asks "another edge?" once
more after the last one, and which node among all older ones. Sampling leaves out nodes that are chosen already; where
none is left, the answer is no.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.dag import DagBatch
from dvae.models.decoders.decisions import EndEdges, choose, draw_edges
from dvae.models.decoders.rows import RowTensor
from dvae.models.decoders.sampler import GraphRows, Sampler, rows_within_budget
from dvae.models.deepgmg import FoldedRound, GraphReadout, Neighbourhood, Rounds, SharedParts, propagated
from dvae.models.kernels.aligned import AlignedLinear, aligned
from dvae.models.kernels.precision import linear
from dvae.models.parts import Plan, Sampling
from dvae.models.settings import RoundsSettings
from dvae.models.simultaneous import DEFAULT_ROUNDS

STATIC_NODES = 16  # with room for all edges there are about max_nodes^2 propagations; real graphs need far fewer
STATE_NUMBERS = 24  # kept of each hidden unit of a state, its share of two rounds and of a readout


class DeepGmgDecoder(nn.Module):
    """Another edge? From which node? f_addnode, f_addedge and f_nodes are linear; `end_edges` as in `DvaeDecoder`."""

    Settings = RoundsSettings
    reference = "Li et al., 2018; Zhang et al., NeurIPS 2019"

    def __init__(
        self,
        parts: SharedParts,
        *,
        num_types: int,
        max_nodes: int,
        hidden: int,
        latent: int,
        rounds: int,
        end_edges: EndEdges = "loose-ends",
    ) -> None:
        super().__init__()
        self.num_types = num_types
        self.max_nodes = max_nodes
        self.end_edges = end_edges
        self.static_shapes = max_nodes <= STATIC_NODES
        self.width = aligned(hidden)
        self.start = AlignedLinear(latent, hidden, input_blocks=0, output_blocks=2)
        self.parts = parts
        self.rounds = Rounds(hidden, rounds)
        self.readout_init = GraphReadout(hidden)
        self.add_vertex = AlignedLinear(hidden, num_types, input_blocks=2, output_blocks=0)
        self.add_edge = AlignedLinear(hidden, 1, input_blocks=3, output_blocks=0)
        self.select_node = AlignedLinear(hidden, 1, input_blocks=2, output_blocks=0)

    @classmethod
    def build(cls, plan: Plan, settings: RoundsSettings) -> DeepGmgDecoder:
        return cls(
            SharedParts.of(plan),
            num_types=plan.num_types,
            max_nodes=plan.max_nodes,
            hidden=plan.hidden,
            latent=plan.latent,
            rounds=settings.rounds or DEFAULT_ROUNDS,
            end_edges=plan.hints.end_edges,
        )

    def numbers_per_graph(self, nodes: int, edges: int) -> int:
        """Of the states at all decisions: an edge is decided on from those of all nodes before it."""
        asked = nodes * nodes // 2 if self._is_static(self.select_node.bias.device) else nodes + edges
        return self.width * STATE_NUMBERS * nodes * (nodes + asked)

    def nll(self, latents: Tensor, batch: DagBatch) -> Tensor:
        """Every node's type and all edges are scored, the end node's too.

        Only the propagations have to wait for each other: the states at all decisions are gathered first, and the
        decisions are scored together.
        """
        static = self._is_static(batch.device)
        nodes = batch.max_nodes if static or not len(batch) else int(batch.num_nodes.max())
        if nodes < 2:
            return latents.new_zeros(len(batch))
        rounds = self.folded()
        truth = _Truth.of(batch)
        states = self.first(latents, batch.types[:, 0])
        before_types: list[Tensor] = []
        before_edges: list[Tensor] = []
        questions: list[tuple[int, int]] = []
        for node in range(1, nodes):
            states = propagated(rounds, states, truth.before_type(node, states.dtype))
            before_types.append(states)
            states = self.with_node(states, batch.types[:, node])
            edges = node if static else int(truth.indegree[:, node].max())
            hoods = truth.before_edges(node, edges, states.dtype)
            for number in range(edges + 1):
                states = propagated(rounds, states, hoods.at(number))
                before_edges.append(states)
                questions.append((node, number))
        if static:  # the same, made on the device: nothing may be copied there while a step is captured
            asked = torch.tril_indices(nodes, nodes, device=batch.device)[:, 1:].mT
        else:
            asked = torch.tensor(questions, device=batch.device)
        return self._types_nll(before_types, batch) + self._edges_nll(before_edges, asked, truth)

    def _types_nll(self, states: list[Tensor], batch: DagBatch) -> Tensor:
        scores = self.add_vertex(self.parts.readout.of_many(states))  # batch node type, from the second node on
        nodes = torch.arange(1, 1 + len(states), device=batch.device)
        loss = functional.cross_entropy(scores.mT, batch.types[:, nodes], reduction="none")
        return (loss * (nodes < batch.num_nodes[:, None])).sum(1)

    def _edges_nll(self, states: list[Tensor], questions: Tensor, truth: _Truth) -> Tensor:
        """ "Another edge?" and "from which node?" for all questions: (node, edges it has already)."""  # batch
        node, number = questions.unbind(1)
        asked, more = truth.asked(node, number), number < truth.indegree[:, node]
        newest = torch.stack([part[:, -1] for part in states], 1)
        another = self.add_edge(torch.cat([self.parts.readout.of_many(states), newest], 2)).squeeze(2)
        loss = functional.binary_cross_entropy_with_logits(another, more.to(another.dtype), reduction="none") * asked
        of_older, of_newest = self.select_node.weight.split(self.width, 1)
        older = linear(torch.cat(states, 1), of_older).squeeze(2)
        sizes = node + 1  # rows of each state
        candidate = torch.arange(int(states[-1].shape[1]) - 1, device=node.device)
        is_one = candidate < node[:, None]
        place = torch.where(is_one, (sizes.cumsum(0) - sizes)[:, None] + candidate, 0)
        scores = older[:, place] + linear(newest, of_newest, self.select_node.bias)  # batch question candidate
        scores = scores.masked_fill(~is_one, -torch.inf)
        chosen = functional.cross_entropy(scores.permute(0, 2, 1), truth.source(node, number), reduction="none")
        return (loss + chosen * (asked & more)).sum(1)

    def folded(self) -> list[FoldedRound]:
        """The rounds, ready for many uses."""
        return self.rounds.folded(self.parts.messages)

    def _is_static(self, device: torch.device) -> bool:
        """Shapes may follow the data on a CPU; on a GPU they are static, so that a step can be captured."""
        return device.type == "cuda" and self.static_shapes

    def first(self, latents: Tensor, types: Tensor) -> Tensor:
        """The start node; the latent takes the place of the state of the graph before it."""  # batch 1 hidden
        first: Tensor = self.parts.init(types, torch.tanh(self.start(latents)))
        return first[:, None]

    def type_scores(self, states: Tensor) -> Tensor:
        """The type of the next node."""  # batch type
        scores: Tensor = self.add_vertex(self.parts.readout(states))
        return scores

    def with_node(self, states: Tensor, types: Tensor) -> Tensor:
        """The states with that of a new node."""  # batch node hidden
        return torch.cat([states, self.parts.init(types, self.readout_init(states))[:, None]], 1)

    def edge_score(self, states: Tensor) -> Tensor:
        """Whether the newest node gets another edge."""  # batch
        score: Tensor = self.add_edge(torch.cat([self.parts.readout(states), states[:, -1]], 1))
        return score.squeeze(1)

    def node_scores(self, states: Tensor) -> Tensor:
        """Which older node the edge comes from."""  # batch source
        newest = states[:, -1:].expand_as(states[:, :-1])
        scores: Tensor = self.select_node(torch.cat([states[:, :-1], newest], 2))
        return scores.squeeze(2)

    def rows_at_once(self, device: torch.device) -> int:
        return rows_within_budget(device, self.max_nodes * 16 * self.width)

    @torch.no_grad()
    def sample(self, latents: Tensor, sampling: Sampling) -> DagBatch:
        some = max(1, self.rows_at_once(latents.device) // sampling.copies)
        return DagBatch.cat([_DeepGmgSampler(self, part, sampling).run() for part in latents.split(some)])


class _Truth(NamedTuple):
    """The decisions that make the graphs of a batch."""

    adjacency: Tensor  # batch source target, bool
    rank: Tensor  # batch source target: how many predecessors of the target are chosen before this one
    indegree: Tensor  # batch target
    num_nodes: Tensor  # batch

    @classmethod
    def of(cls, batch: DagBatch) -> _Truth:
        edges = batch.adjacency
        rank = edges.flip(1).cumsum(1).flip(1) - edges.to(torch.int64)
        return cls(edges, rank, edges.sum(1), batch.num_nodes)

    def asked(self, node: Tensor, number: Tensor) -> Tensor:
        """Whether `node`, with `number` edges, is asked for another."""  # batch question
        return (node < self.num_nodes[:, None]) & (number <= self.indegree[:, node])

    def source(self, node: Tensor, number: Tensor) -> Tensor:
        """The predecessor of `node` that comes after `number` others; the first node where there is none."""
        is_next = self.adjacency[:, :, node] & (self.rank[:, :, node] == number)
        return is_next.to(torch.int64).argmax(1)  # batch question

    def before_type(self, node: int, dtype: torch.dtype) -> Neighbourhood:
        return Neighbourhood.of(self.adjacency[:, :node, :node].to(dtype), self.num_nodes > node)

    def before_edges(self, node: int, edges: int, dtype: torch.dtype) -> Neighbourhood:
        """With 0 to `edges` of the edges into `node`."""  # leading axis: how many
        number = torch.arange(edges + 1, device=self.indegree.device)
        there = self.adjacency[:, : node + 1, : node + 1]
        graphs = there.to(dtype).expand(edges + 1, -1, -1, -1).clone()
        graphs[..., node] *= self.rank[:, : node + 1, node] < number[:, None, None]
        return Neighbourhood.of(graphs, self.asked(torch.full_like(number, node), number).mT)


class DeepGmgRows(GraphRows):
    """Graphs with the states of all their nodes."""

    states = RowTensor()  # row node hidden


class _DeepGmgSampler(Sampler[DeepGmgRows]):
    """A decision at a time, all graphs in step; only those that have one to take are propagated."""

    def __init__(self, decoder: DeepGmgDecoder, latents: Tensor, sampling: Sampling) -> None:
        rows = DeepGmgRows(latents.shape[0], sampling.copies, decoder.max_nodes, latents.device)
        super().__init__(rows, decoder.max_nodes, sampling, decoder.end_edges)
        self.decoder = decoder
        self.rounds = decoder.folded()
        rows.states = decoder.first(latents, rows.types[:, 0])

    def type_scores(self, position: int) -> Tensor:
        rows = self.rows
        self._propagate((rows.num_nodes == 0).nonzero().squeeze(1), position)
        return self.decoder.type_scores(rows.states)

    def write_edges(self, position: int) -> None:
        """Predecessors of the newest node, one by one, until no more is wanted."""
        rows = self.rows
        rows.states = self.decoder.with_node(rows.states, rows.types[:, position])
        asked = rows.growing.nonzero().squeeze(1)
        for _ in range(position + 1):
            if not len(asked):
                break
            self._propagate(asked, position + 1)  # also before an answer that is known: so it was learned
            taken = rows.branch(self._edges(asked, position))
            asked = taken.nonzero().squeeze(1)
            rows.adjacency[asked, taken[asked] - 1, position] = True

    def _edges(self, asked: Tensor, position: int) -> Tensor:
        """Where every decoding takes an edge from: one more than the source, or 0 for no more edges."""  # particle
        rows, decoder = self.rows, self.decoder
        states, chosen = rows.states[asked], rows.adjacency[asked, :position, position]
        another = states.new_full((rows.count,), -torch.inf)
        another[asked] = decoder.edge_score(states).masked_fill(chosen.all(1), -torch.inf)
        scores = states.new_zeros(rows.count, position)
        scores[asked] = decoder.node_scores(states).masked_fill(chosen & ~chosen.all(1, keepdim=True), -torch.inf)
        takes = draw_edges(another[rows.row_of], self.sampling)
        return torch.where(takes, 1 + choose(scores, self.sampling, rows.row_of), 0)

    def _propagate(self, some: Tensor, nodes: int) -> None:
        rows = self.rows
        graphs = rows.adjacency[some, :nodes, :nodes].to(rows.states.dtype)
        rows.states[some] = propagated(self.rounds, rows.states[some], Neighbourhood.of(graphs))
