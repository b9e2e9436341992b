"""Mutated copies of DAGs, and the schedule and clipping that the preset `auto` trains with."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import dvae
from dvae import Dag
from dvae.dag.column_tensors import UNKNOWN
from dvae.errors import ConfigError
from dvae.tasks import GenericTask
from dvae.training import TrainingConfig, fit, job
from dvae.training.mutations import mutated
from dvae.training.steps import Changes

VIRTUAL = [
    Dag(("a", "b", "c", "a"), ((0, 1), (0, 2), (2, 3))),
    Dag(("b", "a", "c"), ((0, 2), (1, 2))),
    Dag(("c", "a"), ((0, 1),)),
    Dag(("a", "b", "b", "c", "a"), ((0, 1), (1, 2), (2, 3), (0, 4))),
]
OWN_ENDS = [Dag(("in", *dag.types, "out"), ((0, 1), *((u + 1, v + 1) for u, v in dag.edges))) for dag in VIRTUAL]
CONFIG = {"schedule": "cosine", "warmup": 3, "clip": 1.0, "mutations": 0.5, "batch_size": 4, "device": "cpu"}


def closed(dag: Dag) -> Dag:
    """`dag` with every loose end tied to its last node."""
    edges = {*dag.edges, *((sink, len(dag) - 1) for sink in dag.sinks() if sink != len(dag) - 1)}
    edges |= {(0, source) for source in dag.sources() if source}
    return Dag(dag.types, tuple(edges))


@pytest.mark.parametrize("dags", [VIRTUAL, [closed(dag) for dag in OWN_ENDS]], ids=["virtual ends", "own ends"])
def test_mutated_dags_are_dags_of_the_task(dags: list[Dag]) -> None:
    task = GenericTask.infer("test", dags)
    batch = task.batch(dags * 50)
    generator = torch.Generator().manual_seed(0)
    changed = mutated(batch, 0.5, task.num_types, generator, virtual_start=task.virtual_start)
    assert task.valid(changed).all()
    assert task.batch(task.unbatch(changed)).adjacency.equal(changed.adjacency), "ends are tied as the task ties them"
    same = (changed.types == batch.types).all(1) & (changed.adjacency == batch.adjacency).flatten(1).all(1)
    assert 0.2 < same.double().mean() < 0.8
    untouched = mutated(batch, 0.0, task.num_types, generator, virtual_start=task.virtual_start)
    assert untouched.types.equal(batch.types)
    assert untouched.adjacency.equal(batch.adjacency)


def test_a_cosine_schedule_rises_and_falls() -> None:
    config = TrainingConfig(schedule="cosine", warmup=10)
    factors = [config.rate_factor(step, step / 100) for step in range(100)]
    assert factors[0] == pytest.approx(0.1)
    assert max(factors) == factors[9] or max(factors) == factors[10]
    assert factors[-1] < 0.02
    with pytest.raises(ConfigError, match="warmup"):
        TrainingConfig(warmup=10)
    with pytest.raises(ConfigError, match="mutations"):
        TrainingConfig(mutations=1.5)


def test_a_timed_schedule_ends_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="time budget"):
        TrainingConfig(schedule="timed")
    ticks = itertools.count()
    monkeypatch.setattr(
        job, "time", SimpleNamespace(monotonic=lambda: next(ticks) / 1000)
    )  # a clock asked is a tick on
    vae = dvae.models.build("pace", GenericTask.infer("test", VIRTUAL), hidden=8, latent=4, seed=0)
    result = fit(vae, VIRTUAL * 5, **{**CONFIG, "schedule": "timed"}, epochs=100_000, time_budget=1.0, progress=False)
    rates = [row["learning_rate"] for row in result.history]
    assert result.ended == "time-budget"
    assert rates[len(rates) // 10 :] == sorted(rates[len(rates) // 10 :], reverse=True)
    assert rates[-1] < 0.1 * max(rates)


def test_a_resumed_training_is_bit_for_bit_the_uninterrupted_one(tmp_path: Path) -> None:
    task = GenericTask.infer("test", VIRTUAL)
    whole, parts = (dvae.models.build("pace", task, hidden=8, latent=4, seed=0) for _ in range(2))
    data = VIRTUAL * 5
    fit(whole, data, epochs=4, progress=False, **CONFIG)
    fit(parts, data, epochs=4, run=tmp_path, time_budget=1e-9, progress=False, **CONFIG)
    again = dvae.models.build("pace", task, hidden=8, latent=4, seed=1)
    fit(again, data, epochs=4, run=tmp_path, resume=True, progress=False, **CONFIG)
    for name, value in whole.named_parameters():
        assert torch.equal(value, dict(again.named_parameters())[name]), name


def test_values_of_columns_are_exchanged_between_nodes_of_one_type() -> None:
    value_of = {"a": ("x", "y"), "b": ("y", "z"), "c": ("w", "z")}
    dags = [
        Dag(
            dag.types,
            dag.edges,
            node={"kind": [value_of[str(label)][turn] for label in dag.types]},
            properties={"p": 1},
        )
        for dag in VIRTUAL
        for turn in (0, 1)
    ]
    task = GenericTask.infer("test", dags)
    batch = task.batch(dags * 50)
    changed = mutated(batch, 0.5, task.num_types, torch.Generator().manual_seed(0), virtual_start=task.virtual_start)
    before, after = batch.columns, changed.columns
    assert before is not None
    assert after is not None
    assert changed.properties is not None
    exchanged = (after.node_codes != before.node_codes) & (after.node_codes != UNKNOWN)
    assert exchanged.any()
    allowed = set(zip(batch.types.flatten().tolist(), before.node_codes.flatten().tolist(), strict=True))
    for label, code in zip(changed.types[exchanged[..., 0]], after.node_codes[exchanged], strict=True):
        assert (int(label), int(code)) in allowed
    assert changed.properties[exchanged.flatten(1).any(1)].isnan().all(), "what was known is not of this graph"
    assert not changed.properties.isnan().all()


def test_a_target_is_known_of_the_graphs_alone_that_are_as_they_were() -> None:
    chance = random.Random(0)
    dags = []
    for dag in VIRTUAL * 50:
        sizes = [chance.choice((None, chance.random())) for _ in dag.types]
        dags.append(Dag(dag.types, dag.edges, node={"kind": chance.choices("xy", k=len(dag)), "size": sizes}))
    task = GenericTask.infer("test", dags)
    batch, known = task.batch(dags), torch.arange(float(len(dags)))[:, None]
    changes = Changes(mutations=0.4)
    after = mutated(batch, 0.4, task.num_types, torch.Generator().manual_seed(0), virtual_start=task.virtual_start)
    as_before = torch.tensor([one == other for one, other in zip(dags, task.unbatch(after), strict=True)])
    same_structure = (after.types == batch.types).all(1) & (after.adjacency == batch.adjacency).flatten(1).all(1)
    assert 0.2 < as_before.double().mean() < same_structure.double().mean() < 0.8
    targets = changes.targets(known, batch, after)
    assert targets[as_before].equal(known[as_before])
    assert targets[~as_before].isnan().all()
    assert changes.targets(known, batch, batch) is known


def test_a_number_that_changes_within_its_option_is_a_change() -> None:
    dags = [Dag(("a",), node={"size": [size / 1000]}) for size in range(500)]
    batch = GenericTask.infer("test", dags).batch(dags)
    assert batch.columns is not None
    numbers = batch.columns.node_numbers.clone()
    numbers[0, 1] += 1e-9
    after = replace(batch, columns=replace(batch.columns, node_numbers=numbers))
    targets = Changes(mutations=0.4).targets(torch.ones(500, 1), batch, after)
    assert targets.isnan().flatten().tolist() == [True] + [False] * 499
