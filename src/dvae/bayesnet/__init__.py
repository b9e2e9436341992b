"""Bayesian networks: tables of data, scores of networks, structure learning."""

from dvae.bayesnet.bif import pgmpy_source, to_bif
from dvae.bayesnet.discrete import DiscreteData
from dvae.bayesnet.hill_climbing import ClimbedNetwork, hill_climb
from dvae.bayesnet.scores import NetworkScores
from dvae.bayesnet.structure import FoundNetwork, exact_in_order, exact_optimum
from dvae.bayesnet.tables import load_table

__all__ = [
    "ClimbedNetwork",
    "DiscreteData",
    "FoundNetwork",
    "NetworkScores",
    "exact_in_order",
    "exact_optimum",
    "hill_climb",
    "load_table",
    "pgmpy_source",
    "to_bif",
]
