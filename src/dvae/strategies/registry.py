"""Every strategy by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dvae.errors import ConfigError
from dvae.models import VAE
from dvae.strategies.archive import Archive
from dvae.strategies.base import Evolution, RandomSearch, Strategy
from dvae.strategies.gradient import GradientAscent
from dvae.strategies.paper import PaperSearch
from dvae.strategies.trust_region import TrustRegion, TrustRegionConfig

LATENTS_ONLY = TrustRegionConfig(edits=0, process="latents")


class Entry(NamedTuple):
    make: Callable[[VAE, Archive, int], Strategy]
    says: str
    needs_start: bool = True  # scored DAGs, before anything can be asked


STRATEGIES = {
    "trust-region": Entry(
        lambda vae, archive, seed: TrustRegion(vae, archive, seed=seed),
        "Bayesian optimisation near the best DAGs, over what really decodes: the default",
    ),
    "trust-region-latents": Entry(
        lambda vae, archive, seed: TrustRegion(vae, archive, seed=seed, config=LATENTS_ONLY),
        "the same, over nothing but what latents decode to, with a process on latents",
    ),
    "paper": Entry(
        lambda vae, archive, seed: PaperSearch(vae, archive, seed=seed),
        "the paper's: sparse GP, expected improvement, Kriging Believer, the whole box",
    ),
    "gradient": Entry(
        lambda vae, archive, seed: GradientAscent(vae, archive, seed=seed),
        "ascent on a network that predicts scores from latents",
    ),
    "random": Entry(
        lambda vae, archive, seed: RandomSearch(vae, archive, seed=seed),
        "decodings of the model's prior",
        needs_start=False,
    ),
    "evolution": Entry(
        lambda vae, archive, seed: Evolution(archive, seed=seed),
        "regularised evolution on the DAGs themselves, no model: the honest rival",
    ),
}
DEFAULT = "trust-region"


def make_strategy(name: str, vae: VAE, archive: Archive, *, seed: int = 0) -> Strategy:
    return entry(name).make(vae, archive, seed)


def entry(name: str) -> Entry:
    if name not in STRATEGIES:
        raise ConfigError(f"there is no strategy {name!r}; there are {', '.join(STRATEGIES)}")
    return STRATEGIES[name]
