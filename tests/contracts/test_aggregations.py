"""What every aggregation promises. All that `AGGREGATIONS` knows joins by itself, those of installed packages too."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from contracts.model_examples import EXACT, check_gradients, graphs_of, losses, model, task_of
from dvae.dag import DagBatch
from dvae.models import AGGREGATIONS, SumAggregation
from dvae.models.aggregation import reversed_batch
from dvae.models.encoders.dvae import DvaeEncoder
from dvae.models.parts import NodeStates

every_aggregation = pytest.mark.parametrize("name", AGGREGATIONS.names())


def encoder_of(name: str) -> tuple[DvaeEncoder, DagBatch]:
    task = task_of("own")
    encoder = model("dvae", task, aggregation=name, bidirectional=True).encoder
    assert isinstance(encoder, DvaeEncoder)
    return encoder, graphs_of(task)


def first_messages(count: int) -> Tensor:
    """Of the aligned width of 6 hidden units, those that only align being zero."""
    messages = torch.randn(count, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return messages * (torch.arange(8) < 6)


def check_same(found: NodeStates, expected: NodeStates, batch: DagBatch) -> None:
    torch.testing.assert_close(found.states, expected.states, **EXACT)
    if found.messages is not None and expected.messages is not None:
        sending = batch.adjacency.any(2)
        torch.testing.assert_close(found.messages[sending], expected.messages[sending], **EXACT)


@every_aggregation
def test_an_aggregation_says_what_it_is(name: str) -> None:
    part = AGGREGATIONS.get(name)
    assert part.description
    assert part.settings() == part.settings(), "all settings have defaults"


@pytest.mark.parametrize("given", [False, True], ids=["an encoder", "a decoder"])
@every_aggregation
def test_a_sweep_sums_the_messages_of_predecessors(name: str, given: bool) -> None:
    """The plain loop over nodes, which `SumAggregation` has, is the oracle of all faster ways."""
    encoder, batch = encoder_of(name)
    first = first_messages(len(batch)) if given else None
    found = encoder.aggregation.propagate(encoder.update, batch, first)
    check_same(found, SumAggregation.propagate(encoder.aggregation, encoder.update, batch, first), batch)


@every_aggregation
def test_a_sweep_against_the_edges_is_one_over_the_reversed_graph(name: str) -> None:
    encoder, batch = encoder_of(name)
    backward, update = encoder.backward_aggregation, encoder.backward_update
    assert backward is not None
    assert update is not None
    ahead, back = encoder.aggregation.propagate_both(encoder.update, backward, update, batch)
    check_same(ahead, SumAggregation.propagate(encoder.aggregation, encoder.update, batch), batch)
    turned = reversed_batch(batch)
    check_same(back, SumAggregation.propagate(backward, update, turned, reverse=True), turned)


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("reverse", [False, True])
@every_aggregation
def test_rounds_update_all_nodes_at_once(name: str, rounds: int, reverse: bool) -> None:
    encoder, batch = encoder_of(name)
    batch = reversed_batch(batch) if reverse else batch
    first = None if reverse else first_messages(len(batch))
    found = encoder.aggregation.propagate_in_rounds(encoder.update, batch, rounds, first, reverse)
    plain = SumAggregation.propagate_in_rounds(encoder.aggregation, encoder.update, batch, rounds, first, reverse)
    if encoder.aggregation.depends_on_types_only:
        plain = SumAggregation.propagate(encoder.aggregation, encoder.update, batch, first, reverse)
    check_same(found, plain, batch)


@every_aggregation
def test_a_message_is_made_of_its_node_alone(name: str) -> None:
    encoder, _ = encoder_of(name)
    types, states = torch.tensor([0, 2, 3, 2]), first_messages(4)
    together = encoder.aggregation.message(types, states, 1)
    alone = [encoder.aggregation.message(types[i : i + 1], states[i : i + 1], 1) for i in range(4)]
    assert together.shape == states.shape
    torch.testing.assert_close(together, torch.cat(alone), **EXACT)


@pytest.mark.parametrize("kind", ["dvae", "dvae-smp", "gcn", "dvae-fast"])
@every_aggregation
def test_every_model_that_aggregates_trains_and_decodes_with_it(name: str, kind: str) -> None:
    task = task_of("own")
    vae, batch = model(kind, task, aggregation=name), graphs_of(task)
    check_gradients(vae, lambda: losses(vae, batch).sum())
    z = torch.randn(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert vae.decode(z, greedy=True, copies=2) == [dag for dag in vae.decode(z, greedy=True) for _ in range(2)]
    assert bool(task.valid(vae.decode_batch(z, seed=0, copies=3, valid=True)).all())
