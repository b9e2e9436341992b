"""Strategies of search: ask for DAGs, tell their scores."""

from dvae.strategies.archive import Archive, Evaluation
from dvae.strategies.base import Evolution, RandomSearch, Strategy
from dvae.strategies.gradient import GradientAscent, GradientConfig
from dvae.strategies.paper import PaperSearch, PaperSearchConfig
from dvae.strategies.registry import STRATEGIES, make_strategy
from dvae.strategies.trust_region import TrustRegion, TrustRegionConfig

__all__ = [
    "STRATEGIES",
    "Archive",
    "Evaluation",
    "Evolution",
    "GradientAscent",
    "GradientConfig",
    "PaperSearch",
    "PaperSearchConfig",
    "RandomSearch",
    "Strategy",
    "TrustRegion",
    "TrustRegionConfig",
    "make_strategy",
]
