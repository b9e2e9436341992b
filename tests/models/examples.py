"""Graphs and models that several tests of the models use."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor

from dvae.compat import from_original
from dvae.dag import Dag, DagBatch
from dvae.models.reference import ReferenceDvae, Variant
from dvae.models.vae import VAE
from dvae.tasks import GenericTask, Task
from models.oracle import GENERIC_SAMPLED_END, KINDS, random_state

NUM_TYPES, MAX_NODES = 5, 6


def model_graph(chance: random.Random, num_types: int, nodes: int, density: float = 0.5) -> Dag:
    """Any graph of a model: type 0 first, 1 last, whatever types and edges between; odd ones included."""
    types = [0, *(chance.choice([*range(2, num_types), 0]) for _ in range(nodes - 2)), 1]
    edges = [pair for pair in combinations(range(nodes), 2) if chance.random() < density]
    return Dag(tuple(types), tuple(edges))


def model_graphs(count: int, num_types: int = NUM_TYPES, max_nodes: int = MAX_NODES, seed: int = 0) -> list[Dag]:
    """Graphs of all sizes and densities, an empty and a complete one among them."""
    chance = random.Random(seed)
    graphs = [model_graph(chance, num_types, max_nodes, density) for density in (0.0, 1.0)]
    graphs += [model_graph(chance, num_types, chance.randint(2, max_nodes), chance.random()) for _ in range(count - 2)]
    return graphs


def pair(
    name: str, *, hidden: int = 7, latent: int = 3, num_types: int = NUM_TYPES, max_nodes: int = MAX_NODES,
    seed: int = 0, scale: float = 1.0,
) -> tuple[VAE, ReferenceDvae]:  # fmt: skip
    """Our model and the slow one with the same random weights."""
    state = random_state(
        KINDS[name],
        hidden=hidden,
        latent=latent,
        num_types=num_types,
        max_nodes=max_nodes,
        seed=seed,
        scale=scale,
    )
    vae = from_original(name, state, num_types, max_nodes)
    return vae, ReferenceDvae(KINDS[name], state, num_types, max_nodes)


def task_pair(
    name: str, kind: Variant, task: Task, *, hidden: int = 6, latent: int = 3, seed: int = 0, scale: float = 1.0
) -> tuple[VAE, ReferenceDvae]:
    """As `pair`, for a task of its own."""
    sizes = {"num_types": task.num_types, "max_nodes": task.max_nodes}
    state = random_state(kind, hidden=hidden, latent=latent, seed=seed, scale=scale, **sizes)
    return from_original(name, state, **sizes, task=task), ReferenceDvae(kind, state, **sizes)


def generic_task(*, virtual: bool = False, sampled: bool = False, max_nodes: int = 6, inner: str = "ab") -> Task:
    """DAGs with inner types a and b, between ends of their own or virtual ones."""
    ends = ("<start>", "<end>") if virtual else ("s", "t")
    return GenericTask(
        "test",
        (*ends, *inner),
        max_nodes,
        virtual_start=virtual,
        virtual_end=virtual,
        sampled_end_edges=sampled,
    )


def sampled_end_pair(**options: float) -> tuple[VAE, ReferenceDvae]:
    task = generic_task(sampled=True, max_nodes=4)
    return task_pair("dvae_unidirectional", GENERIC_SAMPLED_END, task, **options)  # type: ignore[arg-type]


def raw_batch(graphs: Sequence[Dag], num_types: int = NUM_TYPES, max_nodes: int = MAX_NODES) -> DagBatch:
    return DagBatch.from_dags(graphs, {kind: kind for kind in range(num_types)}, max_nodes)


def raw_dags(batch: DagBatch, num_types: int = NUM_TYPES) -> list[Dag]:
    return batch.to_dags(range(num_types))


def latents(count: int, latent: int = 3, seed: int = 0, scale: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, latent, generator=generator, dtype=torch.float64) * scale
