"""The step that a CUDA graph records, run on the CPU as written."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import dvae
from dvae.models.decoders.dvae import DvaeDecoder
from dvae.models.decoders.plan import DensePlan
from dvae.models.vae import VAE
from dvae.training.steps import PlainEpoch, StaticEpoch


def model() -> tuple[VAE, torch.optim.Optimizer, torch.Generator]:
    vae = dvae.models.build("dvae", dvae.tasks.get("asia"), hidden=8, latent=4, seed=0, noise_scale=0.0)
    return vae, torch.optim.Adam(vae.parameters(), lr=1e-2), torch.Generator().manual_seed(0)


@pytest.mark.parametrize("dense", [False, True])
def test_static_steps_train_as_plain_ones_do(dense: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten graphs in batches of four: the last is filled up with graphs that count nothing."""
    if dense:

        def dense_nll(
            self: DvaeDecoder, start: Tensor, states: Tensor, messages: Tensor, batch: dvae.DagBatch
        ) -> Tensor:
            return self._dense_edge_nll(DensePlan.of(batch), start, states, messages, batch)

        monkeypatch.setattr(DvaeDecoder, "_edge_nll", dense_nll)
    data = dvae.tasks.get("asia").sample_batch(10, seed=0)
    order = torch.randperm(10, generator=torch.Generator().manual_seed(1))
    vae, optimizer, generator = model()
    plain = PlainEpoch(vae, vae, Tensor.backward, optimizer, data, 4, generator, None)
    other, other_optimizer, other_generator = model()
    static = StaticEpoch(other, other_optimizer, data, 4, other_generator, None)
    for _ in range(3):
        for epoch in (plain, static):
            epoch.begin(order)
            for number in range(3):
                epoch.step(number)
        assert static.sums() == pytest.approx(plain.sums(), rel=1e-5)
    for one, another in zip(vae.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one, another, rtol=1e-3, atol=1e-5)


def test_an_epoch_can_begin_in_the_middle() -> None:
    data = dvae.tasks.get("asia").sample_batch(8, seed=0)
    vae, optimizer, generator = model()
    static = StaticEpoch(vae, optimizer, data, 4, generator, None)
    static.begin(torch.arange(8), first_step=1)
    with torch.no_grad():
        expected = float(vae(data.select(slice(4, 8)), torch.zeros(4, 4)).nll.sum())
    static.step(1)
    assert static.sums()[0] == pytest.approx(expected, rel=1e-5)
