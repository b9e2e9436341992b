"""What a DAG of the ENAS macro space says about its network: an operation and skip inputs for every layer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dvae.dag import Dag
from dvae.dag.original import ENAS_OPERATIONS
from dvae.errors import DagError
from dvae.nas.config import NetworkConfig


@dataclass(frozen=True, order=True)
class Architecture:
    """Vertex 0 is the stem and vertex k the k-th layer. Layer i works on vertex i, the one before it.

    `skips[i]` are the vertices below i that join the output of layer i; `outputs` are those that join the last layer
    in front of the classifier.
    """

    operations: tuple[str, ...]
    skips: tuple[tuple[int, ...], ...]
    outputs: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.operations or len(self.operations) != len(self.skips):
            raise DagError("an architecture has at least one layer, and skip inputs (perhaps none) for each")
        for layer, (operation, skips) in enumerate(zip(self.operations, self.skips, strict=True)):
            if operation not in ENAS_OPERATIONS:
                raise DagError(f"layer {layer} is {operation!r}; a layer is one of {', '.join(ENAS_OPERATIONS)}")
            _check_ascending(skips, layer, f"skip inputs of layer {layer}")
        _check_ascending(self.outputs, len(self), "skip inputs of the output")

    def __len__(self) -> int:
        return len(self.operations)

    @classmethod
    def from_dag(cls, dag: Dag) -> Architecture:
        """The architecture of a valid DAG of an ENAS task."""
        depth = len(dag) - 2
        if depth < 1 or dag.types[0] != "input" or dag.types[-1] != "output":
            raise DagError("an architecture is an input, at least one layer and an output, in this order")
        before = dag.predecessors()
        for node in range(1, depth + 2):
            if node - 1 not in before[node]:
                raise DagError(f"node {node} must be fed by node {node - 1}, the one before it")
        operations = tuple(str(label) for label in dag.types[1:-1])
        skips = [tuple(before[node][:-1]) for node in range(1, depth + 2)]
        return cls(operations, tuple(skips[:-1]), skips[-1])

    def as_built(self, config: NetworkConfig) -> Architecture:
        """The architecture that says what is built: separable codes may stand for plain convolutions."""
        if config.separable == "depthwise":
            return self
        return replace(self, operations=tuple(name.replace("sep", "conv") for name in self.operations))

    def dag(self) -> Dag:
        """The DAG that says the same."""
        depth = len(self)
        edges = [(vertex, vertex + 1) for vertex in range(depth + 1)]
        edges += [(vertex, layer + 1) for layer, skips in enumerate(self.skips) for vertex in skips]
        edges += [(vertex, depth + 1) for vertex in self.outputs]
        return Dag(("input", *self.operations, "output"), tuple(edges))


def _check_ascending(vertices: tuple[int, ...], below: int, what: str) -> None:
    if any(not 0 <= vertex < below for vertex in vertices) or list(vertices) != sorted(set(vertices)):
        raise DagError(f"the {what} are {vertices}; they must be distinct, ascending and below {below}")
