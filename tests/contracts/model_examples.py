"""Tasks, graphs and checks that the contract suites of models and their parts share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import dvae
from dvae import Dag
from dvae.dag import DagBatch
from dvae.models import VAE, build
from dvae.tasks import GenericTask, Task
from dvae.tasks.graph_rules import GraphRules

OWN_DAGS = (
    Dag(("in", "a", "b", "out"), ((0, 1), (0, 2), (1, 3), (2, 3))),
    Dag(("in", "b", "out"), ((0, 1), (1, 2))),
    Dag(("in", "a", "a", "b", "out"), ((0, 1), (1, 2), (0, 3), (2, 4), (3, 4))),
    Dag(("in", "b", "a", "a", "b", "out"), ((0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (1, 4), (4, 5))),
    Dag(("in", "a", "out"), ((0, 1), (1, 2))),
)
TWO_ORDERS = (
    Dag(("in", "a", "b", "a", "out"), ((0, 1), (0, 2), (1, 3), (2, 4), (3, 4))),
    Dag(("in", "b", "a", "a", "out"), ((0, 2), (0, 1), (2, 3), (1, 4), (3, 4))),
)
TASKS = ("enas6", "enas12", "asia", "own")
EXACT = {"rtol": 1e-10, "atol": 1e-10}


def task_of(name: str) -> Task:
    if name == "own, with rules":
        return GenericTask.infer("own", OWN_DAGS, GraphRules.infer(OWN_DAGS, strict=True))
    return GenericTask.infer("own", OWN_DAGS) if name == "own" else dvae.tasks.get(name)


def graphs_of(task: Task, count: int = 4) -> DagBatch:
    return task.batch(OWN_DAGS) if task.name == "own" else task.sample_batch(count, seed=1)


def model(name: str, task: Task, **settings: object) -> VAE:
    return build(name, task, hidden=6, latent=3, seed=0, **settings).double()


def losses(vae: VAE, batch: DagBatch) -> Tensor:
    batch = vae.prepare(batch)
    noise = torch.linspace(-1, 1, 3, dtype=torch.float64).expand(len(batch), 3)
    both = vae(batch, noise)
    return both.nll + both.kl


def check_gradients(module: nn.Module, loss: Callable[[], Tensor]) -> None:
    """Central differences at one entry of every parameter that has an effect."""
    loss().backward()
    generator = torch.Generator().manual_seed(0)
    step = 1e-6
    for label, parameter in module.named_parameters():
        if parameter.grad is None:
            continue
        flat = parameter.data.view(-1)
        used = parameter.grad.view(-1).nonzero().squeeze(1)
        if len(used) == 0:
            continue
        index = int(used[torch.randint(len(used), (1,), generator=generator)])
        value = float(flat[index])
        with torch.no_grad():
            flat[index] = value + step
            above = float(loss())
            flat[index] = value - step
            below = float(loss())
            flat[index] = value
        expected = (above - below) / (2 * step)
        found = float(parameter.grad.view(-1)[index])
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-6), label
