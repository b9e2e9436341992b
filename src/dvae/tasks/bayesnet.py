"""Bayesian networks over named variables (paper, sections 4 and I).

A user's DAG holds the variables only, each once, in any topological order. The model's holds a virtual start that
feeds the variables without parents and a virtual end fed by those without children.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from dvae.dag import Dag, DagBatch
from dvae.errors import TaskError
from dvae.tasks.base import ModelHints, Task, packed_rows
from dvae.tasks.ends import add_virtual_ends, drop_virtual_ends
from dvae.tasks.rules import EachOnceRules
from dvae.tasks.vocabulary import END_INDEX, START_INDEX, Vocabulary

ASIA_VARIABLES = ("A", "S", "T", "L", "B", "E", "X", "D")


class BayesNetTask(Task):
    """Networks over `variables`, whose order is the known topological order of the sampler."""

    hints = ModelHints(
        aggregation="gated-sum-types",
        readout="sum",
        edge_context=True,
        graph_state="sum",
        gcn_rounds=2,
        batch_size=128,
        epochs=100,
    )
    rules = EachOnceRules()

    def __init__(self, name: str, variables: Sequence[str]) -> None:
        if len(variables) < 2:
            raise TaskError("a Bayesian network needs at least two variables")
        self.name = name
        self.variables = tuple(variables)
        self.vocabulary = Vocabulary.with_virtual_ends(self.variables)
        self.max_nodes = len(self.variables) + 2

    def spec(self) -> dict[str, Any]:
        return {"kind": "bayesnet", "name": self.name, "variables": list(self.variables)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> BayesNetTask:
        return cls(str(spec["name"]), [str(variable) for variable in spec["variables"]])

    def wrap(self, dag: Dag) -> Dag:
        return add_virtual_ends(dag, self.vocabulary)

    def unwrap(self, dag: Dag) -> Dag:
        return drop_virtual_ends(dag, self.vocabulary)

    def valid(self, batch: DagBatch) -> Tensor:
        """Three checks of the paper (F.1): as many nodes as variables, every variable once, acyclic."""
        mask = batch.node_mask()
        counts = torch.zeros(len(batch), self.num_types, dtype=torch.int64, device=batch.device)
        counts.scatter_add_(1, batch.types, mask.to(torch.int64))
        last = batch.types.gather(1, (batch.num_nodes - 1).clamp(min=0)[:, None])[:, 0]
        framed = (batch.types[:, 0] == START_INDEX) & (last == END_INDEX)
        return (counts == 1).all(1) & framed

    def keys(self, batch: DagBatch) -> list[Hashable]:
        """Valid networks by their parent sets; anything else by what it is, tensor by tensor."""
        valid = self.valid(batch)
        order = batch.types.argsort(dim=1, stable=True)  # node of every type, where valid
        by_type = batch.adjacency.gather(1, order[:, :, None].expand_as(batch.adjacency))
        by_type = by_type.gather(2, order[:, None, :].expand_as(batch.adjacency))
        parents = torch.zeros_like(batch.adjacency)
        parents[:, 2:, 2:] = by_type[:, 2:, 2:]  # edges of the virtual nodes follow from the others
        adjacency = torch.where(valid[:, None, None], parents, batch.adjacency)
        types = torch.where(valid[:, None], torch.zeros_like(batch.types), batch.types)
        num_nodes = torch.where(valid, torch.zeros_like(batch.num_nodes), batch.num_nodes)
        return packed_rows(num_nodes[:, None], types, adjacency)

    def sample_batch(self, count: int, seed: int) -> DagBatch:
        """Random networks in the given order: every edge with probability 2 / (k - 1), as bnlearn's sampler."""
        size, nodes = len(self.variables), self.max_nodes
        generator = torch.Generator().manual_seed(seed)
        edges = (torch.rand(count, size, size, generator=generator) < 2 / (size - 1)).triu(1)
        types = torch.cat([torch.tensor([START_INDEX]), torch.arange(2, nodes), torch.tensor([END_INDEX])])
        adjacency = torch.zeros(count, nodes, nodes, dtype=torch.bool)
        adjacency[:, 1:-1, 1:-1] = edges
        adjacency[:, 0, 1:-1] = ~edges.any(1)
        adjacency[:, 1:-1, -1] = ~edges.any(2)
        return DagBatch(types.expand(count, -1).contiguous(), adjacency, torch.full((count,), nodes))
