"""Columns in a model: a reader beside the encoder, and a writer after the decoder; the same for all models.

    q(z | G)   the encoder's vector of the graph and the reader's vector of its columns, side by side, mapped to the
               posterior
    p(G | z) = p(types, edges | z) p(columns | types, edges, z)

The first factor is the decoder's. The second is a product over nodes and edges, and over the columns of each in their
order: a column depends on z, on the types and edges around its node, and on the columns before it; an edge's also on
those of the nodes at both ends. So all of it is computed at once with teacher forcing, and drawn in one go per column.

Where places have latents of their own (`layerwise`), those come last in z: a node's columns move the latents of its
place and are read from them, and from the latents that are common to all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.dag import ColumnSchema, ColumnTensors, DagBatch
from dvae.dag.schema import Place
from dvae.models.column_values import ColumnEmbedding, ColumnHead
from dvae.models.kernels.aligned import uniform
from dvae.models.kernels.gru import rows_of
from dvae.models.kernels.precision import linear
from dvae.models.parts import Sampling
from dvae.models.places import common_latents, moments, place_latents, with_moments
from dvae.models.transformer import plain_linear
from dvae.tasks import Task
from dvae.tasks.column_rules import ColumnRules, owners_of

MAX_WIDTH = 128
MAX_READ = 4_096  # numbers that the reader puts side by side, about: with many nodes, each gets fewer
ROUNDS = 2  # of messages both ways, by which a node learns of the types around it


class ColumnPart(nn.Module):
    """The reader and the writer of one model."""

    def __init__(self, task: Task, hidden: int, latent: int, place_latents: int = 0) -> None:
        super().__init__()
        self.schema = task.schema
        width = min(hidden, MAX_WIDTH)
        self.own_latents = task.max_nodes * place_latents
        common = latent - self.own_latents
        reads = width if place_latents else max(8, min(width, MAX_READ // (2 * task.max_nodes)))
        self.reader = ColumnReader(task, reads, hidden, place_latents)
        self.writer = ColumnWriter(task, width, common, place_latents)
        self.mean = plain_linear(hidden, common)
        self.logvar = plain_linear(hidden, common)
        self.width = hidden + 2 * self.own_latents

    def known(self, batch: DagBatch) -> DagBatch:
        """The batch with columns; without any values, where it has none."""
        if batch.columns is not None:
            return batch
        return replace(batch, columns=ColumnTensors.empty(batch.adjacency, self.schema))

    def encode(self, batch: DagBatch) -> Tensor:
        """The reader's vector of every graph."""  # batch width
        vectors: Tensor = self.reader(self.known(batch))
        return vectors

    def moves(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """What the columns add to the mean and to the log variance of the posterior."""  # batch latent, twice
        return with_moments(self.mean, self.logvar, vectors, self.own_latents)

    def nll(self, latents: Tensor, batch: DagBatch) -> Tensor:
        """-log p(columns | types, edges, z)."""  # batch
        return self.writer.nll(latents, self.known(batch))

    def sample(self, latents: Tensor, batch: DagBatch, sampling: Sampling) -> DagBatch:
        """The graphs of `batch` with columns drawn for them."""
        blank = replace(batch, columns=ColumnTensors.empty(batch.adjacency, self.schema))
        return self.writer.sample(latents, blank, sampling)


class Embeddings(nn.Module):
    """Columns of nodes and edges as vectors of one width."""

    def __init__(self, node: Sequence[ColumnSchema], edge: Sequence[ColumnSchema], width: int) -> None:
        super().__init__()
        self.node = nn.ModuleList(ColumnEmbedding(column, width) for column in node)
        self.edge = nn.ModuleList(ColumnEmbedding(column, width) for column in edge)

    def nodes(self, columns: ColumnTensors) -> list[Tensor]:
        """A vector for every node, column by column."""  # batch node width, each
        return [embed(columns.node_codes[..., at], columns.node_numbers[..., at]) for at, embed in enumerate(self.node)]

    def edges(self, columns: ColumnTensors) -> list[Tensor]:
        """A vector for every edge, column by column."""  # batch edge width, each
        return [embed(columns.edge_codes[..., at], columns.edge_numbers[..., at]) for at, embed in enumerate(self.edge)]


class ColumnReader(nn.Module):
    """A vector for the columns of a graph: those of all nodes side by side, in the order of the nodes.

    A node's vector holds its type, its columns and those of its edges, as they are and after a round of messages.
    Where places have latents of their own, these say what the nodes there have, and the graph's vector is read from the
    mean of all nodes: weights of a place that few graphs reach are learned from few, and what such graphs then are is
    far from all others.
    """

    def __init__(self, task: Task, width: int, hidden: int, place_latents: int) -> None:
        super().__init__()
        self.max_nodes = task.max_nodes
        self.types = nn.Parameter(torch.randn(task.num_types, width) / math.sqrt(width))
        self.embeddings = Embeddings(task.schema.node, task.schema.edge, width)
        self.incoming = plain_linear(width, width)
        self.outgoing = plain_linear(width, width)
        self.mix = Neighbours(width)
        self.readout = plain_linear(2 * width if place_latents else task.max_nodes * 2 * width, hidden)
        self.own = plain_linear(2 * width, 2 * place_latents) if place_latents else None

    def forward(self, batch: DagBatch) -> Tensor:
        columns = batch.columns
        assert columns is not None
        own = rows_of(self.types, batch.types)
        for vectors in self.embeddings.nodes(columns):
            own = own + vectors
        edges = self.embeddings.edges(columns)
        if edges:
            there = _edges_there(batch, columns)
            wires = torch.stack(edges).sum(0) * there[..., None]
            place = torch.arange(batch.max_nodes, device=batch.device)[:, None]
            into = (columns.targets[:, None] == place).to(wires.dtype)  # batch node edge
            out = (columns.sources[:, None] == place).to(wires.dtype)
            own = own + self.incoming(into @ wires) + self.outgoing(out @ wires)
        mask = batch.node_mask()[..., None]
        both = torch.cat([own, self.mix(own, batch.adjacency)], -1) * mask
        if self.own is not None:
            mean = both.sum(1) / batch.num_nodes[:, None]
            return torch.cat([self.readout(mean), moments(self.own, both, mask, self.max_nodes)], 1)
        room = self.max_nodes - both.shape[1]
        vector: Tensor = self.readout(functional.pad(both, (0, 0, 0, room)).flatten(1))
        return vector


class ColumnWriter(nn.Module):
    """p(columns | types, edges, z)."""

    def __init__(self, task: Task, width: int, latent: int, place_latents: int) -> None:
        super().__init__()
        self.num_types, self.own_latents = task.num_types, task.max_nodes * place_latents
        bound = 1 / math.sqrt(latent)
        self.types = nn.Parameter(torch.randn(task.num_types, width) / math.sqrt(width))
        self.places = nn.Parameter(torch.randn(task.max_nodes, width) / math.sqrt(width))
        self.rounds = nn.ModuleList(Neighbours(width) for _ in range(ROUNDS))
        # A node reads z by maps of its place (of all places, where it has latents there) and of its type.
        maps = 1 if place_latents else task.max_nodes
        self.place_maps = nn.Parameter(uniform(maps, latent, width, bound=bound))
        self.type_maps = nn.Parameter(uniform(task.num_types * width, latent, bound=bound))
        self.read_own = plain_linear(place_latents, width) if place_latents else None
        self.inner = plain_linear(width, width)
        self.outer = plain_linear(width, width)
        node, edge = task.schema.node, task.schema.edge
        # Of the last column nothing depends on, no vector is needed.
        self.embeddings = Embeddings(node if edge else node[:-1], edge[:-1], width)
        self.node_heads = nn.ModuleList(
            ColumnHead(column, ColumnRules.of(column, "node", task.vocabulary), width) for column in task.schema.node
        )
        self.edge_heads = nn.ModuleList(
            ColumnHead(column, ColumnRules.of(column, "edge", task.vocabulary), width) for column in task.schema.edge
        )
        if task.schema.edge:
            self.source = plain_linear(width, width)
            self.target = plain_linear(width, width)

    def context(self, latents: Tensor, batch: DagBatch) -> Tensor:
        """What is known of every node before its columns."""  # batch node width
        count, nodes = batch.types.shape
        states = rows_of(self.types, batch.types) + self.places[:nodes]
        for mix in self.rounds:
            states = states + mix(states, batch.adjacency)
        common = common_latents(latents, self.own_latents)
        if self.read_own is None:
            by_place = torch.einsum("bl,nlw->bnw", common, self.place_maps[:nodes])
        else:
            own = place_latents(latents, self.own_latents, len(self.places))
            by_place = (common @ self.place_maps[0])[:, None] + self.read_own(own[:, :nodes])
        by_type = linear(common, self.type_maps).view(count, self.num_types, -1)
        index = batch.types[..., None].expand(-1, -1, by_type.shape[2])
        states = states + by_place + by_type.gather(1, index)
        outer: Tensor = self.outer(torch.relu(self.inner(states)))
        return states + outer

    def nll(self, latents: Tensor, batch: DagBatch) -> Tensor:
        """One number per graph."""  # batch
        columns = batch.columns
        assert columns is not None
        context = self.context(latents, batch)
        total = latents.new_zeros(len(batch))
        mask = batch.node_mask()
        vectors = self.embeddings.nodes(columns)
        for at, head in enumerate(_heads(self.node_heads)):
            losses = head.nll(context, batch.types, columns.node_codes[..., at])
            total = total + (losses * mask).sum(1)
            context = context + vectors[at] if at < len(vectors) else context
        if not len(self.edge_heads):
            return total
        wire = self._edge_context(context, columns)
        owners = owners_of("edge", batch, columns, self.num_types)
        there = _edges_there(batch, columns)
        vectors = self.embeddings.edges(columns)
        for at, head in enumerate(_heads(self.edge_heads)):
            losses = head.nll(wire, owners, columns.edge_codes[..., at])
            total = total + (losses * there).sum(1)
            wire = wire + vectors[at] if at < len(vectors) else wire
        return total

    def sample(self, latents: Tensor, batch: DagBatch, sampling: Sampling) -> DagBatch:
        """Columns for graphs that have none yet."""
        columns = batch.columns
        assert columns is not None
        context = self.context(latents, batch)
        codes, numbers = self._drawn("node", context, batch.types, batch.node_mask(), sampling)
        columns = replace(columns, node_codes=codes, node_numbers=numbers)
        if len(self.edge_heads):
            for vectors in self.embeddings.nodes(columns):
                context = context + vectors
            owners = owners_of("edge", batch, columns, self.num_types)
            wire = self._edge_context(context, columns)
            codes, numbers = self._drawn("edge", wire, owners, columns.edge_there, sampling)
            columns = replace(columns, edge_codes=codes, edge_numbers=numbers)
        return replace(batch, columns=columns)

    def _drawn(
        self, place: Place, context: Tensor, owners: Tensor, there: Tensor, sampling: Sampling
    ) -> tuple[Tensor, Tensor]:
        """Codes and numbers of all columns, one after another; each sees those before it."""
        heads, embeddings = (
            (self.node_heads, self.embeddings.node) if place == "node" else (self.edge_heads, self.embeddings.edge)
        )
        codes, numbers = [], []
        for head, embed in zip_longest(_heads(heads), embeddings):
            drawn = head.draw(
                context, owners, greedy=sampling.greedy, valid=sampling.rules is not None, generator=sampling.generator
            )
            codes.append(torch.where(there, drawn.codes, 0))
            numbers.append(torch.where(there, drawn.numbers, math.nan))
            if embed is not None:
                context = context + embed(codes[-1], numbers[-1])
        if not codes:
            none = owners.new_zeros(*owners.shape, 0)
            return none, none.double()
        return torch.stack(codes, -1), torch.stack(numbers, -1)

    def _edge_context(self, context: Tensor, columns: ColumnTensors) -> Tensor:
        """What is known of every edge before its columns."""  # batch edge width
        wide = context.shape[2]
        ends = (index[..., None].expand(-1, -1, wide) for index in (columns.sources, columns.targets))
        source, target = (context.gather(1, index) for index in ends)
        return torch.relu(self.source(source) + self.target(target))


def _heads(modules: nn.ModuleList) -> list[ColumnHead]:
    return [module for module in modules if isinstance(module, ColumnHead)]


class Neighbours(nn.Module):
    """One round of messages both ways: relu(W h + P mean over predecessors + S mean over successors)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.own = plain_linear(width, width)
        self.before = plain_linear(width, width)
        self.after = plain_linear(width, width)

    def forward(self, states: Tensor, adjacency: Tensor) -> Tensor:
        edges = adjacency.to(states.dtype)
        before = (edges.mT @ states) / edges.sum(1).clamp(min=1)[..., None]
        after = (edges @ states) / edges.sum(2).clamp(min=1)[..., None]
        return torch.relu(self.own(states) + self.before(before) + self.after(after))


def _edges_there(batch: DagBatch, columns: ColumnTensors) -> Tensor:
    """Which edges of the lists are there, and were not taken away by a mutation."""  # batch edge, bool
    graph = torch.arange(len(batch), device=batch.device)[:, None]
    return columns.edge_there & batch.adjacency[graph, columns.sources, columns.targets]
