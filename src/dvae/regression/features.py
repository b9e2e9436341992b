"""Plain features of a DAG, which need no learning: what a latent space must beat."""

from __future__ import annotations

import torch
from torch import Tensor

from dvae.dag import DagBatch


def one_hot_features(batch: DagBatch, num_types: int) -> Tensor:
    """The type of every node as one-hot, all zero where there is no node, then a bit for every edge u -> v, u < v.

    Positions are those of the batch: node by node, then edges row by row of the upper triangle.
    """  # batch feature, float32
    types = torch.nn.functional.one_hot(batch.types, num_types) * batch.node_mask()[:, :, None]  # batch node type
    source, target = torch.triu_indices(batch.max_nodes, batch.max_nodes, offset=1, device=batch.device)
    edges = batch.adjacency[:, source, target]  # batch edge
    return torch.cat([types.flatten(1), edges], dim=1).float()
