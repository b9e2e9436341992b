"""Every strategy by name: built-in, of installed packages (entry points `dvae.strategies`), `package.module:name`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from dvae.errors import ConfigError
from dvae.models import VAE
from dvae.registry import Registry
from dvae.strategies.archive import Archive
from dvae.strategies.base import Strategy
from dvae.strategies.evolution import Evolution
from dvae.strategies.gradient import GradientAscent
from dvae.strategies.latent_evolution import LatentEvolution
from dvae.strategies.paper import PaperSearch
from dvae.strategies.random import RandomSearch
from dvae.strategies.trust_region import TrustRegion, TrustRegionConfig

LATENTS_ONLY = TrustRegionConfig(edits=0, process="latents")
DEFAULT = "trust-region"
METHODS = ("ask", "tell", "state", "restore")


@dataclass(frozen=True)
class StrategyEntry:
    """A strategy as a search takes it: how one is made, and whether it needs scored DAGs to start from."""

    name: str
    maker: Callable[..., Any]  # called with (vae, archive, seed=...)
    description: str = ""
    needs_start: bool = True

    def make(self, vae: VAE, archive: Archive, *, seed: int = 0) -> Strategy:
        """The strategy for a model, checked to have all methods of one."""
        made: Strategy = self.maker(vae, archive, seed=seed)
        missing = [method for method in METHODS if not callable(getattr(made, method, None))]
        if missing:
            raise ConfigError(
                f"the strategy {self.name!r} has no method {' or '.join(missing)}; a strategy has {', '.join(METHODS)}"
            )
        return made


def _entry(name: str, thing: Any) -> StrategyEntry:
    if isinstance(thing, StrategyEntry):
        return thing
    if not callable(thing):
        raise ConfigError(f"the strategy {name!r} is {type(thing).__name__}, not a class (vae, archive, *, seed)")
    described = thing.func if isinstance(thing, partial) else thing
    first_line = next(iter((described.__doc__ or "").strip().splitlines()), "")
    description = str(getattr(described, "description", first_line))
    return StrategyEntry(name, thing, description, bool(getattr(described, "needs_start", True)))


STRATEGIES: Registry[StrategyEntry] = Registry("strategy", "dvae.strategies", _entry)
STRATEGIES.register("trust-region", TrustRegion)
STRATEGIES.register(
    "trust-region-latents",
    StrategyEntry(
        "trust-region-latents",
        partial(TrustRegion, config=LATENTS_ONLY),
        "the same, over nothing but what latents decode to, with a process on latents",
    ),
)
STRATEGIES.register("paper", PaperSearch)
STRATEGIES.register("gradient", GradientAscent)
STRATEGIES.register("random", RandomSearch)
STRATEGIES.register("evolution", Evolution)
STRATEGIES.register("latent-evolution", LatentEvolution)


def make_strategy(strategy: Any, vae: VAE, archive: Archive, *, seed: int = 0) -> Strategy:
    """A strategy from its name or its class."""
    return STRATEGIES.resolve(strategy)[1].make(vae, archive, seed=seed)
