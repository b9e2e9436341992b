"""Where to compute: the one answer to `auto`, `cpu` and `cuda`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dvae.errors import DeviceError

if TYPE_CHECKING:
    import torch

DEVICES = ("auto", "cpu", "cuda")
OUT_OF_MEMORY = ("not enough memory", "can't allocate memory", "out of memory", "ALLOC_FAILED")  # as torch has it


def available_device(device: str) -> str:
    """The torch device that a choice means on this machine; `auto` is a GPU where there is one."""
    import torch

    if device not in DEVICES:
        raise DeviceError(f"the device is {', '.join(DEVICES[:-1])} or {DEVICES[-1]}, not {device!r}")
    if device == "cuda" and not torch.cuda.is_available():
        raise DeviceError("there is no CUDA device here; use --device cpu")
    return "cuda" if device != "cpu" and torch.cuda.is_available() else "cpu"


def free_memory(device: torch.device) -> int | None:
    """Bytes that are free on a device, where the system says so."""
    import torch

    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        known = {name: value.split()[0] for name, _, value in (line.partition(":") for line in lines)}
        return int(known["MemAvailable"]) * 1024
    except (OSError, KeyError, IndexError, ValueError):
        return _all_memory()


def _all_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def lacks_memory(error: BaseException) -> bool:
    """Whether an error says that a device has no memory left."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in OUT_OF_MEMORY)
