"""Steps recorded as a CUDA graph and replayed: resumed and validated runs are the uninterrupted one, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from dvae.training import load_best
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
