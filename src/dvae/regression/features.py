"""Plain features of a DAG, which need no learning: what a latent space must beat."""

from __future__ import annotations

import torch
from torch import Tensor

from dvae.dag import DagBatch

MANY = 3  # edges in, or out, that are counted as one kind with more
MAX_KINDS, SPREAD = 32, 37  # of types at the ends of edges; the factor mixes neighbours in the vocabulary


def one_hot_features(batch: DagBatch, num_types: int) -> Tensor:
    """The type of every node as one-hot, all zero where there is no node, then a bit for every edge u -> v, u < v.

    Positions are those of the batch: node by node, then edges row by row of the upper triangle.
    """  # batch feature, float32
    types = torch.nn.functional.one_hot(batch.types, num_types) * batch.node_mask()[:, :, None]  # batch node type
    source, target = torch.triu_indices(batch.max_nodes, batch.max_nodes, offset=1, device=batch.device)
    edges = batch.adjacency[:, source, target]  # batch edge
    return torch.cat([types.flatten(1), edges], dim=1).float()


def count_features(batch: DagBatch, num_types: int) -> Tensor:
    """What does not depend on the order of the nodes, as log(1 + count): nodes of every type, and those with 0, 1, 2
    or more edges in and out; edges, and paths over two, from every type to every other. Of more than `MAX_KINDS`
    types several are one kind to edges and paths.
    """  # batch feature, float32
    types = (torch.nn.functional.one_hot(batch.types, num_types) * batch.node_mask()[:, :, None]).float()
    adjacency = batch.adjacency.float()
    kind = torch.arange(num_types, device=batch.device) * SPREAD % MAX_KINDS if num_types > MAX_KINDS else None
    kinds = types if kind is None else types @ torch.nn.functional.one_hot(kind, MAX_KINDS).float()
    after = adjacency @ kinds  # batch node kind: the successors of a node
    counts = [types.sum(1)]
    for degree in (adjacency.sum(1), adjacency.sum(2)):
        degrees = torch.nn.functional.one_hot(degree.long().clamp(max=MANY), MANY + 1).float()
        counts.append((types.mT @ degrees).flatten(1))
    counts += [(kinds.mT @ reached).flatten(1) for reached in (after, adjacency @ after)]
    return torch.cat(counts, dim=1).log1p()
