"""Large graphs take other ways through the same formulas: levels, rectangles of decisions, edges in rounds."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import dvae
from dvae.dag import DagBatch, random_dags
from dvae.models import VAE, aggregation, build
from dvae.models.decoders import dvae as dvae_decoder
from dvae.models.decoders import dvae_sampler
from dvae.models.decoders.dvae import DvaeDecoder
from dvae.models.decoders.edge_room import room_for_edges
from dvae.models.decoders.padded_plan import PaddedPlan
from dvae.models.kernels.levels import Levels
from dvae.tasks import GenericTask

NODES = 45
NEVER = 10**9


def task(nodes: int = NODES) -> GenericTask:
    labels = ("<start>", "<end>", *"abcdef")
    return GenericTask("large", labels, nodes, virtual_start=True, virtual_end=True)


def graphs() -> DagBatch:
    """Of all sizes, sparse and dense, with many sources and many loose ends."""
    dags = [
        *random_dags(3, NODES - 2, seed=0), *random_dags(3, 20, seed=1), *random_dags(1, NODES - 2, edges_per_node=5),
        *random_dags(1, NODES - 2, edges_per_node=0, depth=0.01), *random_dags(1, 1), *random_dags(1, 30, depth=1.0),
    ]  # fmt: skip
    return task().batch(dags)


def model(name: str = "dvae", **options: Any) -> VAE:
    return build(name, task(), hidden=6, latent=4, seed=0, **options).double()


def losses_and_gradients(vae: VAE, batch: DagBatch) -> tuple[Tensor, dict[str, Tensor]]:
    noise = torch.randn(len(batch), 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    losses = vae(batch, noise)
    (losses.nll + 0.3 * losses.kl).sum().backward()
    found = {name: weight.grad for name, weight in vae.named_parameters()}
    return torch.stack([losses.nll, losses.kl]).detach(), {
        name: grad for name, grad in found.items() if grad is not None
    }


def small_ways(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(aggregation, "SWEEP_NODES", {"cpu": NEVER})
    patch.setattr(dvae_decoder, "COMPACT_NODES", NEVER)


@pytest.mark.parametrize("options", [
    {}, {"bidirectional": True}, {"aggregation": "gated-sum-position", "bidirectional": True},
    {"aggregation": "gated-sum-types"}, {"readout": "sum"},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("way", ["rectangles", "padded"])
def test_the_likelihood_and_its_gradients_do_not_depend_on_the_way(
    way: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        small_ways(patch)
        expected, expected_gradients = losses_and_gradients(model(**options), graphs())
    if way == "padded":
        monkeypatch.setattr(DvaeDecoder, "_edge_nll", padded)
    found, gradients = losses_and_gradients(model(**options), graphs())
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11)
    assert gradients.keys() == expected_gradients.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected_gradients[name], rtol=1e-9, atol=1e-9, msg=name)


def padded(self: DvaeDecoder, start: Tensor, states: Tensor, messages: Tensor, batch: DagBatch) -> Tensor:
    """As on a GPU, with more room than the graphs need."""
    with room_for_edges(int(batch.adjacency.flatten(1).sum(1).max()) + 3):
        return self._padded_edge_nll(PaddedPlan.of(batch, self.num_types), start, states, messages)


def test_a_step_for_each_level() -> None:
    batch = task().batch(random_dags(3, NODES - 2, seed=0))
    levels = Levels.of(batch)
    assert len(levels.sizes) == round((NODES - 2) / 2) + 2  # and one for each virtual end
    assert sum(levels.sizes) == int(batch.num_nodes.sum())


@pytest.mark.parametrize("how", [{"seed": 3}, {"greedy": True}, {"seed": 3, "copies": 3}], ids=str)
@pytest.mark.parametrize("name", ["dvae", "dvae-smp"])
def test_edges_in_rounds_are_those_of_single_decisions(
    name: str, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    vae = model(name)
    latents = 3 * torch.randn(5, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    with torch.no_grad():
        vae.decoder.vertex_second.bias[1] = -3
        vae.decoder.edge_second.weight.mul_(8)
        vae.decoder.edge_second.bias.sub_(0.0 if how.get("greedy") else 2.0)
    decoded = []
    for one_by_one, gap in ((NEVER, 1), (1, 0), (1, 4)):
        monkeypatch.setattr(dvae_sampler, "ONE_BY_ONE", one_by_one)
        monkeypatch.setattr(dvae_sampler, "MIN_GAP", gap)
        monkeypatch.setattr(dvae_sampler, "MIN_WINDOW", 2)
        decoded.append(vae.decode_batch(latents, **how))
    assert decoded[0].adjacency.any(1).sum() > 30
    for other in decoded[1:]:
        assert torch.equal(other.types, decoded[0].types)
        assert torch.equal(other.adjacency, decoded[0].adjacency)


def test_large_graphs_are_encoded_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    vae, batch = model(), graphs()
    whole = vae.encode(batch)
    monkeypatch.setattr(dvae.models.vae, "LARGE", 8)
    monkeypatch.setitem(dvae.models.vae.LARGE_BYTES, "cpu", 1)
    torch.testing.assert_close(vae.encode(batch).mean, whole.mean, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
def test_a_gpu_that_does_not_train_goes_by_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    vae, batch = model(bidirectional=True), graphs()
    latents = torch.randn(len(batch), 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    here = *vae.encode(batch), vae.reconstruction_nll(batch, latents)
    vae = vae.cuda()
    positions = *vae.encode(batch), vae.reconstruction_nll(batch, latents)
    monkeypatch.setattr(aggregation, "SWEEP_NODES", {"cuda": 0})
    levels = *vae.encode(batch), vae.reconstruction_nll(batch, latents)
    for one, other, third in zip(here, positions, levels, strict=True):
        torch.testing.assert_close(one, other.cpu())
        torch.testing.assert_close(one, third.cpu())


@pytest.mark.parametrize(
    ("device", "nodes", "training", "by_levels"),
    [("cpu", 16, True, False), ("cpu", 17, True, True), ("cuda", 64, False, False), ("cuda", 65, False, True),
     ("cuda", 65, True, False), ("mps", 500, False, False)],
)  # fmt: skip
def test_who_goes_by_levels(device: str, nodes: int, training: bool, by_levels: bool) -> None:
    """A GPU does not while it trains, where shapes are static."""

    class Sizes:  # all that is asked for of a batch
        max_nodes = nodes

    Sizes.device = torch.device(device)  # type: ignore[attr-defined]
    with torch.set_grad_enabled(training):
        assert aggregation._by_levels(Sizes()) == by_levels  # type: ignore[arg-type]
