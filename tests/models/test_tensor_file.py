"""What was written is what is read, to the last bit."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from dvae.errors import CheckpointError
from dvae.models.tensor_file import read_noted, read_tensors, write_tensors

TENSORS = {"a": torch.arange(5.0), "b.c": torch.tensor(3), "d": torch.zeros(0, 4), "e": torch.ones(3, dtype=torch.bool)}


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    write_tensors(path, TENSORS, {"state": '{"epoch": 3}'})
    assert read_noted(path, ("state",))[1] == {"state": '{"epoch": 3}'}
    whole = path.read_bytes()
    for position in range(len(whole)):
        for bit in (1, 128):
            damaged = bytearray(whole)
            damaged[position] ^= bit
            path.write_bytes(damaged)
            with pytest.raises(CheckpointError, match=r"damaged|not a whole"):
                read_noted(path, ("state",))


@pytest.mark.parametrize("notes", [None, {"format": "pt"}])
def test_files_without_a_digest_are_read(notes: dict | None, tmp_path: Path) -> None:
    save_file(TENSORS, tmp_path / "x", metadata=notes)
    assert torch.equal(read_tensors(tmp_path / "x")["a"], TENSORS["a"])


def test_half_precision_too(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x", {"a": torch.ones(3, dtype=torch.bfloat16), "b": torch.ones(2).half()})
    assert read_tensors(tmp_path / "x")["a"].dtype == torch.bfloat16
