"""Decoding within the rules of a task, and what happens to graphs outside them."""

from __future__ import annotations

import pytest
import torch

from dvae.dag import Dag, DagBatch
from dvae.models import VAE, build
from dvae.tasks import BayesNetTask, GenericTask, Task, get
from models.examples import generic_task

TASKS = {
    "enas6": get("enas6"),
    "enas12": get("enas12"),
    "asia": get("asia"),
    "generic": generic_task(),
    "generic, virtual ends": generic_task(virtual=True),
    "generic, sampled end edges": generic_task(sampled=True),
    "generic, virtual start": GenericTask("one", ("<start>", "t", "a"), 5, virtual_start=True, virtual_end=False),
    "generic, virtual end": GenericTask("other", ("s", "<end>", 7, "a"), 5, virtual_start=False, virtual_end=True),
}


def untrained(task: Task, seed: int = 0) -> VAE:
    """Fresh weights, made larger so that decodings differ."""
    vae = build("dvae", task, hidden=8, latent=4, seed=seed)
    with torch.no_grad():
        for parameter in vae.parameters():
            parameter.mul_(3)
    return vae


@pytest.mark.parametrize("name", TASKS)
def test_valid_decodings_of_an_untrained_model_are_all_valid(name: str) -> None:
    task = TASKS[name]
    vae = untrained(task)
    z = torch.randn(150, 4, generator=torch.Generator().manual_seed(1))
    for greedy in (False, True):
        batch = vae.decode_batch(z, copies=2, seed=0, greedy=greedy, valid=True)
        assert bool(task.valid(batch).all())
        dags = task.unbatch(batch)
        assert all(map(task.is_valid, dags))
        assert vae.decode(z, copies=2, seed=0, greedy=greedy, valid=True) == dags
    assert len(set(vae.decode(z, seed=0, valid=True))) > 10


@pytest.mark.parametrize("name", TASKS)
def test_free_decodings_of_an_untrained_model_are_mostly_invalid(name: str) -> None:
    """Otherwise the test above shows nothing."""
    vae = untrained(TASKS[name])
    z = torch.randn(300, 4, generator=torch.Generator().manual_seed(1))
    assert float(TASKS[name].valid(vae.decode_batch(z, seed=0)).float().mean()) < 0.9


@pytest.mark.parametrize("name", TASKS)
def test_decoded_dags_are_unwrapped_or_as_they_are(name: str) -> None:
    task = TASKS[name]
    vae = untrained(task)
    z = torch.randn(300, 4, generator=torch.Generator().manual_seed(2))
    raw = vae.decode_batch(z, seed=0).to_dags(task.vocabulary.labels)
    dags = vae.decode(z, seed=0)
    kept = 0
    for whole, dag in zip(raw, dags, strict=True):
        if dag == whole and _has_virtual(task, dag):
            kept += 1
            assert not task.is_valid(dag), f"{dag} holds virtual nodes, yet is valid"
        else:
            assert task.unwrap(whole) == dag
            assert not _has_virtual(task, dag)
    if "<start>" in task.vocabulary.index_of:
        assert kept > 0, "no undecodable graph among the examples"


def _has_virtual(task: Task, dag: Dag) -> bool:
    return bool({"<start>", "<end>"} & set(dag.types) & set(task.vocabulary.labels))


def test_an_undecodable_network_comes_back_as_it_is_and_is_not_valid() -> None:
    task = BayesNetTask("small", ("A", "B"))
    labels = task.vocabulary.index_of
    odd = [
        Dag(("<start>", "A", "<start>", "<end>"), ((0, 1), (1, 3), (2, 3))),
        Dag(("<start>", "<end>"), ((0, 1),)),
    ]
    twice = Dag(("<start>", "A", "A", "<end>"), ((0, 1), (0, 2), (1, 3), (2, 3)))
    batch = DagBatch.from_dags([*odd, twice], labels, 4)
    assert task.unbatch(batch) == [*odd, Dag(("A", "A"))]
    assert not any(task.is_valid(dag) for dag in task.unbatch(batch))
    assert task.valid(batch).tolist() == [False, False, False]


@pytest.mark.parametrize("name", TASKS)
def test_validity_of_the_models_dags_is_validity_of_the_users(name: str) -> None:
    """Counting valid decodings as tensors or as DAGs is the same."""
    task = TASKS[name]
    batch = untrained(task).decode_batch(torch.randn(400, 4, generator=torch.Generator().manual_seed(3)), seed=0)
    one_by_one = [task.is_valid(dag) for dag in task.unbatch(batch)]
    assert task.valid(batch).tolist() == one_by_one
