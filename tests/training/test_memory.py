"""Steps that fit the memory: split batches give the same result, and what cannot fit is said in a sentence."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dvae.dag import DagBatch, random_dags
from dvae.errors import MemoryLimitError
from dvae.models import VAE, build
from dvae.tasks import GenericTask
from dvae.training import fit
from dvae.training.memory import Budget, check_fits, explained
from dvae.training.steps import Epoch, PlainEpoch, StaticEpoch

TASK = GenericTask("large", ("<start>", "<end>", *"abcdef"), 30, virtual_start=True, virtual_end=True)


def model() -> VAE:
    return build("dvae", TASK, hidden=6, latent=3, seed=0).double()


def graphs() -> DagBatch:
    return TASK.batch([dag for nodes in (28, 9, 17, 3, 28, 12) for dag in random_dags(1, nodes, seed=nodes)])


def budget_for(vae: VAE, count: float) -> Budget:
    return Budget(count * vae.bytes_per_graph(30, 40))


def trained(kind: str, budget: Budget | None) -> tuple[VAE, Epoch]:
    vae, data = model(), graphs()
    optimizer, generator = torch.optim.Adam(vae.parameters(), lr=1e-2), torch.Generator().manual_seed(0)
    epoch: Epoch
    if kind == "plain":
        epoch = PlainEpoch(vae, vae, Tensor.backward, optimizer, data, 6, generator, None, budget=budget)
    else:
        vae.float()
        epoch = StaticEpoch(vae, optimizer, data, 6, generator, None, budget=budget)
    epoch.begin(torch.arange(6))
    for number in (0, 0):
        epoch.begin(torch.arange(6))
        epoch.step(number)
    return vae, epoch


@pytest.mark.parametrize("kind", ["plain", "static"])
def test_a_split_batch_is_the_whole_one(kind: str) -> None:
    whole, whole_epoch = trained(kind, None)
    split, split_epoch = trained(kind, budget_for(whole, 2))
    tolerance = 1e-10 if kind == "plain" else 1e-4
    assert split_epoch.sums() == pytest.approx(whole_epoch.sums(), rel=tolerance)
    for one, other in zip(whole.parameters(), split.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


def test_like_sizes_go_together_and_none_is_lost() -> None:
    vae, data = model(), graphs()
    assert budget_for(vae, 100).parts(vae, data) is None
    parts = budget_for(vae, 2).parts(vae, data)
    assert parts is not None
    assert sorted(torch.cat(parts).tolist()) == list(range(6))
    assert parts[0].tolist() == [0, 4]
    sizes = data.num_nodes[torch.cat(parts)]
    assert torch.equal(sizes, sizes.sort(descending=True).values)


def test_the_estimate_grows_with_graphs_and_model() -> None:
    small, wide = model(), build("dvae", TASK, hidden=24, latent=3, seed=0).double()
    assert small.bytes_per_graph(30, 40) < small.bytes_per_graph(60, 40) < small.bytes_per_graph(60, 90)
    assert small.bytes_per_graph(30, 40) < wide.bytes_per_graph(30, 40)
    other = build("svae", TASK, hidden=6, latent=3, seed=0)  # whose parts do not say
    assert other.bytes_per_graph(30, 40) > 0


@pytest.mark.parametrize(("nodes", "width", "layers"), [(64, 64, 2), (200, 16, 2), (100, 32, 4)])
def test_a_layerwise_step_keeps_less_than_is_estimated(nodes: int, width: int, layers: int) -> None:
    task = GenericTask("large", TASK.vocabulary.labels, nodes, virtual_start=True, virtual_end=True)
    vae = build("layerwise", task, hidden=width, latent=3, seed=0, token_width=width, layers=layers)
    kept, estimate = kept_and_estimated(vae, task.batch(random_dags(2, nodes - 2, seed=0)))
    assert kept < estimate < 5 * kept


@pytest.mark.parametrize("nodes", [8, 16, 30])
def test_a_step_of_deepgmg_keeps_less_than_is_estimated(nodes: int) -> None:
    task = GenericTask("large", TASK.vocabulary.labels, nodes, virtual_start=True, virtual_end=True)
    vae = build("deepgmg", task, hidden=32, latent=3, seed=0)
    kept, estimate = kept_and_estimated(vae, task.batch(random_dags(2, nodes - 2, seed=0)))
    assert kept < estimate < 5 * kept


def kept_and_estimated(vae: VAE, graphs: DagBatch) -> tuple[int, int]:
    """Bytes that a step keeps for its gradient, and what the model says that it takes."""
    data = vae.prepare(graphs)
    kept: dict[int, int] = {weight.untyped_storage().data_ptr(): 0 for weight in vae.parameters()}

    def counted(tensor: Tensor) -> Tensor:
        kept.setdefault(tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(counted, lambda tensor: tensor):
        losses = vae(data, torch.zeros(len(data), 3))  # alive until what it keeps is counted
    assert losses.nll.isfinite().all()
    one = vae.bytes_per_graph(data.max_nodes, int(data.adjacency.flatten(1).sum(1).max()))
    return sum(kept.values()), len(data) * one


def test_a_graph_that_is_too_large_is_refused_before_the_first_step() -> None:
    vae = model()
    with pytest.raises(MemoryLimitError, match=r"one graph of 30 nodes and \d+ edges takes about \d+ MB, and 1 MB are"):
        check_fits(vae, graphs(), Budget(1e4))
    with pytest.raises(MemoryError, match=r"raise the setting memory, or take a smaller model \(hidden, now 6\)"):
        fit(vae, graphs(), epochs=1, memory=1e-6, device="cpu", progress=False)


def test_a_machine_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dvae.training.memory.free_memory", lambda device: 10_000)
    with pytest.raises(MemoryLimitError, match="this machine has 1 MB free: take a smaller model"):
        check_fits(model(), graphs(), Budget(1e12))


@pytest.mark.parametrize("error", [
    torch.cuda.OutOfMemoryError("CUDA out of memory"), MemoryError(),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes"),
], ids=lambda error: type(error).__name__)  # fmt: skip
def test_memory_that_runs_out_on_the_way(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise error

    vae = model()
    monkeypatch.setattr(PlainEpoch, "step", fails)
    with pytest.raises(MemoryLimitError, match=r"a step of 4 graphs of up to 30 nodes.*set memory=\S+ \(gigabytes\)"):
        fit(vae, graphs(), epochs=1, batch_size=4, device="cpu", progress=False)


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="something else"), explained(model(), graphs(), 4, Budget(1e9)):
        raise RuntimeError("something else")
