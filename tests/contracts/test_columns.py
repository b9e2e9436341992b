"""What every model promises for DAGs with columns, with conditions and without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import dvae
from contracts.column_examples import COLUMNED_DAGS, CONDITIONS, columned_task
from contracts.model_examples import OWN_DAGS, check_gradients, losses, model
from dvae import Dag
from dvae.models import MODELS, build
from dvae.tasks import GenericTask
from dvae.training.steps import Changes, PlainEpoch, StaticEpoch

every_model = pytest.mark.parametrize("name", MODELS)
conditioned = pytest.mark.parametrize("conditions", [None, CONDITIONS], ids=["free", "conditions"])


@conditioned
@every_model
def test_a_model_encodes_scores_and_decodes_columns(name: str, conditions: tuple[str, ...] | None) -> None:
    task = columned_task()
    vae, batch = model(name, task, conditions=conditions), task.batch(COLUMNED_DAGS)
    posterior = vae.encode(batch)
    nll = vae.reconstruction_nll(batch, posterior.mean)
    assert nll.isfinite().all()
    decoded = vae.decode(posterior.mean, seed=0)
    assert len(decoded) == len(batch)
    assert all("kind" in dag.node for dag in decoded)
    assert decoded == vae.decode(posterior.mean, seed=0)
    assert vae.static_shapes == model(name, GenericTask.infer("own", OWN_DAGS)).static_shapes


@every_model
def test_columns_change_latents_and_likelihoods(name: str) -> None:
    task = columned_task()
    vae = model(name, task)
    bare = [Dag(dag.types, dag.edges, {"kind": dag.node["kind"]}, dag.edge) for dag in COLUMNED_DAGS]
    assert ((vae.encode(bare).mean - vae.encode(COLUMNED_DAGS).mean).abs().amax(1) > 1e-5).all()
    wires = [Dag(dag.types, dag.edges, dag.node, {"length": dag.edge["length"]}) for dag in COLUMNED_DAGS]
    assert ((vae.encode(wires).mean - vae.encode(COLUMNED_DAGS).mean).abs().amax(1) > 1e-6).all()


@conditioned
@every_model
def test_a_batch_with_columns_is_the_loop_over_its_graphs(name: str, conditions: tuple[str, ...] | None) -> None:
    task = columned_task()
    vae, batch = model(name, task, conditions=conditions), task.batch(COLUMNED_DAGS)
    alone = torch.cat([losses(vae, task.batch([dag])) for dag in COLUMNED_DAGS])
    torch.testing.assert_close(losses(vae, batch), alone, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(losses(vae, batch.padded(batch.max_nodes)), alone, rtol=1e-10, atol=1e-10)


@every_model
def test_samples_by_the_rules_have_columns_where_their_types_have_them(name: str) -> None:
    task = columned_task()
    vae = model(name, task, conditions=CONDITIONS)
    dags = vae.decode(5 * torch.randn(20, 3, dtype=torch.float64), seed=0, valid=True, given={"area": 5})
    assert all(task.is_valid(dag) for dag in dags)
    for dag in vae.decode(5 * torch.randn(20, 3, dtype=torch.float64), seed=0):
        sizes = dag.node.get("size", (None,) * len(dag))
        assert all((size is not None) == (label == "a") for label, size in zip(dag.types, sizes, strict=True))


@every_model
def test_a_saved_model_with_columns_comes_back_whole(name: str, tmp_path: Path) -> None:
    task = columned_task()
    vae, batch = model(name, task, conditions=CONDITIONS), task.batch(COLUMNED_DAGS)
    assert vae.conditions is not None
    vae.conditions.fit(batch)
    vae.calibrate(batch)
    vae.save(tmp_path)
    again = dvae.load(tmp_path)
    assert again.task.schema == task.schema
    assert torch.equal(losses(again, batch), losses(vae, batch))
    assert again.sample(5, seed=1, given={"gain": 2}) == vae.sample(5, seed=1, given={"gain": 2})


TWO_ORDERS = (
    Dag(("in", "a", "b", "a", "out"), ((0, 1), (0, 2), (1, 3), (2, 4), (3, 4)), {"size": (None, 3, None, 5, None)}),
    Dag(("in", "b", "a", "a", "out"), ((0, 2), (0, 1), (2, 3), (1, 4), (3, 4)), {"size": (None, None, 3, 5, None)}),
)


@every_model
def test_latents_of_columned_dags_see_no_order_of_nodes(name: str) -> None:
    """Graphs with columns come in the task's order, for sequence models, too."""
    if name in ("svae", "graphrnn", "pace"):
        pytest.skip("reads the nodes in an order of its own")
    mean = model(name, columned_task()).encode(TWO_ORDERS).mean
    torch.testing.assert_close(mean[0], mean[1], rtol=1e-9, atol=1e-9)


@conditioned
@every_model
def test_gradients_of_columns_are_those_of_finite_differences(name: str, conditions: tuple[str, ...] | None) -> None:
    task = columned_task()
    # Seed 0 puts a ReLU of one model within a step of its kink.
    vae = build(name, task, hidden=6, latent=3, seed=1, conditions=conditions).double()
    batch, part = task.batch(COLUMNED_DAGS), vae.columns
    assert part is not None
    check_gradients(part, lambda: losses(vae, batch).sum())
    unused = {name for name, parameter in part.named_parameters() if parameter.grad is None}
    assert not unused


@every_model
def test_training_on_columns_lowers_the_loss(name: str) -> None:
    vae = build(name, columned_task(), hidden=16, latent=4, seed=0, noise_scale=0.0, conditions=CONDITIONS)
    result = dvae.fit(vae, COLUMNED_DAGS * 2, epochs=25, batch_size=10, learning_rate=1e-2, progress=False)
    assert result.history[-1]["nll"] < 0.7 * result.history[0]["nll"]


@every_model
def test_static_steps_are_the_plain_ones(name: str) -> None:
    """What a CUDA device records: no shape depends on the data, nothing comes from the host."""
    if not model(name, columned_task()).static_shapes:
        pytest.skip("no step of this model is recorded")
    plain, static = (_stepped(name, kind, Changes(), noise_scale=0.0) for kind in (PlainEpoch, StaticEpoch))
    assert plain == pytest.approx(static, rel=1e-5)


def test_static_steps_drop_conditions_and_mutate() -> None:
    nll, kl, *_ = _stepped("dvae", StaticEpoch, Changes(mutations=0.5), conditions=CONDITIONS)
    assert 0 < nll < 1_000
    assert kl > 0


def _stepped(name: str, kind: type, changes: Changes, **settings: Any) -> tuple[float, ...]:
    """The sums of the losses after two epochs of two steps."""
    task = columned_task()
    vae = build(name, task, hidden=8, latent=3, seed=0, **settings)
    data = vae.prepare(task.batch(COLUMNED_DAGS))
    if vae.conditions is not None:
        vae.conditions.fit(data)
    optimizer = torch.optim.Adam(vae.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(0)
    passes = (vae, torch.Tensor.backward) if kind is PlainEpoch else ()
    epoch = kind(vae, *passes, optimizer, data, 3, generator, None, changes)
    for _ in range(2):
        epoch.begin(torch.arange(5))
        for step in range(2):
            epoch.step(step)
    sums: tuple[float, ...] = epoch.sums()
    return sums


@every_model
def test_without_columns_there_is_no_part_for_them(name: str) -> None:
    plain = GenericTask.infer("own", OWN_DAGS)
    vae = build(name, plain, hidden=6, latent=3, seed=0)
    assert vae.columns is None
    assert vae.conditions is None
    assert not [key for key in vae.state_dict() if key.startswith(("columns", "conditions"))]
    assert vae.prepare(plain.batch(OWN_DAGS)).columns is None
