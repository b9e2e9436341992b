"""Steps recorded as a CUDA graph and replayed: resumed and validated runs are the uninterrupted one, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.training import load_best
from dvae.training.steps import CapturedEpoch, Changes
from training.runs import TASK, model, same, train, weights
from training.test_resume import Crash, crash_after

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")

OPTIONS: dict[str, Any] = {"batch_size": 32, "device": "cuda", "epochs": 6, "learning_rate": 3e-3}


@pytest.mark.parametrize("saves", [5, 17])
def test_after_a_crash(saves: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs, whole, parts = TASK.sample_batch(200, seed=0), model(), model(seed=9)
    expected = train(whole, graphs=graphs, **OPTIONS)
    with monkeypatch.context() as patch:
        crash_after(saves, patch)
        with pytest.raises(Crash):
            train(model(), tmp_path, graphs=graphs, checkpoint_seconds=0.0, **OPTIONS)
    result = train(parts, tmp_path, graphs=graphs, resume=True, **OPTIONS)
    assert same(weights(whole), weights(parts))
    assert [row["loss"] for row in result.history] == pytest.approx([row["loss"] for row in expected.history], 1e-12)


def test_validation_changes_nothing(tmp_path: Path) -> None:
    graphs, plain, validated = TASK.sample_batch(200, seed=0), model(), model()
    train(plain, graphs=graphs, **OPTIONS)
    result = train(validated, tmp_path, graphs=graphs, validation=TASK.sample_batch(50, seed=1), **OPTIONS)
    assert same(weights(plain), weights(validated))
    best = load_best(model(), tmp_path)
    assert result.best_epoch is not None
    mean = best.encode(graphs).mean
    assert torch.allclose(best.latent_std, mean.std(0), rtol=1e-2)


def test_a_lost_step_changes_neither_weights_nor_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """The likelihood of one replay is infinite; those before and after are not."""
    graphs, vae = TASK.sample_batch(96, seed=0).to("cuda"), model().to("cuda")
    factor, nll = torch.ones((), device="cuda"), vae.decoder.nll

    def scaled(latents: Tensor, batch: DagBatch) -> Tensor:
        found: Tensor = nll(latents, batch) * factor
        return found

    monkeypatch.setattr(vae.decoder, "nll", scaled)
    optimizer = torch.optim.Adam(vae.parameters(), lr=torch.tensor(1e-2, device="cuda"), fused=True, capturable=True)
    epoch = CapturedEpoch(vae, optimizer, graphs, 32, torch.Generator("cuda"), None, Changes(clip=5.0))
    epoch.begin(torch.arange(96))
    epoch.step(0)
    moments = [optimizer.state[weight]["exp_avg"] for weight in vae.parameters()]
    before, sums = [tensor.clone() for tensor in [*vae.parameters(), *moments]], epoch.sums()
    factor.fill_(torch.inf)
    epoch.step(1)
    assert epoch.sums() == sums._replace(lost=32)
    assert all(map(torch.equal, before, [*vae.parameters(), *moments]))
    factor.fill_(1)
    epoch.step(2)
    assert epoch.sums().lost == 32
    assert epoch.sums().nll > sums.nll
    assert not all(map(torch.equal, before, [*vae.parameters(), *moments]))
