"""Weights of the original implementation: taken whole or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dvae.compat import from_original, read_original
from dvae.errors import CheckpointError, MissingError
from dvae.tasks import BayesNetTask, EnasTask
from models.examples import MAX_NODES, NUM_TYPES
from models.oracle import KINDS, random_state

SIZES = {"num_types": NUM_TYPES, "max_nodes": MAX_NODES}


def state_of(name: str) -> dict[str, torch.Tensor]:
    return random_state(KINDS[name], hidden=5, latent=3, **SIZES)


@pytest.mark.parametrize("name", list(KINDS))
def test_sizes_and_precision_follow_from_the_weights(name: str) -> None:
    vae = from_original(name, state_of(name), **SIZES)
    assert (vae.config.hidden, vae.config.latent) == (5, 3)
    assert vae.config.noise_scale == 0.01
    assert vae.mean.weight.dtype == torch.float64
    single = {key: value.float() for key, value in state_of(name).items()}
    assert from_original(name, single, **SIZES).mean.weight.dtype == torch.float32


@pytest.mark.parametrize("name", list(KINDS))
def test_every_weight_that_is_used_must_be_there(name: str) -> None:
    state = state_of(name)
    unused = {key for key in state if "hv_unify" in key or ("backward" in key and name != "dvae")}
    for key in state:
        rest = {other: value for other, value in state.items() if other != key}
        if key in unused:
            from_original(name, rest, **SIZES)
        else:
            with pytest.raises(CheckpointError, match=f"lacks {key}"):
                from_original(name, rest, **SIZES)


@pytest.mark.parametrize("name", list(KINDS))
def test_an_unknown_weight_is_refused(name: str) -> None:
    with pytest.raises(CheckpointError, match=r"unknown surprise\.weight"):
        from_original(name, {**state_of(name), "surprise.weight": torch.zeros(2)}, **SIZES)


def test_weights_of_another_model_are_refused() -> None:
    with pytest.raises(CheckpointError):
        from_original("dvae_bn", state_of("dvae"), **SIZES)
    with pytest.raises(CheckpointError):
        from_original("dvae", state_of("dvae_unidirectional"), **SIZES)


@pytest.mark.parametrize("name", list(KINDS))
@pytest.mark.parametrize("key", ["grud.weight_hh", "add_edge.0.weight", "fc2.bias", "gate_forward.0.weight"])
def test_misshapen_weights_are_refused(name: str, key: str) -> None:
    state = state_of(name)
    state[key] = torch.zeros([size + 1 for size in state[key].shape], dtype=torch.float64)
    with pytest.raises(CheckpointError):
        from_original(name, state, **SIZES)


def test_weights_for_other_sizes_are_refused() -> None:
    with pytest.raises(CheckpointError):
        from_original("dvae", state_of("dvae"), num_types=NUM_TYPES + 1, max_nodes=MAX_NODES)
    with pytest.raises(CheckpointError):
        from_original("dvae", state_of("dvae"), num_types=NUM_TYPES, max_nodes=MAX_NODES + 1)
    with pytest.raises(CheckpointError, match="enas6 has 8 types and 8 nodes"):
        from_original("dvae", state_of("dvae"), **SIZES, task=EnasTask(6))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(CheckpointError, match="no original model 'pace'"):
        from_original("pace", {}, **SIZES)


def test_the_given_weights_are_not_touched() -> None:
    state = state_of("dvae")
    copy = {key: value.clone() for key, value in state.items()}
    vae = from_original("dvae", state, **SIZES)
    with torch.no_grad():
        for parameter in vae.parameters():
            parameter.fill_(7)
    assert state.keys() == copy.keys()
    assert all(torch.equal(state[key], copy[key]) for key in copy)


def test_with_a_task_graphs_are_wrapped_and_unwrapped() -> None:
    task = BayesNetTask("small", ("A", "B", "C"))
    sizes = {"num_types": 5, "max_nodes": 5}
    state = random_state(KINDS["dvae_bn"], hidden=5, latent=3, **sizes)
    vae = from_original("dvae_bn", state, **sizes, task=task)
    raw = from_original("dvae_bn", state, **sizes)
    dags = task.sample(6, seed=0)
    assert torch.equal(vae.encode(dags).mean, raw.encode(task.batch(dags)).mean)
    assert all(task.is_valid(dag) for dag in vae.decode(torch.zeros(5, 3), seed=0, valid=True))


def test_a_state_dict_file_is_read_without_running_code_in_it(tmp_path: Path) -> None:
    state = state_of("dvae")
    torch.save(state, tmp_path / "model.pth")
    read = read_original(tmp_path / "model.pth")
    assert read.keys() == state.keys()
    assert all(torch.equal(read[key], state[key]) for key in state)
    torch.save({"model": Path("surprise")}, tmp_path / "code.pth")
    (tmp_path / "text.pth").write_text("no weights")
    torch.save([torch.zeros(1)], tmp_path / "list.pth")
    torch.save({"epoch": 3}, tmp_path / "number.pth")
    for name in ("code.pth", "text.pth", "list.pth", "number.pth"):
        with pytest.raises(CheckpointError, match="not a plain state dict"):
            read_original(tmp_path / name)
    with pytest.raises(MissingError, match="is not there"):
        read_original(tmp_path / "nothing.pth")
