"""Chains of element-wise operations as one kernel, where a compiler for the device is at hand."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Generic, ParamSpec, TypeVar, cast

import torch
import torch.compiler.config
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")

MAX_SHAPES = 512

_allowed = [True]  # the latest wish; of the process, since backward passes run in threads of their own


@contextlib.contextmanager
def fusing(allowed: bool) -> Iterator[None]:
    """Whether functions are compiled: it takes seconds each, which short work does not give back."""
    _allowed.append(allowed)
    try:
        yield
    finally:
        _allowed.pop()


@functools.cache
def _compiler_is_there() -> bool:
    return importlib.util.find_spec("triton") is not None


def _is_wanted(static: bool) -> bool:
    """`DVAE_FUSE`: 0 never, 1 (the default) in long trainings, 2 always."""
    wish = os.environ.get("DVAE_FUSE", "1")
    return wish == "2" or (wish != "0" and static and _allowed[-1])


class Fused(Generic[P, R]):
    """A function of tensors that runs as one kernel on a CUDA device; elsewhere it runs as written.

    Called directly it is compiled once for all shapes; `static` compiles it anew, and better, for every shape. No
    gradient goes through either: such functions are used inside of written-out backward passes.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._run(False, *args, **kwargs)

    def static(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._run(True, *args, **kwargs)

    def when(self, static: bool) -> Callable[P, R]:
        return self.static if static else self.__call__

    def _run(self, static: bool, *args: P.args, **kwargs: P.kwargs) -> R:
        if not (isinstance(args[0], Tensor) and args[0].is_cuda and _is_wanted(static) and _compiler_is_there()):
            return self.function(*args, **kwargs)
        compiled = self._static if static else self._dynamic
        tensors = [argument.detach() if isinstance(argument, Tensor) else argument for argument in args]
        with torch.compiler.config.patch(recompile_limit=MAX_SHAPES):  # type: ignore[attr-defined]
            return compiled(*tensors, **kwargs)

    @functools.cached_property
    def _static(self) -> Callable[..., R]:
        return torch.compile(_twin(self.function), dynamic=False)

    @functools.cached_property
    def _dynamic(self) -> Callable[..., R]:
        return torch.compile(_twin(self.function), dynamic=True)


def fused(function: Callable[P, R]) -> Fused[P, R]:
    return Fused(function)


def _twin(function: Callable[P, R]) -> Callable[P, R]:
    """The same function with a code object of its own: compiled kernels are kept by code object."""
    original = cast(FunctionType, function)
    return cast(Callable[P, R], FunctionType(original.__code__.replace(), original.__globals__, original.__name__))
