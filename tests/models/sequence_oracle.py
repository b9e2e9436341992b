"""The slow, obvious S-VAE and GraphRNN: one graph, one step, one decision at a time, in the original's naming."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from dvae.dag import Dag
from dvae.models.reference import END, START, Rules
from models.oracle import CONNECTED

FREE = Rules(lambda types, num_types: set(range(num_types)), lambda source, target, fed: False)
__all__ = ["CONNECTED", "FREE", "SequenceOracle", "random_sequence_state"]


def random_sequence_state(
    model: str, *, hidden: int, latent: int, num_types: int, max_nodes: int, seed: int = 0, scale: float = 1.0
) -> dict[str, Tensor]:
    """Random float64 weights with the names and shapes of the original, the unused ones included."""
    generator = torch.Generator().manual_seed(seed)
    string = num_types + max_nodes - 1
    grus = {"grue": string, "grud": hidden if model == "svae" else string}
    linears = {
        "fc1": (latent, hidden),
        "fc2": (latent, hidden),
        "fc3": (hidden, latent),
        "add_vertex.0": (hidden, hidden),
        "add_vertex.2": (num_types, hidden),
        "add_edges.0": (hidden, hidden),
        "add_edges.2": (max_nodes - 1, hidden),
    }
    if model == "graphrnn":
        grus["grud_edge"] = 1
        linears |= {"add_edge.0": (hidden, hidden), "add_edge.2": (1, hidden)}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, inputs in grus.items():
        shapes[f"{name}.weight_ih_l0"], shapes[f"{name}.weight_hh_l0"] = (3 * hidden, inputs), (3 * hidden, hidden)
        shapes[f"{name}.bias_ih_l0"] = shapes[f"{name}.bias_hh_l0"] = (3 * hidden,)
    for name, shape in linears.items():
        shapes[f"{name}.weight"], shapes[f"{name}.bias"] = shape, shape[:1]
    return {
        name: torch.randn(shape, generator=generator, dtype=torch.float64) * scale / max(shape[-1], 4) ** 0.5
        for name, shape in shapes.items()
    }


@dataclass(frozen=True)
class SequenceOracle:
    model: Literal["svae", "graphrnn"]
    state: Mapping[str, Tensor]
    num_types: int
    max_nodes: int
    end_edges: Literal["loose-ends", "sampled"] = "loose-ends"

    def encode(self, graph: Dag) -> tuple[Tensor, Tensor]:
        vector = self.state["fc1.weight"].new_zeros(self.state["fc1.weight"].shape[1])
        for node in range(1, len(graph)):
            vector = self._gru("grue", self._string(graph, node), vector)
        return self._linear("fc1", vector), self._linear("fc2", vector)

    def nll(self, graph: Dag, z: Tensor) -> Tensor:
        """Every bit of every node's string is scored, whether an edge could be there or not."""
        total = z.new_zeros(())
        for node in range(1, len(graph)):
            state = self._node_state(z, graph, node)
            total = total - torch.log_softmax(self._mlp("add_vertex", state), 0)[graph.types[node]]
            bits = [float((source, node) in graph.edges) for source in range(self.max_nodes - 1)]
            for source, bit in enumerate(bits):
                score = self._edge_score(state, bits[:source], source)
                total = total - torch.nn.functional.logsigmoid(score if bit else -score)
        return total

    def greedy(self, z: Tensor) -> Dag:
        graph = Dag((START,))
        while True:
            node = len(graph)
            state = self._node_state(z, graph, node)
            kind = int(self._mlp("add_vertex", state).argmax()) if node < self.max_nodes - 1 else END
            bits: list[float] = []
            if kind != END or self.end_edges == "sampled":
                for source in range(node):
                    bits.append(float(self._edge_score(state, bits, source) > 0))
            graph = _with_node(graph, kind, bits)
            if kind == END:
                return graph

    def outcomes(self, z: Tensor, rules: Rules = FREE) -> dict[Dag, float]:
        """Every graph that decoding `z` can give, with its probability."""
        result: dict[Dag, float] = defaultdict(float)

        def grow(graph: Dag, probability: float) -> None:
            node = len(graph)
            state = self._node_state(z, graph, node)
            shares = torch.softmax(self._mlp("add_vertex", state), 0).tolist()
            allowed = rules.allowed(graph.types, self.num_types) if node < self.max_nodes - 1 else {END}
            total = sum(shares[kind] for kind in allowed)
            for kind in allowed:
                if kind == END and self.end_edges == "loose-ends":
                    result[_with_node(graph, END, [])] += probability * shares[kind] / total
                else:
                    connect(graph, kind, state, [], probability * shares[kind] / total)

        def connect(graph: Dag, kind: int, state: Tensor, bits: list[float], probability: float) -> None:
            source, node = len(bits), len(graph)
            if source < node:
                share = float(torch.sigmoid(self._edge_score(state, bits, source)))
                connect(graph, kind, state, [*bits, 1.0], probability * share)
                connect(graph, kind, state, [*bits, 0.0], probability * (1 - share))
                return
            for source in reversed(range(node)):
                bits[source] = max(bits[source], float(rules.forced(source, node, any(bits[source + 1 :]))))
            grown = _with_node(graph, kind, bits)
            if kind == END:
                result[grown] += probability
            else:
                grow(grown, probability)

        grow(Dag((START,)), 1.0)
        return dict(result)

    def _node_state(self, z: Tensor, graph: Dag, node: int) -> Tensor:
        start = torch.relu(self._linear("fc3", z))
        if self.model == "svae":
            state = torch.zeros_like(start)
            for _ in range(node):
                state = self._gru("grud", start, state)
            return state
        state, string = start, start.new_zeros(self.num_types + self.max_nodes - 1)
        for earlier in range(node):
            state = self._gru("grud", self._string(graph, earlier) if earlier else string, state)
        return state

    def _edge_score(self, state: Tensor, bits: Sequence[float], source: int) -> Tensor:
        if self.model == "svae":
            return self._mlp("add_edges", state)[source]
        for bit in [0.0, *bits[:source]]:
            state = self._gru("grud_edge", state.new_tensor([bit]), state)
        return self._mlp("add_edge", state)[0]

    def _string(self, graph: Dag, node: int) -> Tensor:
        string = self.state["fc1.weight"].new_zeros(self.num_types + self.max_nodes - 1)
        string[graph.types[node]] = 1
        for source, target in graph.edges:
            if target == node:
                string[self.num_types + source] = 1
        return string

    def _gru(self, name: str, inputs: Tensor, state: Tensor) -> Tensor:
        weights = [self.state[f"{name}.{part}_l0"] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        return torch.gru_cell(inputs[None], state[None], *weights)[0]

    def _mlp(self, name: str, values: Tensor) -> Tensor:
        return self._linear(f"{name}.2", torch.relu(self._linear(f"{name}.0", values)))

    def _linear(self, name: str, values: Tensor) -> Tensor:
        return self.state[f"{name}.weight"] @ values + self.state[f"{name}.bias"]


def _with_node(graph: Dag, kind: int, bits: Sequence[float]) -> Dag:
    """The graph with one more node; an end takes all loose ends besides."""
    node = len(graph)
    sources = {source for source, bit in enumerate(bits) if bit}
    if kind == END:
        sources |= set(range(node)) - {source for source, _ in graph.edges}
    return Dag((*graph.types, kind), graph.edges + tuple((source, node) for source in sources))
