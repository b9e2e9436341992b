"""The slow, obvious D-VAE: one graph at a time, one decision after another, straight from the paper.

Weights are a state dict in the original implementation's naming, so nothing here depends on how the package lays out
its parameters. Graphs are `Dag`s of a model: integer types, 0 the start (first), 1 the end (last).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from dvae.dag import Dag

State = Mapping[str, Tensor]
START, END = 0, 1


@dataclass(frozen=True)
class Kind:
    """What the original's classes differ in, and what generic tasks add."""

    messages: Literal["states", "positions", "types"] = "positions"  # what a message is computed from
    bidirectional: bool = False
    readout: Literal["end", "sum"] = "end"
    graph_state: Literal["last", "sum"] = "last"
    edge_context: bool = False
    end_edges: Literal["loose-ends", "sampled"] = "loose-ends"


KINDS = {
    "dvae": Kind(bidirectional=True),
    "dvae_unidirectional": Kind(),
    "dvae_bn": Kind(messages="types", readout="sum", graph_state="sum", edge_context=True),
}
GENERIC = Kind(messages="states")
GENERIC_SAMPLED_END = Kind(messages="states", end_edges="sampled")


def random_state(
    kind: Kind, *, hidden: int, latent: int, num_types: int, max_nodes: int, seed: int = 0, scale: float = 1.0
) -> dict[str, Tensor]:
    """Random float64 weights with the names and shapes of the original, the unused ones included."""
    generator = torch.Generator().manual_seed(seed)
    message = {"states": hidden, "positions": hidden + max_nodes, "types": num_types}[kind.messages]
    edge_inputs = 3 * hidden if kind.edge_context else 2 * hidden
    edge_width = hidden if kind.edge_context else 4 * hidden
    shapes: dict[str, tuple[int, ...]] = {}
    for gru in ("grue_forward", "grue_backward", "grud"):
        shapes[f"{gru}.weight_ih"] = (3 * hidden, num_types)
        shapes[f"{gru}.weight_hh"] = (3 * hidden, hidden)
        shapes[f"{gru}.bias_ih"] = shapes[f"{gru}.bias_hh"] = (3 * hidden,)
    linears = {
        "fc1": (latent, hidden),
        "fc2": (latent, hidden),
        "fc3": (hidden, latent),
        "add_vertex.0": (2 * hidden, hidden),
        "add_vertex.2": (num_types, 2 * hidden),
        "add_edge.0": (edge_width, edge_inputs),
        "add_edge.2": (1, edge_width),
        "gate_forward.0": (hidden, message),
        "gate_backward.0": (hidden, message),
    }
    if kind.bidirectional:
        linears["hv_unify.0"] = linears["hg_unify.0"] = (hidden, 2 * hidden)
    for name, shape in linears.items():
        shapes[f"{name}.weight"], shapes[f"{name}.bias"] = shape, shape[:1]
    shapes["mapper_forward.0.weight"] = shapes["mapper_backward.0.weight"] = (hidden, message)
    return {
        name: torch.randn(shape, generator=generator, dtype=torch.float64) * scale / shape[-1] ** 0.5
        for name, shape in shapes.items()
    }


@dataclass(frozen=True)
class Rules:
    """Decisions that are forbidden or forced while decoding."""

    allowed: Callable[[Sequence[int], int], set[int]]  # types so far, number of types -> types that may follow
    forced: Callable[[int, int, bool], bool]  # source, target, has a predecessor already -> the edge must be


def _any_but_start(types: Sequence[int], num_types: int) -> set[int]:
    return set(range(num_types)) - ({START, END} if len(types) == 1 else {START})


CONNECTED = Rules(_any_but_start, lambda source, target, fed: source == 0 and not fed)
CHAIN = Rules(_any_but_start, lambda source, target, fed: source == target - 1)
EACH_ONCE = Rules(
    lambda types, num_types: (set(range(2, num_types)) - set(types)) or {END},
    lambda source, target, fed: source == 0 and not fed,
)


@dataclass(frozen=True)
class Partial:
    """A graph under construction."""

    types: tuple[int, ...] = ()
    edges: tuple[tuple[int, int], ...] = ()
    states: tuple[Tensor, ...] = ()  # one vector a node

    def with_node(self, kind: int, predecessors: Sequence[int], state: Tensor) -> Partial:
        edges = tuple((source, len(self.types)) for source in predecessors)
        return Partial((*self.types, kind), self.edges + edges, (*self.states, state))


@dataclass(frozen=True)
class Oracle:
    kind: Kind
    state: State
    num_types: int
    max_nodes: int

    @property
    def hidden(self) -> int:
        return self.state["fc3.weight"].shape[0]

    def encode(self, graph: Dag) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of q(z | G)."""
        last = len(graph) - 1
        vector = self._read(self._sweep(graph, "forward"), last, last)
        if self.kind.bidirectional:
            vector = torch.cat([vector, self._read(self._sweep(graph, "backward"), 0, last)])
            vector = self._linear("hg_unify.0", vector)
        return self._linear("fc1", vector), self._linear("fc2", vector)

    def kl(self, graph: Dag) -> Tensor:
        mean, logvar = self.encode(graph)
        return sum(((m * m + v.exp() - v - 1) / 2 for m, v in zip(mean, logvar, strict=True)), mean.new_zeros(()))

    def nll(self, graph: Dag, z: Tensor) -> Tensor:
        """-log p(G | z): the type of every node but the first, and every possible edge."""
        context, partial = self._begin(z, graph.types[0])
        total = z.new_zeros(())
        for node in range(1, len(graph)):
            total = total - torch.log_softmax(self._type_scores(partial), 0)[graph.types[node]]
            true = [source for source, target in graph.edges if target == node]
            received: list[int] = []
            for source in reversed(range(node)):
                score = self._edge_score(partial, graph.types[node], received, source, context)
                if source in true:
                    received.append(source)
                    total = total - torch.nn.functional.logsigmoid(score)
                else:
                    total = total - torch.nn.functional.logsigmoid(-score)
            state = self._new_state(partial, graph.types[node], received)
            partial = partial.with_node(graph.types[node], received, state)
        return total

    def greedy(self, z: Tensor, rules: Rules | None = None) -> Dag:
        """The likeliest type each time; an edge where its probability exceeds one half."""
        context, partial = self._begin(z, START)
        while True:
            probabilities = self.type_probabilities(partial, rules)
            kind = max(probabilities, key=lambda option: probabilities[option])
            if kind == END and self.kind.end_edges == "loose-ends":
                return _closed(partial, [])
            received: list[int] = []
            for source in reversed(range(len(partial.types))):
                if self.edge_probability(partial, kind, received, source, context, rules) > 0.5:
                    received.append(source)
            if kind == END:
                return _closed(partial, received)
            partial = partial.with_node(kind, received, self._new_state(partial, kind, received))

    def outcomes(self, z: Tensor, rules: Rules | None = None) -> dict[Dag, float]:
        """Every graph that decoding `z` can give, with its probability: all decisions followed both ways."""
        result: dict[Dag, float] = defaultdict(float)
        context, first = self._begin(z, START)

        def grow(partial: Partial, probability: float) -> None:
            for kind, share in self.type_probabilities(partial, rules).items():
                if kind == END and self.kind.end_edges == "loose-ends":
                    result[_closed(partial, [])] += probability * share
                else:
                    connect(partial, kind, [], len(partial.types) - 1, probability * share)

        def connect(partial: Partial, kind: int, received: list[int], source: int, probability: float) -> None:
            if source < 0 and kind == END:
                result[_closed(partial, received)] += probability
            elif source < 0:
                grow(partial.with_node(kind, received, self._new_state(partial, kind, received)), probability)
            else:
                share = self.edge_probability(partial, kind, received, source, context, rules)
                if share > 0:
                    connect(partial, kind, [*received, source], source - 1, probability * share)
                if share < 1:
                    connect(partial, kind, received, source - 1, probability * (1 - share))

        grow(first, 1.0)
        return dict(result)

    def type_probabilities(self, partial: Partial, rules: Rules | None = None) -> dict[int, float]:
        """How the type of the next node is distributed; the last possible node is the end."""
        if len(partial.types) == self.max_nodes - 1:
            return {END: 1.0}
        allowed = set(range(self.num_types))
        if rules is not None:
            allowed = rules.allowed(partial.types, self.num_types)
        probabilities = torch.softmax(self._type_scores(partial), 0).tolist()
        total = sum(probabilities[kind] for kind in allowed)
        return {kind: probabilities[kind] / total for kind in sorted(allowed)}

    def edge_probability(
        self, partial: Partial, kind: int, received: Sequence[int], source: int, context: Tensor,
        rules: Rules | None = None,
    ) -> float:  # fmt: skip
        """The probability of the edge from `source` to a new node that has `received` edges from later ones."""
        if rules is not None and rules.forced(source, len(partial.types), bool(received)):
            return 1.0
        return float(torch.sigmoid(self._edge_score(partial, kind, received, source, context)))

    def _begin(self, z: Tensor, kind: int) -> tuple[Tensor, Partial]:
        """h_0, and the graph of the start node alone, whose incoming state is h_0."""
        context = torch.tanh(self._linear("fc3", z))
        return context, Partial((kind,), (), (self._gru("grud", kind, context),))

    def _type_scores(self, partial: Partial) -> Tensor:
        graph = partial.states[-1] if self.kind.graph_state == "last" else torch.stack(partial.states).sum(0)
        return self._linear("add_vertex.2", torch.relu(self._linear("add_vertex.0", graph)))

    def _edge_score(self, partial: Partial, kind: int, received: Sequence[int], source: int, context: Tensor) -> Tensor:
        pair = [partial.states[source], self._new_state(partial, kind, received)]
        if self.kind.edge_context:
            pair.append(context)
        return self._linear("add_edge.2", torch.relu(self._linear("add_edge.0", torch.cat(pair))))[0]

    def _new_state(self, partial: Partial, kind: int, received: Sequence[int]) -> Tensor:
        incoming = partial.states[0].new_zeros(self.hidden)
        for source in received:
            incoming = incoming + self._message("forward", partial.types[source], source, partial.states[source])
        return self._gru("grud", kind, incoming)

    def _sweep(self, graph: Dag, direction: str) -> list[Tensor]:
        """The state of every node; "backward" goes against the edges."""
        states: dict[int, Tensor] = {}
        neighbours = graph.predecessors() if direction == "forward" else graph.successors()
        nodes = range(len(graph)) if direction == "forward" else reversed(range(len(graph)))
        for node in nodes:
            incoming = self.state["fc3.bias"].new_zeros(self.hidden)
            for other in neighbours[node]:
                incoming = incoming + self._message(direction, graph.types[other], other, states[other])
            states[node] = self._gru(f"grue_{direction}", graph.types[node], incoming)
        return [states[node] for node in range(len(graph))]

    def _read(self, states: list[Tensor], end: int, last: int) -> Tensor:
        if self.kind.readout == "end":
            return states[end]
        return sum(states[1:last], torch.zeros_like(states[0]))

    def _message(self, direction: str, kind: int, position: int, state: Tensor) -> Tensor:
        """g(u) * m(u), over the state of u, its state and position, or its type alone (eq. 3, 6, 7)."""
        if self.kind.messages == "types":
            inputs = _one_hot(kind, self.num_types, state)
        elif self.kind.messages == "positions":
            inputs = torch.cat([state, _one_hot(position, self.max_nodes, state)])
        else:
            inputs = state
        gate = torch.sigmoid(self._linear(f"gate_{direction}.0", inputs))
        return gate * (self.state[f"mapper_{direction}.0.weight"] @ inputs)

    def _gru(self, name: str, kind: int, message: Tensor) -> Tensor:
        """A GRU whose input is the one-hot type and whose hidden state is the message (eq. 4)."""
        inputs = self.state[f"{name}.weight_ih"] @ _one_hot(kind, self.num_types, message)
        inputs = inputs + self.state[f"{name}.bias_ih"]
        hidden = self.state[f"{name}.weight_hh"] @ message + self.state[f"{name}.bias_hh"]
        size = self.hidden
        reset = torch.sigmoid(inputs[:size] + hidden[:size])
        update = torch.sigmoid(inputs[size : 2 * size] + hidden[size : 2 * size])
        candidate = torch.tanh(inputs[2 * size :] + reset * hidden[2 * size :])
        return (1 - update) * candidate + update * message

    def _linear(self, name: str, values: Tensor) -> Tensor:
        return self.state[f"{name}.weight"] @ values + self.state[f"{name}.bias"]


def _one_hot(index: int, size: int, like: Tensor) -> Tensor:
    vector = like.new_zeros(size)
    vector[index] = 1
    return vector


def _closed(partial: Partial, received: Sequence[int]) -> Dag:
    """The graph with its end node, which takes the edges it received and all loose ends."""
    end = len(partial.types)
    busy = {source for source, _ in partial.edges}
    sources = {node for node in range(end) if node not in busy} | set(received)
    return Dag((*partial.types, END), partial.edges + tuple((source, end) for source in sources))
