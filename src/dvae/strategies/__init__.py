"""Strategies of search: ask for DAGs, tell their scores."""

from dvae.strategies.archive import Archive
from dvae.strategies.base import Drawing, Strategy
from dvae.strategies.evolution import Evolution
from dvae.strategies.gradient import GradientAscent, GradientConfig
from dvae.strategies.latent_evolution import LatentEvolution, LatentEvolutionConfig
from dvae.strategies.many_objectives import ManyObjectives
from dvae.strategies.objectives import Constraint, Objectives
from dvae.strategies.paper import PaperSearch, PaperSearchConfig
from dvae.strategies.random import RandomSearch
from dvae.strategies.registry import STRATEGIES, StrategyEntry, make_strategy
from dvae.strategies.trust_region import TrustRegion, TrustRegionConfig

__all__ = [
    "STRATEGIES",
    "Archive",
    "Constraint",
    "Drawing",
    "Evolution",
    "GradientAscent",
    "GradientConfig",
    "LatentEvolution",
    "LatentEvolutionConfig",
    "ManyObjectives",
    "Objectives",
    "PaperSearch",
    "PaperSearchConfig",
    "RandomSearch",
    "Strategy",
    "StrategyEntry",
    "TrustRegion",
    "TrustRegionConfig",
    "make_strategy",
]
