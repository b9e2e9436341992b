"""Ask for DAGs, tell their scores: every way of searching behind one interface.

A strategy never proposes a DAG that was scored or proposed before (its archive sees to that), and it learns only what
it is told. It may be told of DAGs it did not propose: scored training data are a warm start.
"""

from __future__ import annotations

import base64
import importlib.util
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

from dvae.dag import Dag, ScoredDag
from dvae.errors import MissingError
from dvae.extras import missing
from dvae.models import VAE
from dvae.strategies.archive import Archive

ATTEMPTS = 50  # rounds of drawing before a strategy says that it finds nothing new


class Strategy(Protocol):
    """What a search needs of a strategy; a class of one is called with `(vae, archive, *, seed)`.

    The class may also have `needs_start` (default True: scored DAGs must be told before anything can be asked) and
    `description` (one line).
    """

    def ask(self, count: int) -> list[Dag]:
        """At most `count` valid DAGs that nobody has proposed (`archive.take`); fewer only if it finds no more."""
        ...

    def tell(self, evaluations: Iterable[ScoredDag]) -> None:
        """Learns scores, higher is better (None: scoring failed), and adds them to the archive (`archive.add`)."""
        ...

    def state(self) -> dict[str, Any]:
        """Plain values that, with all that was told, are enough to go on from here in another process."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Takes up a `state`, after having been told all that was told before it."""
        ...


class Drawing:
    """What strategies that draw at random have in common: an archive, a generator, and a state that holds it."""

    def __init__(self, archive: Archive, seed: int) -> None:
        self.archive = archive
        self.generator = torch.Generator().manual_seed(seed)

    def tell(self, evaluations: Iterable[ScoredDag]) -> None:
        """Adds scores to the archive."""
        self.archive.add(evaluations)

    def state(self) -> dict[str, Any]:
        """The generator's state."""
        return {"generator": base64.b64encode(bytes(self.generator.get_state().tolist())).decode()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Takes up the generator's state."""
        values = list(base64.b64decode(state["generator"]))
        self.generator.set_state(torch.tensor(values, dtype=torch.uint8))


def check_botorch(purpose: str) -> None:
    """Raises `MissingError` where BoTorch is not installed."""
    if importlib.util.find_spec("botorch") is None:
        needed = missing("botorch", "search", purpose)
        raise MissingError(f"{needed} (evolution, gradient and random need nothing more)")


def decoded_dags(vae: VAE, latents: Tensor, *, greedy: bool = False, seed: int | None = None) -> list[Dag]:
    """Valid DAGs that latents decode to: the task's rules are kept while decoding."""
    batch = vae.decode_batch(latents, greedy=greedy, seed=seed, valid=True)
    return vae.task.unbatch(batch.select(vae.task.valid(batch)))


def draw_below(limit: int, generator: torch.Generator) -> int:
    """A random integer from 0 to `limit` - 1."""
    return int(torch.randint(limit, (1,), generator=generator))


def draw_seed(generator: torch.Generator) -> int:
    """A seed for something that has a generator of its own."""
    return int(torch.randint(2**62, (1,), generator=generator))
