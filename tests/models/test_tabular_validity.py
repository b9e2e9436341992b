"""Rules of tabular tasks while decoding: whatever an untrained model draws is in the tables."""

from __future__ import annotations

import pytest
import torch

from dvae.models import build
from dvae.tasks import Task, get

TABULAR = ("nasbench201", "nasbench-graph:proteins")


@pytest.mark.parametrize("model", ["dvae", "svae", "graphrnn", "deepgmg"])
@pytest.mark.parametrize("name", TABULAR)
def test_what_comes_out_is_valid(name: str, model: str) -> None:
    task: Task = get(name)
    vae = build(model, task, hidden=8, latent=4, seed=1)
    drawn = vae.sample(30, seed=0, valid=True)
    assert len(drawn) == 30
    assert all(map(task.is_valid, drawn))


def test_the_last_operation_is_no_skip_if_all_others_are() -> None:
    task = get("nasbench-graph:cora")
    skip, other = task.vocabulary.index_of["skip"], task.vocabulary.index_of["gcn"]
    types = torch.tensor([[0, skip, skip, skip], [0, skip, other, skip]])
    assert task.rules.allowed_types(types, task.num_types)[:, skip].tolist() == [False, True]
    assert task.rules.allowed_types(types[:, :3], task.num_types)[:, skip].tolist() == [True, True]


@pytest.mark.parametrize("name", TABULAR)
def test_a_model_s_dags_keep_their_meaning(name: str) -> None:
    pytest.importorskip("nas_bench_graph")
    task = get(name)
    vae = build("dvae", task, hidden=8, latent=4, seed=1)
    batch = vae.decode_batch(vae.prior(20, seed=0), seed=0, valid=True)
    unwrapped = task.unbatch(batch)
    valid = task.valid(batch).tolist()
    again = task.keys(task.batch([dag for dag, good in zip(unwrapped, valid, strict=True) if good]))
    assert again == [key for key, good in zip(task.keys(batch), valid, strict=True) if good]
