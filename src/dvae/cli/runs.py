"""Names that commands still use; they live in `dvae.runs`."""

from __future__ import annotations

from pathlib import Path

from dvae.models import VAE
from dvae.runs import Run, RunConfig
from dvae.runs.config import FILE, write_config
from dvae.runs.config import read_config as read
from dvae.runs.run import CHECKPOINT, check_free

__all__ = ["CHECKPOINT", "FILE", "RunConfig", "check_free", "load_model", "read", "write"]


def write(run: Path, config: RunConfig) -> None:
    write_config(run, config)


def load_model(run: Path, device: str) -> VAE:
    return Run.open(run).model(device)
