"""D-VAE as slowly and plainly as it can be written: one graph at a time, one decision after another.

Read this page first; every line is a sentence of the paper (Zhang et al., NeurIPS 2019; equations as in
docs/notation.md). The fast parts (`encoders.dvae`, `decoders.dvae`) compute the same numbers in batches, and the tests
hold them to these. In the order of the paper:

1. `encode`: states travel through the graph in topological order; the last one is read, and two linear maps make it
   the mean and the log-variance of q(z | G).
2. `nll`: the graph is built node by node from z, and every decision costs -log of its probability.
3. `greedy`: the same, each decision the likeliest.

Graphs are `Dag`s as a model sees them: integer types, 0 the start (first), 1 the end (last), in topological order.
Weights are a state dict with the names of the original implementation, such as `dvae.compat` reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from dvae.dag import Dag

START, END = 0, 1


@dataclass(frozen=True)
class Variant:
    """What D-VAE's variants differ in."""

    messages: Literal["states", "positions", "types"] = "positions"  # what a message is made of (eq. 3, 6, 7)
    bidirectional: bool = False
    readout: Literal["end", "sum"] = "end"
    graph_state: Literal["last", "sum"] = "last"
    edge_context: bool = False  # whether f_add_edge also sees h_0
    end_edges: Literal["loose-ends", "sampled"] = "loose-ends"


ARCHITECTURES = Variant(bidirectional=True)
NETWORKS = Variant(messages="types", readout="sum", graph_state="sum", edge_context=True)  # Bayesian networks


@dataclass(frozen=True)
class Rules:
    """Decisions that are forbidden or forced while decoding."""

    allowed: Callable[[Sequence[int], int], set[int]]  # types so far, number of types -> types that may follow
    forced: Callable[[int, int, bool], bool]  # source, target, has a predecessor already -> the edge must be


@dataclass(frozen=True)
class Partial:
    """A graph under construction: its nodes, with their states, and its edges."""

    types: tuple[int, ...] = ()
    edges: tuple[tuple[int, int], ...] = ()
    states: tuple[Tensor, ...] = ()  # one vector per node

    def with_node(self, kind: int, predecessors: Sequence[int], state: Tensor) -> Partial:
        """The graph with one more node."""
        edges = tuple((source, len(self.types)) for source in predecessors)
        return Partial((*self.types, kind), self.edges + edges, (*self.states, state))

    def closed(self, received: Sequence[int] = ()) -> Dag:
        """The graph with its end node, which takes the edges it received and all loose ends (step 2)."""
        end = len(self.types)
        busy = {source for source, _ in self.edges}
        sources = {node for node in range(end) if node not in busy} | set(received)
        return Dag((*self.types, END), self.edges + tuple((source, end) for source in sources))


@dataclass(frozen=True)
class ReferenceDvae:
    """A D-VAE with given weights."""

    variant: Variant
    weights: Mapping[str, Tensor]
    num_types: int
    max_nodes: int

    @property
    def hidden(self) -> int:
        return self.weights["fc3.weight"].shape[0]

    # The encoder (section 3.1)

    def encode(self, graph: Dag) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of q(z | G)."""
        last = len(graph) - 1
        vector = self.read(self.sweep(graph, "forward"), last, last)
        if self.variant.bidirectional:
            vector = torch.cat([vector, self.read(self.sweep(graph, "backward"), 0, last)])
            vector = self.linear("hg_unify.0", vector)
        return self.linear("fc1", vector), self.linear("fc2", vector)

    def kl(self, graph: Dag) -> Tensor:
        """KL(q(z | G) || N(0, I))."""
        mean, logvar = self.encode(graph)
        return ((mean.square() + logvar.exp() - logvar - 1) / 2).sum()

    def sweep(self, graph: Dag, direction: Literal["forward", "backward"]) -> list[Tensor]:
        """The state of every node, each after those it hears of (eq. 1); "backward" goes against the edges."""
        forward = direction == "forward"
        neighbours = graph.predecessors() if forward else graph.successors()
        states: dict[int, Tensor] = {}
        for node in range(len(graph)) if forward else reversed(range(len(graph))):
            incoming = self.nothing()
            for other in neighbours[node]:
                incoming = incoming + self.message(direction, _type(graph, other), other, states[other])  # eq. 2
            states[node] = self.update(f"grue_{direction}", _type(graph, node), incoming)
        return [states[node] for node in range(len(graph))]

    def read(self, states: list[Tensor], end: int, last: int) -> Tensor:
        """One vector for the graph: the state where the sweep ended, or the sum over the real nodes."""
        if self.variant.readout == "end":
            return states[end]
        return sum(states[1:last], self.nothing())

    def message(self, direction: str, kind: int, position: int, state: Tensor) -> Tensor:
        """g(u) * m(u), of the state of u (eq. 3), of its state and position (eq. 6), or of its type alone (eq. 7)."""
        if self.variant.messages == "types":
            inputs = _one_hot(kind, self.num_types, state)
        elif self.variant.messages == "positions":
            inputs = torch.cat([state, _one_hot(position, self.max_nodes, state)])
        else:
            inputs = state
        gate = torch.sigmoid(self.linear(f"gate_{direction}.0", inputs))
        return gate * (self.weights[f"mapper_{direction}.0.weight"] @ inputs)

    def update(self, name: str, kind: int, message: Tensor) -> Tensor:
        """h_v = GRU(x_v, h_v^in): the input is the one-hot type, the hidden state the incoming message (eq. 4)."""
        inputs = self.weights[f"{name}.weight_ih"] @ _one_hot(kind, self.num_types, message)
        inputs = inputs + self.weights[f"{name}.bias_ih"]
        hidden = self.weights[f"{name}.weight_hh"] @ message + self.weights[f"{name}.bias_hh"]
        input_reset, input_update, input_candidate = inputs.chunk(3)
        hidden_reset, hidden_update, hidden_candidate = hidden.chunk(3)
        reset = torch.sigmoid(input_reset + hidden_reset)
        update = torch.sigmoid(input_update + hidden_update)
        candidate = torch.tanh(input_candidate + reset * hidden_candidate)
        return (1 - update) * candidate + update * message

    # The decoder (section 3.2)

    def nll(self, graph: Dag, z: Tensor) -> Tensor:
        """-log p(G | z): the type of every node but the first, and every possible edge."""
        context, partial = self.begin(z, _type(graph, 0))
        total = z.new_zeros(())
        for node in range(1, len(graph)):
            kind = _type(graph, node)
            total = total - torch.log_softmax(self.type_scores(partial), 0)[kind]
            true = [source for source, target in graph.edges if target == node]
            received: list[int] = []
            for source in reversed(range(node)):
                score = self.edge_score(partial, kind, received, source, context)
                total = total - (logsigmoid(score) if source in true else logsigmoid(-score))
                if source in true:
                    received.append(source)
            partial = partial.with_node(kind, received, self.new_state(partial, kind, received))
        return total

    def greedy(self, z: Tensor, rules: Rules | None = None) -> Dag:
        """The likeliest type each time; an edge where its probability exceeds one half."""
        context, partial = self.begin(z, START)
        while True:
            probabilities = self.type_probabilities(partial, rules)
            kind = max(probabilities, key=lambda option: probabilities[option])
            if kind == END and self.variant.end_edges == "loose-ends":
                return partial.closed()
            received: list[int] = []
            for source in reversed(range(len(partial.types))):
                if self.edge_probability(partial, kind, received, source, context, rules) > 0.5:
                    received.append(source)
            if kind == END:
                return partial.closed(received)
            partial = partial.with_node(kind, received, self.new_state(partial, kind, received))

    def outcomes(self, z: Tensor, rules: Rules | None = None) -> dict[Dag, float]:
        """Every graph that decoding `z` can give, with its probability: all decisions followed both ways."""
        result: dict[Dag, float] = defaultdict(float)
        context, first = self.begin(z, START)

        def grow(partial: Partial, probability: float) -> None:
            for kind, share in self.type_probabilities(partial, rules).items():
                if kind == END and self.variant.end_edges == "loose-ends":
                    result[partial.closed()] += probability * share
                else:
                    connect(partial, kind, [], len(partial.types) - 1, probability * share)

        def connect(partial: Partial, kind: int, received: list[int], source: int, probability: float) -> None:
            if source < 0 and kind == END:
                result[partial.closed(received)] += probability
            elif source < 0:
                grow(partial.with_node(kind, received, self.new_state(partial, kind, received)), probability)
            else:
                share = self.edge_probability(partial, kind, received, source, context, rules)
                if share > 0:
                    connect(partial, kind, [*received, source], source - 1, probability * share)
                if share < 1:
                    connect(partial, kind, received, source - 1, probability * (1 - share))

        grow(first, 1.0)
        return dict(result)

    def begin(self, z: Tensor, kind: int) -> tuple[Tensor, Partial]:
        """h_0 = tanh(linear(z)), and the graph of the start node alone, whose incoming message is h_0."""
        context = torch.tanh(self.linear("fc3", z))
        return context, Partial((kind,), (), (self.update("grud", kind, context),))

    def type_scores(self, partial: Partial) -> Tensor:
        """f_add_vertex of the graph's state (step 1)."""  # type
        graph = partial.states[-1] if self.variant.graph_state == "last" else torch.stack(partial.states).sum(0)
        return self.linear("add_vertex.2", torch.relu(self.linear("add_vertex.0", graph)))

    def type_probabilities(self, partial: Partial, rules: Rules | None = None) -> dict[int, float]:
        """How the type of the next node is distributed; the last possible node is the end."""
        if len(partial.types) == self.max_nodes - 1:
            return {END: 1.0}
        allowed = set(range(self.num_types))
        if rules is not None:
            allowed = rules.allowed(partial.types, self.num_types)
        probabilities = torch.softmax(self.type_scores(partial), 0).tolist()
        total = sum(probabilities[kind] for kind in allowed)
        return {kind: probabilities[kind] / total for kind in sorted(allowed)}

    def edge_score(self, partial: Partial, kind: int, received: Sequence[int], source: int, context: Tensor) -> Tensor:
        """f_add_edge of the source's state and the new node's, which has `received` edges so far (step 4)."""
        pair = [partial.states[source], self.new_state(partial, kind, received)]
        if self.variant.edge_context:
            pair.append(context)
        return self.linear("add_edge.2", torch.relu(self.linear("add_edge.0", torch.cat(pair))))[0]

    def edge_probability(
        self, partial: Partial, kind: int, received: Sequence[int], source: int, context: Tensor,
        rules: Rules | None = None,
    ) -> float:  # fmt: skip
        """The probability of the edge from `source` to a new node that has `received` edges from later ones."""
        if rules is not None and rules.forced(source, len(partial.types), bool(received)):
            return 1.0
        return float(torch.sigmoid(self.edge_score(partial, kind, received, source, context)))

    def new_state(self, partial: Partial, kind: int, received: Sequence[int]) -> Tensor:
        """The state of a new node that has received the messages of some earlier ones."""
        incoming = self.nothing()
        for source in received:
            incoming = incoming + self.message("forward", partial.types[source], source, partial.states[source])
        return self.update("grud", kind, incoming)

    def nothing(self) -> Tensor:
        """The message of no node."""
        return self.weights["fc3.bias"].new_zeros(self.hidden)

    def linear(self, name: str, values: Tensor) -> Tensor:
        """The linear layer `name`."""
        return self.weights[f"{name}.weight"] @ values + self.weights[f"{name}.bias"]


def _type(graph: Dag, node: int) -> int:
    kind = graph.types[node]
    assert isinstance(kind, int)
    return kind


def _one_hot(index: int, size: int, like: Tensor) -> Tensor:
    vector = like.new_zeros(size)
    vector[index] = 1
    return vector
