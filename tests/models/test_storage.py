"""Models on disk: what was saved comes back, and nothing else passes for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import dvae
from dvae.errors import CheckpointError, DvaeError, MissingError
from dvae.models import VAE, build
from dvae.tasks import EnasTask, Task, get, to_spec
from models.examples import generic_task, latents, model_graphs, pair

WEIGHTS = "model.safetensors"
TASKS = {
    "enas": EnasTask(4),
    "bayesnet": get("bn:A,B,C,D"),
    "generic": generic_task(),
    "virtual": generic_task(virtual=True),
    "sampled": generic_task(sampled=True),
}
OPTIONS = {
    "as the task suggests": {},
    "other parts": {"aggregation": "gated-sum", "bidirectional": True, "readout": "both", "edge_width": 7},
    "learned features": {"features": "learned", "feature_width": 3},
}


def small(task: Task, **options) -> VAE:
    return build("dvae", task, hidden=5, latent=3, seed=0, **options)


def assert_same(first: VAE, second: VAE) -> None:
    assert first.config == second.config
    assert first.task.spec() == second.task.spec()
    z = latents(10)
    one, two = first.decode_batch(z, seed=1), second.decode_batch(z, seed=1)
    assert torch.equal(one.adjacency, two.adjacency)
    assert torch.equal(one.types, two.types)
    for mine, theirs in zip(first.encode(one), second.encode(one), strict=True):
        assert torch.equal(mine, theirs)
    assert torch.equal(first.reconstruction_nll(one, z), second.reconstruction_nll(one, z))
    assert torch.equal(first.prior(3, seed=0), second.prior(3, seed=0))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("task", TASKS)
def test_a_saved_model_comes_back_with_equal_outputs(task: str, options: str, tmp_path: Path) -> None:
    vae = small(TASKS[task], **OPTIONS[options])
    vae.latent_mean.fill_(0.3)
    vae.save(tmp_path / "run")
    assert_same(vae, dvae.load(tmp_path / "run"))


def test_given_features_and_double_precision_come_back(tmp_path: Path) -> None:
    given = tuple((float(kind), 0.5) for kind in range(5))
    vae = small(get("bn:A,B,C"), features="given", given_features=given).double()
    vae.save(tmp_path)
    loaded = dvae.load(tmp_path)
    assert loaded.mean.weight.dtype == torch.float64
    assert_same(vae, loaded)


@pytest.mark.parametrize("name", ["dvae", "dvae_unidirectional", "dvae_bn"])
def test_weights_of_the_original_come_back_after_saving(name: str, tmp_path: Path) -> None:
    vae, _ = pair(name)
    vae.save(tmp_path)
    loaded = dvae.load(tmp_path)
    graphs = model_graphs(8)
    assert torch.equal(loaded.encode(graphs).mean, vae.encode(graphs).mean)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    small(EnasTask(4)).save(tmp_path)
    return tmp_path


def test_saving_leaves_plain_files_only(saved: Path) -> None:
    assert sorted(path.name for path in saved.iterdir()) == [WEIGHTS, "model.toml", "task.json"]


def tampered(folder: Path, change) -> Path:
    state = load_file(folder / WEIGHTS)
    change(state)
    save_file(state, folder / WEIGHTS)
    return folder


def test_a_missing_tensor_is_refused(saved: Path) -> None:
    with pytest.raises(CheckpointError, match=r"lacks mean\.weight"):
        dvae.load(tampered(saved, lambda state: state.pop("mean.weight")))


def test_an_unknown_tensor_is_refused(saved: Path) -> None:
    with pytest.raises(CheckpointError, match="has an unknown extra"):
        dvae.load(tampered(saved, lambda state: state.update(extra=torch.zeros(1))))


def test_a_misshapen_tensor_is_refused(saved: Path) -> None:
    with pytest.raises(CheckpointError, match=r"latent_mean is \(4,\), not \(3,\)"):
        dvae.load(tampered(saved, lambda state: state.update(latent_mean=torch.zeros(4))))


def test_no_tensor_at_all_is_refused(saved: Path) -> None:
    with pytest.raises(CheckpointError, match="lacks"):
        dvae.load(tampered(saved, lambda state: state.clear()))


@pytest.mark.parametrize("content", [b"", b"not a safetensors file", b"\x10" + bytes(7) + b"{}"])
def test_a_broken_file_is_refused(saved: Path, content: bytes) -> None:
    (saved / WEIGHTS).write_bytes(content)
    with pytest.raises(CheckpointError, match="not a whole safetensors file"):
        dvae.load(saved)


def test_a_cut_file_is_refused(saved: Path) -> None:
    whole = (saved / WEIGHTS).read_bytes()
    (saved / WEIGHTS).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match="not a whole safetensors file"):
        dvae.load(saved)


@pytest.mark.parametrize("name", [WEIGHTS, "model.toml", "task.json"])
def test_a_missing_file_is_named(saved: Path, name: str) -> None:
    (saved / name).unlink()
    with pytest.raises(MissingError, match=name):
        dvae.load(saved)


@pytest.mark.parametrize(
    "spec", [{}, {"kind": "nothing"}, {"kind": "enas"}, {"kind": "enas", "layers": "many"}, [1], {"kind": ["enas"]}]
)
def test_a_task_that_cannot_be_read_is_refused(saved: Path, spec: object) -> None:
    (saved / "task.json").write_text(json.dumps(spec))
    with pytest.raises(CheckpointError, match="task"):
        dvae.load(saved)


def test_a_task_of_another_size_is_refused(saved: Path) -> None:
    (saved / "task.json").write_text(json.dumps(to_spec(EnasTask(5))))
    with pytest.raises(CheckpointError, match="does not fit the model"):
        dvae.load(saved)


def test_settings_with_an_unknown_or_misspelt_key_are_refused(saved: Path) -> None:
    settings = (saved / "model.toml").read_text()
    (saved / "model.toml").write_text("widht = 3\n" + settings)
    with pytest.raises(DvaeError, match="widht"):
        dvae.load(saved)
