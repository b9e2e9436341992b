"""Where to compute: the one answer to `auto`, `cpu` and `cuda`."""

from __future__ import annotations

from dvae.errors import DeviceError

DEVICES = ("auto", "cpu", "cuda")


def available_device(device: str) -> str:
    """The torch device that a choice means on this machine; `auto` is a GPU where there is one."""
    import torch

    if device not in DEVICES:
        raise DeviceError(f"the device is {', '.join(DEVICES[:-1])} or {DEVICES[-1]}, not {device!r}")
    if device == "cuda" and not torch.cuda.is_available():
        raise DeviceError("there is no CUDA device here; use --device cpu")
    return "cuda" if device != "cpu" and torch.cuda.is_available() else "cpu"
