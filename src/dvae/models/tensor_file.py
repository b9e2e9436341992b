"""Files of tensors: safetensors with a digest of all they hold, which is checked when they are read.

Files without one, which earlier versions wrote and other programs write, are read as they are.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from dvae.errors import CheckpointError, MissingError
from dvae.files import atomic_path

DIGEST = "sha256"
FOREIGN = "format"  # what other programs note beside tensors


def write_tensors(path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str] | None = None) -> None:
    """Writes tensors and notes, all or nothing."""
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    notes = dict(notes or {})
    with atomic_path(path) as temporary:
        try:
            save_file(kept, temporary, metadata={**notes, DIGEST: _digest(kept, notes)})
        except SafetensorError as error:
            raise _system_error(error, path) from None


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file."""
    return read_noted(path, ())[0]


def read_noted(
    path: Path, known: tuple[str, ...], kind: str = "safetensors file"
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a file and its notes, of which none may be called otherwise than `known`."""
    if not path.is_file():
        raise MissingError(f"{path} is not there")
    try:
        with safe_open(path, framework="pt") as file:
            notes = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError) as error:
        raise CheckpointError(f"{path} is not a whole {kind} ({_first_line(error)})") from None
    found = notes.pop(DIGEST, None)
    notes.pop(FOREIGN, None)
    if found is not None and found != _digest(tensors, notes):
        raise CheckpointError(
            f"{path} is damaged: its content is not what was written (the digest differs); take a copy of the file, or "
            "train again"
        )
    strange = next((name for name in notes if name not in known), None)
    if strange is not None:
        raise CheckpointError(f"{path} is not a file of this package, or damaged: it has the unknown note {strange!r}")
    return tensors, notes


def check_finite(tensors: Mapping[str, Tensor], where: object) -> None:
    """Refuses weights of a training that diverged."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise CheckpointError(
                f"{where} holds numbers that are not finite (in {name}): the training that wrote it diverged; train "
                "again with a lower learning rate"
            )


def _digest(tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> str:
    digest = hashlib.sha256(json.dumps(sorted(notes.items())).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"\0{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode("utf-8", "surrogatepass"))
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _system_error(error: SafetensorError, path: Path) -> OSError:
    """The error of the system, whose number safetensors has in its message."""
    found = re.search(r"os error (\d+)", str(error))
    number = int(found[1]) if found else errno.EIO
    return OSError(number, os.strerror(number), str(path))


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
