"""Bayesian networks: tables of data, scores, structure learning, and the use of what was learned."""

from dvae.bayesnet.algorithms import ALGORITHMS, Exact, HillClimbing, Tabu
from dvae.bayesnet.bif import bif_text, pgmpy_source, to_bif
from dvae.bayesnet.bif_reader import parse_bif, read_bif
from dvae.bayesnet.bootstrapping import LearnOptions, averaged_network, bootstrap, replicates_done
from dvae.bayesnet.columns import Column
from dvae.bayesnet.comparison import Comparison, Mean, accuracy, compare, row_log_likelihoods
from dvae.bayesnet.confidence import Confidence, EdgeConfidence, read_confidence, write_confidence
from dvae.bayesnet.discrete import DiscreteData
from dvae.bayesnet.equivalence import Cpdag, cpdag_of, network_class, structural_hamming_distance
from dvae.bayesnet.families import FamilyScores, families
from dvae.bayesnet.hill_climbing import ClimbedNetwork, hill_climb
from dvae.bayesnet.inference import Belief, Inference, NumberBelief, StateShares, query
from dvae.bayesnet.knowledge import Constraints, Knowledge
from dvae.bayesnet.learning import Learned, learn
from dvae.bayesnet.memetic import Memetic
from dvae.bayesnet.network import LinearGaussian, Network, ProbabilityTable, Variable
from dvae.bayesnet.network_file import read_network, write_network
from dvae.bayesnet.parameter_table import ParameterTable, parameter_table
from dvae.bayesnet.parameters import fit, log_likelihoods
from dvae.bayesnet.pgmpy_models import from_pgmpy, to_pgmpy
from dvae.bayesnet.prediction import Prediction, predict
from dvae.bayesnet.rows import Rows
from dvae.bayesnet.sampling import sample
from dvae.bayesnet.scores import NetworkScores
from dvae.bayesnet.search import Algorithm, Search
from dvae.bayesnet.structure import FoundNetwork, exact_in_order, exact_optimum
from dvae.bayesnet.table import Table
from dvae.bayesnet.tables import load_table
from dvae.bayesnet.validation import CrossValidation, cross_validate, edge_strengths

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Belief",
    "ClimbedNetwork",
    "Column",
    "Comparison",
    "Confidence",
    "Constraints",
    "Cpdag",
    "CrossValidation",
    "DiscreteData",
    "EdgeConfidence",
    "Exact",
    "FamilyScores",
    "FoundNetwork",
    "HillClimbing",
    "Inference",
    "Knowledge",
    "LearnOptions",
    "Learned",
    "LinearGaussian",
    "Mean",
    "Memetic",
    "Network",
    "NetworkScores",
    "NumberBelief",
    "ParameterTable",
    "Prediction",
    "ProbabilityTable",
    "Rows",
    "Search",
    "StateShares",
    "Table",
    "Tabu",
    "Variable",
    "accuracy",
    "averaged_network",
    "bif_text",
    "bootstrap",
    "compare",
    "cpdag_of",
    "cross_validate",
    "edge_strengths",
    "exact_in_order",
    "exact_optimum",
    "families",
    "fit",
    "from_pgmpy",
    "hill_climb",
    "learn",
    "load_table",
    "log_likelihoods",
    "network_class",
    "parameter_table",
    "parse_bif",
    "pgmpy_source",
    "predict",
    "query",
    "read_bif",
    "read_confidence",
    "read_network",
    "replicates_done",
    "row_log_likelihoods",
    "sample",
    "structural_hamming_distance",
    "to_bif",
    "to_pgmpy",
    "write_confidence",
    "write_network",
]
