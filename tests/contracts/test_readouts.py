"""What every readout promises. All that `READOUTS` knows joins by itself, those of installed packages too."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from contracts.model_examples import EXACT, check_gradients, graphs_of, losses, model, task_of
from dvae.dag import DagBatch
from dvae.models import READOUTS
from dvae.models.encoders.dvae import DvaeEncoder

every_readout = pytest.mark.parametrize("name", READOUTS.names())


def reading(name: str) -> tuple[DvaeEncoder, DagBatch, Tensor]:
    task = task_of("own")
    encoder, batch = model("dvae", task, readout=name).encoder, graphs_of(task)
    assert isinstance(encoder, DvaeEncoder)
    states = torch.randn(*batch.types.shape, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return encoder, batch, states


@every_readout
def test_a_readout_says_what_it_is(name: str) -> None:
    part = READOUTS.get(name)
    assert part.description
    assert part.settings() == part.settings(), "all settings have defaults"


@every_readout
def test_a_graph_is_the_promised_number_of_vectors(name: str) -> None:
    encoder, batch, states = reading(name)
    vectors = encoder.readout(states, batch, batch.num_nodes - 1)
    assert vectors.shape == (len(batch), encoder.readout.blocks * 8)
    alone = [encoder.readout(states[i : i + 1], part, part.num_nodes - 1) for i, part in enumerate(batch.split(1))]
    torch.testing.assert_close(vectors, torch.cat(alone), **EXACT)


@every_readout
def test_states_of_padding_are_not_read(name: str) -> None:
    encoder, batch, states = reading(name)
    changed = torch.where(batch.node_mask()[..., None], states, 1e3)
    last = batch.num_nodes - 1
    torch.testing.assert_close(encoder.readout(changed, batch, last), encoder.readout(states, batch, last), **EXACT)


@pytest.mark.parametrize("bidirectional", [False, True])
@every_readout
def test_a_model_trains_with_it(name: str, bidirectional: bool) -> None:
    task = task_of("own")
    vae, batch = model("dvae", task, readout=name, bidirectional=bidirectional), graphs_of(task)
    check_gradients(vae, lambda: losses(vae, batch).sum())
