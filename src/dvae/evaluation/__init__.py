"""How good a model is: functions that measure and return values."""

from dvae.evaluation.intervals import Estimate, clustered_proportion, mean_estimate, wilson
from dvae.evaluation.onehot import one_hot_features
from dvae.evaluation.predictivity import Predictivity, PredictivityRow, predictivity
from dvae.evaluation.prior import PriorSamples, prior_samples
from dvae.evaluation.reconstruction import Reconstruction, reconstruction
from dvae.evaluation.report import CPU_TEST_LIMIT, Evaluation, evaluate

__all__ = [
    "CPU_TEST_LIMIT",
    "Estimate",
    "Evaluation",
    "Predictivity",
    "PredictivityRow",
    "PriorSamples",
    "Reconstruction",
    "clustered_proportion",
    "evaluate",
    "mean_estimate",
    "one_hot_features",
    "predictivity",
    "prior_samples",
    "reconstruction",
    "wilson",
]
