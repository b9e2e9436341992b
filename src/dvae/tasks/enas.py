"""The ENAS macro space: chains of layers with skip connections (paper, sections 4 and E).

A user's DAG is `input`, the layers, `output`. The input is the model's start node and the output its end node, so
nothing is added; position is meaning, since the outputs of several layers are joined in a fixed order.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import torch
from torch import Tensor

from dvae.dag import Dag, DagBatch
from dvae.errors import TaskError
from dvae.tasks.base import ModelHints, Task, packed_rows, well_formed
from dvae.tasks.rules import ChainRules
from dvae.tasks.vocabulary import END_INDEX, Vocabulary

LAYERS = ("conv3", "sep3", "conv5", "sep5", "avg3", "max3")
MAX_LAYERS = 256


class EnasTask(Task):
    """Architectures of at most `layers` layers; the paper's have 6 (and 12)."""

    vocabulary = Vocabulary(("input", "output", *LAYERS))
    hints = ModelHints(aggregation="gated-sum-position", bidirectional=True, gcn_rounds=3)
    rules = ChainRules()
    varies_in_size = False  # searches are for networks of full depth

    def __init__(self, layers: int) -> None:
        if not 1 <= layers <= MAX_LAYERS:
            raise TaskError(f"an ENAS space has 1 to {MAX_LAYERS} layers, not {layers}")
        self.layers = layers
        self.name = f"enas{layers}"
        self.max_nodes = layers + 2

    def spec(self) -> dict[str, Any]:
        return {"kind": "enas", "layers": self.layers}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> EnasTask:
        return cls(int(spec["layers"]))

    def wrap(self, dag: Dag) -> Dag:
        return dag

    def unwrap(self, dag: Dag) -> Dag:
        return dag

    def valid(self, batch: DagBatch) -> Tensor:
        """Six checks of the paper (F.1): the four of `well_formed`, acyclic, and fed by the node before."""
        main_path = batch.adjacency.diagonal(offset=1, dim1=1, dim2=2)  # batch node-1
        inside = batch.node_mask()[:, 1:]
        return well_formed(batch) & (main_path | ~inside).all(1)

    def keys(self, batch: DagBatch) -> list[Hashable]:
        return packed_rows(batch.num_nodes[:, None], batch.types, batch.adjacency)

    def sample_batch(self, count: int, seed: int) -> DagBatch:
        """Uniform architectures of full depth: each layer and each skip connection drawn alike."""
        generator = torch.Generator().manual_seed(seed)
        nodes = self.max_nodes
        types = torch.zeros(count, nodes, dtype=torch.int64)
        types[:, 1:-1] = torch.randint(len(LAYERS), (count, self.layers), generator=generator) + 2
        types[:, -1] = END_INDEX
        adjacency = torch.zeros(count, nodes, nodes, dtype=torch.bool)
        skips = torch.rand(count, nodes - 1, nodes - 1, generator=generator) < 0.5
        adjacency[:, :-1, :-1] = skips.triu(2)
        adjacency.diagonal(offset=1, dim1=1, dim2=2).fill_(True)
        return DagBatch(types, adjacency, torch.full((count,), nodes))
