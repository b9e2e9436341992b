"""What every measurement of a model shares: evaluation mode, blocks that fit the memory, seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from dvae.dag import Dag, DagBatch
from dvae.models import VAE

# Nodes that are decoded at a time. A node's states take about 12 kB at the paper's sizes; a decoder that
# shares the work of equal copies needs less, but not for a model that has learned nothing.
NODES_AT_ONCE = {"cpu": 1 << 16, "cuda": 1 << 21}
SEED_LIMIT = 2**63 - 1


@contextmanager
def evaluation_mode(vae: VAE) -> Iterator[None]:
    """Dropout and its like are off inside the block; every module is as it was afterwards."""
    training = [module for module in vae.modules() if module.training]
    vae.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def as_batch(vae: VAE, dags: Sequence[Dag] | DagBatch) -> DagBatch:
    """A model's DAGs, padded as its decodings are."""
    return dags.padded(vae.task.max_nodes) if isinstance(dags, DagBatch) else vae.task.batch(dags)


def block_size(vae: VAE, decodings: int) -> int:
    """How many items of `decodings` decodings each go through the decoder at a time."""
    nodes = NODES_AT_ONCE.get(vae.device.type, NODES_AT_ONCE["cpu"])
    return max(1, nodes // (vae.task.max_nodes * decodings))


def next_seed(generator: torch.Generator) -> int:
    """A fresh seed for a decoding, drawn from `generator`."""
    return int(torch.randint(SEED_LIMIT, (), generator=generator))
