"""Searching a space of DAGs: ask for DAGs, tell their scores."""

from dvae.search.archive import Archive, Evaluation
from dvae.search.strategies import Evolution, RandomSearch, Strategy
from dvae.search.trust_region import TrustRegion, TrustRegionConfig

__all__ = ["Archive", "Evaluation", "Evolution", "RandomSearch", "Strategy", "TrustRegion", "TrustRegionConfig"]
