"""What every measurement of a model shares: evaluation mode, blocks that fit memory and time, seeds, reading back."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from dvae.config import from_mapping
from dvae.dag import Dag, DagBatch
from dvae.errors import ConfigError, FormatError
from dvae.models import VAE

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

# Nodes decoded at a time. A node's states take about 12 kB at the paper's sizes; a decoder that shares the
# work of equal copies needs less, but not for a model that has learned nothing.
NODES_AT_ONCE = {"cpu": 1 << 16, "cuda": 1 << 21}
SEED_LIMIT = 2**63 - 1
MIN_GRAPHS, MIN_LATENTS = 10, 10  # measured however little time there is
FIRST_BLOCK = 4  # items that show how many more fit in the time


@contextmanager
def evaluation_mode(vae: VAE) -> Iterator[None]:
    """Dropout and its like are off inside the block; every module is as it was afterwards."""
    training = [module for module in vae.modules() if module.training]
    vae.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def as_batch(vae: VAE, dags: Sequence[Dag] | DagBatch) -> DagBatch:
    """A model's DAGs, padded as its decodings are."""
    return dags.padded(vae.task.max_nodes) if isinstance(dags, DagBatch) else vae.task.batch(dags)


def block_size(vae: VAE, decodings: int) -> int:
    """How many items, decoded `decodings` times each, go through the decoder at a time."""
    nodes = NODES_AT_ONCE.get(vae.device.type, NODES_AT_ONCE["cpu"])
    return max(1, nodes // (vae.task.max_nodes * decodings))


def blocks(total: int, size: int, seconds: float | None, minimum: int) -> Iterator[slice]:
    """Consecutive slices of `total` items, at most `size` each.

    With `seconds`, as many items as fit in that time, judged by those before them, but at least `minimum`.
    """
    started, done = time.monotonic(), 0
    take = size if seconds is None else min(size, FIRST_BLOCK)
    while done < total:
        end = min(done + take, total)
        yield slice(done, end)
        done = end
        if seconds is not None:
            spent = time.monotonic() - started
            fitting = max(int((seconds - spent) * done / max(spent, 1e-9)), minimum - done)
            if fitting < 1:
                return
            take = min(size, 2 * take, fitting)


def read_value(cls: type[T], mapping: Mapping[str, Any], where: str, **parts: object) -> T:
    """A measured value from its mapping, with `parts` in place of some fields; keys that are not fields are ignored."""
    names = {field.name for field in dataclasses.fields(cls)}
    if not isinstance(mapping, Mapping):
        raise FormatError(f"{where}: expected an object")
    try:
        return from_mapping(cls, {key: value for key, value in {**mapping, **parts}.items() if key in names}, where)
    except ConfigError as error:
        raise FormatError(str(error)) from None


def next_seed(generator: torch.Generator) -> int:
    """A fresh seed for a decoding, drawn from `generator`."""
    return int(torch.randint(SEED_LIMIT, (), generator=generator))
