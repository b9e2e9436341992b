"""One format for every training, and what version 0.1.0 wrote is still read."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from dvae.errors import CheckpointError, MissingError
from dvae.models import build, load
from dvae.tasks import get
from dvae.training import checkpoint, fit

FIXTURE = Path(__file__).parents[1] / "fixtures" / "run-0.1.0.tar.gz"
ASIA = {"epochs": 3, "batch_size": 128, "device": "cpu", "progress": False}


@pytest.fixture
def asia(tmp_path: Path) -> Path:
    """One epoch on 72 DAGs, trained by version 0.1.0."""
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "asia"


def test_a_run_of_version_0_1_0_goes_on_as_if_it_were_new(asia: Path) -> None:
    task, config = get("asia"), load(asia).config
    train = task.dataset(size=80, seed=0).train
    old, new = (build("dvae", task, config=config, seed=seed) for seed in (99, 0))
    result = fit(old, train, run=asia, resume=True, **ASIA)
    expected = fit(new, train, **ASIA)
    assert [row["epoch"] for row in result.history] == [1, 2, 3]
    assert [row["loss"] for row in result.history] == pytest.approx([row["loss"] for row in expected.history], 1e-6)
    for name, value in load(asia).state_dict().items():
        torch.testing.assert_close(value, new.state_dict()[name], rtol=1e-5, atol=1e-7)
    assert checkpoint.read(asia / checkpoint.FILE)[1]["format"] == checkpoint.FORMAT


def test_another_setting_than_that_of_an_old_run_is_refused(asia: Path) -> None:
    task, config = get("asia"), load(asia).config
    vae = build("dvae", task, config=config, kl_weight=0.1)
    with pytest.raises(CheckpointError, match="model = "):
        fit(vae, task.dataset(size=80, seed=0).train, run=asia, resume=True, **ASIA)


def rewritten(path: Path, change: Any) -> None:
    """A checkpoint with another header."""
    with safe_open(path, framework="pt") as file:
        header = json.loads(file.metadata()["state"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(tensors, path, metadata={"state": json.dumps(change(header))})


def parts(seed: int) -> dict[str, Any]:
    torch.manual_seed(seed)
    module = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    module(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return {"network": (module, optimizer)}


def test_parts_generators_and_header_come_back(tmp_path: Path) -> None:
    first, second = parts(0), parts(1)
    one, two = torch.Generator().manual_seed(5), torch.Generator()
    path = tmp_path / "a.safetensors"
    checkpoint.save(path, first, {"place": {"epoch": 3}, "settings": {"batch": (1, 2)}}, {"noise": one})
    header = checkpoint.load(path, second, {"batch": (1, 2)}, {"noise": two})
    assert (header["format"], header["place"]) == (checkpoint.FORMAT, {"epoch": 3})
    assert torch.equal(first["network"][0].weight, second["network"][0].weight)
    buffers = [
        optimizer.state[module.weight]["momentum_buffer"] for module, optimizer in (*first.values(), *second.values())
    ]
    assert torch.equal(*buffers)
    assert torch.equal(torch.rand(3, generator=one), torch.rand(3, generator=two))


def test_networks_of_version_0_1_0_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    checkpoint.save(path, parts(0), {"settings": {"batch": 8}})
    old = {
        "epoch": 2,
        "seconds": 1.5,
        "history": [{"epoch": 1}, {"epoch": 2}],
        "budget": 60.0,
        "settings": {"batch": 8},
    }
    rewritten(path, lambda header: old)
    header = checkpoint.load(path, parts(1), {"batch": 8})
    assert header["place"] == {"epoch": 2, "step": 0, "seconds": 1.5, "history": old["history"]}
    assert header["state"] == {"budget": 60.0}
    with pytest.raises(CheckpointError, match="batch = 8, not 9"):
        checkpoint.load(path, parts(1), {"batch": 9})


def test_of_older_settings_those_are_compared_that_both_versions_know(tmp_path: Path) -> None:
    path, before = tmp_path / "a.safetensors", {"model": {"hidden": 8, "gone": 1}}
    checkpoint.save(path, parts(0), {"place": {}, "settings": before})
    with pytest.raises(CheckpointError, match="model = "):
        checkpoint.load(path, parts(1), {"model": {"hidden": 8, "new": 2}})
    rewritten(path, lambda header: {"epoch": 1, "settings": before})
    checkpoint.load(path, parts(1), {"model": {"hidden": 8, "new": 2}})
    with pytest.raises(CheckpointError, match="model = "):
        checkpoint.load(path, parts(1), {"model": {"hidden": 9, "new": 2}})


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    with pytest.raises(MissingError, match="is not there"):
        checkpoint.read(path)
    checkpoint.save(path, parts(0), {})
    rewritten(path, lambda header: {**header, "format": 99})
    with pytest.raises(CheckpointError, match="newer version of dvae"):
        checkpoint.read(path)
