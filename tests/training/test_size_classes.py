"""Graphs of like size together: every graph once, in a shape of its class."""

from __future__ import annotations

import pytest
import torch

from contracts.column_examples import COLUMNED_DAGS, columned_task
from dvae.dag import DagBatch, random_dags
from dvae.errors import DagError
from dvae.models import VAE, build
from dvae.models.decoders.dvae import DvaeDecoder
from dvae.models.decoders.padded_plan import PaddedPlan
from dvae.tasks import GenericTask
from dvae.training import size_classes as module
from dvae.training.size_classes import ClassedEpoch, size_classes, spread
from dvae.training.steps import StaticEpoch

TASK = GenericTask("large", ("<start>", "<end>", *"abc"), 40, virtual_start=True, virtual_end=True)
SIZES = (38, 5, 20, 7, 30, 11, 38, 6, 22)


@pytest.fixture(autouse=True)
def small_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SIZES", (10, 25))


def graphs() -> DagBatch:
    return TASK.batch([dag for nodes in SIZES for dag in random_dags(1, nodes, labels="abc", seed=nodes)])


def model() -> VAE:
    return build("dvae", TASK, hidden=6, latent=3, seed=0, noise_scale=0.0)


def classed(vae: VAE, data: DagBatch, rate: float = 0.0) -> ClassedEpoch:
    optimizer, generator = torch.optim.SGD(vae.parameters(), lr=rate), torch.Generator().manual_seed(0)
    return ClassedEpoch(data, 2, lambda some, _: StaticEpoch(vae, optimizer, some, 2, generator, None))


def test_every_graph_is_in_the_smallest_class_that_holds_it() -> None:
    found = size_classes(graphs().num_nodes, 40)
    assert [(size, graphs_.tolist()) for size, graphs_ in found] == [(10, [1, 3, 7]), (25, [2, 5, 8]), (40, [0, 4, 6])]


def test_classes_take_turns() -> None:
    assert spread([1, 3]) == [1, 0, 1, 1]
    assert sorted(spread([2, 0, 5])) == [0, 0, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("padded", [False, True])
def test_an_epoch_sees_every_graph_once(padded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a rate the losses of an epoch are those of the graphs, whatever they are padded to."""
    if padded:  # as on a GPU: the room for edges is what the epoch says, not what a batch has
        monkeypatch.setattr(
            DvaeDecoder,
            "_edge_nll",
            lambda self, start, states, messages, batch: self._padded_edge_nll(
                PaddedPlan.of(batch, self.num_types), start, states, messages
            ),
        )
    vae, data = model(), graphs()
    with torch.no_grad():
        expected = vae(data, torch.zeros(len(data), 3))
    epoch = classed(vae, data)
    epoch.begin(torch.randperm(len(data), generator=torch.Generator().manual_seed(0)))
    assert epoch.steps == 6
    for number in range(epoch.steps):
        epoch.step(number)
    nll, kl, *_ = epoch.sums()
    assert nll == pytest.approx(float(expected.nll.sum()), rel=1e-5)
    assert kl == pytest.approx(float(expected.kl.sum()), rel=1e-5)


def test_an_epoch_goes_on_where_it_was_left() -> None:
    data, order = graphs(), torch.arange(9)
    whole, resumed = model(), model()
    first, second = classed(whole, data, 1e-3), classed(resumed, data, 1e-3)
    first.begin(order)
    second.begin(order)
    for number in range(6):
        first.step(number)
    for number in range(4):
        second.step(number)
    again = classed(resumed, data, 1e-3)
    again.begin(order, 4)
    again.step(4)
    again.step(5)
    for one, other in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_class_must_hold_its_graphs() -> None:
    with pytest.raises(DagError, match="more than 20 nodes"):
        graphs().cut(20)
    assert graphs().select(slice(1, 2)).cut(8).max_nodes == 8


@pytest.mark.parametrize("head", [None, "one-to-one"])
def test_columns_are_cut_with_their_graphs(head: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SIZES", (5,))
    task = columned_task()
    vae = build("layerwise", task, hidden=6, latent=3, seed=0, noise_scale=0.0, token_width=8, head=head)
    data = vae.prepare(task.batch(COLUMNED_DAGS))
    if vae.feature_head is not None:
        vae.feature_head.fit(data)
    assert vae.any_width
    with torch.no_grad():
        expected = vae(data, torch.zeros(len(data), 3))
    epoch = classed(vae, data)
    assert len(epoch.epochs) == 2
    epoch.begin(torch.arange(len(data)))
    for number in range(epoch.steps):
        epoch.step(number)
    nll, kl, heads, _ = epoch.sums()
    assert nll == pytest.approx(float(expected.nll.sum()), rel=1e-5)
    assert kl == pytest.approx(float(expected.kl.sum()), rel=1e-5)
    assert heads == pytest.approx(0.0 if expected.heads is None else float(expected.heads.sum()), rel=1e-5)


def test_which_models_may_be_padded_less() -> None:
    assert model().any_width
    assert build("layerwise", TASK, hidden=6, latent=3).any_width
    assert not build("svae", TASK, hidden=6, latent=3).any_width
