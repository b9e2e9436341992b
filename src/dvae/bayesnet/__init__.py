"""Bayesian networks: tables of data, scores of networks, structure learning."""

from dvae.bayesnet.algorithms import ALGORITHMS, Exact, HillClimbing, Tabu
from dvae.bayesnet.bif import pgmpy_source, to_bif
from dvae.bayesnet.columns import Column
from dvae.bayesnet.discrete import DiscreteData
from dvae.bayesnet.families import FamilyScores, families
from dvae.bayesnet.hill_climbing import ClimbedNetwork, hill_climb
from dvae.bayesnet.knowledge import Constraints, Knowledge
from dvae.bayesnet.learning import Learned, learn
from dvae.bayesnet.memetic import Memetic
from dvae.bayesnet.scores import NetworkScores
from dvae.bayesnet.search import Algorithm, Search
from dvae.bayesnet.structure import FoundNetwork, exact_in_order, exact_optimum
from dvae.bayesnet.table import Table
from dvae.bayesnet.tables import load_table

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "ClimbedNetwork",
    "Column",
    "Constraints",
    "DiscreteData",
    "Exact",
    "FamilyScores",
    "FoundNetwork",
    "HillClimbing",
    "Knowledge",
    "Learned",
    "Memetic",
    "NetworkScores",
    "Search",
    "Table",
    "Tabu",
    "exact_in_order",
    "exact_optimum",
    "families",
    "hill_climb",
    "learn",
    "load_table",
    "pgmpy_source",
    "to_bif",
]
