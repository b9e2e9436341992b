"""What the kernels take from torch is public, so that a new version of it does not break them without a word."""

from __future__ import annotations

import re
from pathlib import Path

import torch
import torch.compiler.config

import dvae.models


def test_no_private_part_of_torch_is_used() -> None:
    folder = Path(dvae.models.__file__).parent
    private = [
        f"{path.relative_to(folder)}: {found[0]}"
        for path in sorted(folder.rglob("*.py"))
        for found in re.finditer(r"torch(\.\w+)*\._[a-z]\w*", path.read_text(encoding="utf-8"))
    ]
    assert private == []


def test_the_compiler_can_be_told_how_many_shapes_to_expect() -> None:
    """`kernels.fuse` sets this; without it a CUDA device falls back to slow kernels after eight shapes."""
    assert "recompile_limit" in torch.compiler.config.__all__, "torch renamed recompile_limit: change kernels/fuse.py"
    before = torch.compiler.config.recompile_limit
    with torch.compiler.config.patch(recompile_limit=before + 1):
        assert torch.compiler.config.recompile_limit == before + 1
    assert torch.compiler.config.recompile_limit == before
