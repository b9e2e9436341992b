"""Chains of element-wise operations as one kernel, where a compiler for the device is at hand."""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")


@functools.cache
def _compiler_is_there() -> bool:
    return importlib.util.find_spec("triton") is not None and os.environ.get("DVAE_FUSE", "1") != "0"


def fused(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, compiled into one kernel for CUDA tensors; on the CPU and without Triton it runs as written."""
    compiled: list[Callable[P, R]] = []

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        first = args[0]
        if not (isinstance(first, Tensor) and first.is_cuda and _compiler_is_there()):
            return function(*args, **kwargs)
        if not compiled:
            compiled.append(torch.compile(function, dynamic=None))
        return compiled[0](*args, **kwargs)

    return call
