"""A step whose gradient is not finite moves nothing; many of them are a training that has diverged."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from dvae.dag import DagBatch, random_dags
from dvae.errors import DivergedError
from dvae.models import VAE, build
from dvae.tasks import GenericTask
from dvae.training import fit
from dvae.training.steps import Changes, Epoch, PlainEpoch, StaticEpoch

TASK = GenericTask("some", ("<start>", "<end>", *"abcdef"), 10, virtual_start=True, virtual_end=True)
CLIPPED = Changes(clip=5.0)


def graphs(count: int) -> DagBatch:
    return TASK.batch(random_dags(count, 8, seed=0))


def breaking(vae: VAE, monkeypatch: pytest.MonkeyPatch, calls: Callable[[int], bool]) -> None:
    """Makes the likelihood infinite in some of its calls."""
    count, nll = [0], vae.decoder.nll

    def sometimes(latents: Tensor, batch: DagBatch) -> Tensor:
        count[0] += 1
        return nll(latents, batch) * (torch.inf if calls(count[0]) else 1.0)

    monkeypatch.setattr(vae.decoder, "nll", sometimes)


@pytest.mark.parametrize("kind", [PlainEpoch, StaticEpoch])
def test_a_lost_step_changes_neither_weights_nor_sums(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    vae, data = build("dvae", TASK, hidden=6, latent=3, seed=0), graphs(12)
    optimizer = torch.optim.Adam(vae.parameters(), lr=1e-2, fused=True)
    generator = torch.Generator().manual_seed(0)
    epoch: Epoch
    if kind is PlainEpoch:
        epoch = PlainEpoch(vae, vae, Tensor.backward, optimizer, data, 4, generator, None, CLIPPED)
    else:
        epoch = StaticEpoch(vae, optimizer, data, 4, generator, None, CLIPPED)
    breaking(vae, monkeypatch, lambda call: call == 2)
    epoch.begin(torch.arange(12))
    epoch.step(0)
    before = [weight.detach().clone() for weight in vae.parameters()]
    moments = [optimizer.state[weight]["exp_avg"].clone() for weight in vae.parameters()]
    sums = epoch.sums()
    epoch.step(1)
    assert epoch.sums() == sums._replace(lost=4)
    assert all(map(torch.equal, before, vae.parameters()))
    assert all(
        torch.equal(old, optimizer.state[w]["exp_avg"]) for old, w in zip(moments, vae.parameters(), strict=True)
    )
    epoch.step(2)
    assert epoch.sums().lost == 4
    assert not all(map(torch.equal, before, vae.parameters()))


def test_the_weights_are_those_without_the_guard() -> None:
    """A clip that never shortens anything is no clip."""
    found = []
    for clip in (None, 1e9):
        vae = build("dvae", TASK, hidden=6, latent=3, seed=0)
        fit(vae, graphs(24), epochs=3, batch_size=8, clip=clip, device="cpu", progress=False)
        found.append([weight.detach().clone() for weight in vae.parameters()])
    assert all(map(torch.equal, *found))


def test_a_training_goes_on_after_a_step_that_broke(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    vae = build("dvae", TASK, hidden=6, latent=3, seed=0)
    breaking(vae, monkeypatch, lambda call: call == 130)
    done = fit(vae, graphs(240), epochs=2, batch_size=2, clip=5.0, device="cpu", progress=False)
    assert done.ended == "epochs"
    assert "epoch 2: 2 of 240 graphs were left out, since the gradient of their step was not finite" in caplog.text
    first, second = (row["loss"] for row in done.history)
    assert 0.5 * first < second < first


def test_many_lost_steps_are_a_divergence(monkeypatch: pytest.MonkeyPatch) -> None:
    vae = build("dvae", TASK, hidden=6, latent=3, seed=0)
    breaking(vae, monkeypatch, lambda call: call > 120 and call % 10 == 0)
    with pytest.raises(DivergedError, match="in epoch 2"):
        fit(vae, graphs(240), epochs=3, batch_size=2, clip=5.0, device="cpu", progress=False)


def test_lost_graphs_are_not_forgotten_when_a_training_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Stopped and resumed in the middle of the epoch, after the step that was lost."""
    losses = []
    for stops in ((), (60,)):
        caplog.clear()
        with pytest.MonkeyPatch.context() as patch:
            vae, run = build("dvae", TASK, hidden=6, latent=3, seed=0), tmp_path / f"stops{len(stops)}"
            breaking(vae, patch, lambda call: call == 30)
            settings: dict[str, Any] = {"batch_size": 2, "clip": 5.0, "device": "cpu", "progress": False, "run": run}
            for stop in stops:
                step = PlainEpoch.step

                def interrupted(self: PlainEpoch, number: int, stop: int = stop, step: Any = step) -> None:
                    step(self, number)
                    if number == stop:
                        signal.raise_signal(signal.SIGINT)

                patch.setattr(PlainEpoch, "step", interrupted)
                assert fit(vae, graphs(240), epochs=1, **settings).ended == "interrupted"
                patch.setattr(PlainEpoch, "step", step)
            done = fit(vae, graphs(240), epochs=1, resume=bool(stops), **settings)
        losses.append(done.history[0]["loss"])
        assert "2 of 240 graphs were left out" in caplog.text
    assert losses[0] == losses[1]


def test_weights_of_an_epoch_that_is_undone_are_not_the_best(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    vae = build("dvae", TASK, hidden=6, latent=3, seed=0)
    breaking(vae, monkeypatch, lambda call: call > 125 and call % 10 == 0)
    saved: list[object] = []
    monkeypatch.setattr("dvae.training.vae_job.save_best", lambda *_: saved.append(None))
    with pytest.raises(DivergedError):
        fit(
            vae, graphs(240), validation=graphs(8), epochs=3, batch_size=2, clip=5.0, validation_decodings=0,
            device="cpu", progress=False, run=tmp_path / "run",
        )  # fmt: skip
    assert len(saved) == 1
