"""How good a model is: functions that measure and return values."""

from dvae.evaluation.closeness import Closeness, edit_distance
from dvae.evaluation.distances import Distances, distances
from dvae.evaluation.generation import Generation, generate, judge_generation
from dvae.evaluation.intervals import Estimate, clustered_proportion, mean_estimate, wilson
from dvae.evaluation.planes import Plane, principal_axes, principal_plane, random_plane
from dvae.evaluation.prediction import Prediction, Predictor, fit_predictor
from dvae.evaluation.predictivity import Predictivity, PredictivityRow, one_hot_predictivity, predictivity
from dvae.evaluation.prior import PriorSamples, prior_samples
from dvae.evaluation.reconstruction import Reconstruction, reconstruction
from dvae.evaluation.report import CPU_TEST_LIMIT, Evaluation, evaluate
from dvae.evaluation.smoothness import Smoothness, smoothness
from dvae.evaluation.surrogate import Agreement, Surrogate, SurrogateSettings, fit_surrogate
from dvae.evaluation.walks import great_circle, typical_distance
from dvae.regression.features import one_hot_features

__all__ = [
    "CPU_TEST_LIMIT",
    "Agreement",
    "Closeness",
    "Distances",
    "Estimate",
    "Evaluation",
    "Generation",
    "Plane",
    "Prediction",
    "Predictivity",
    "PredictivityRow",
    "Predictor",
    "PriorSamples",
    "Reconstruction",
    "Smoothness",
    "Surrogate",
    "SurrogateSettings",
    "clustered_proportion",
    "distances",
    "edit_distance",
    "evaluate",
    "fit_predictor",
    "fit_surrogate",
    "generate",
    "great_circle",
    "judge_generation",
    "mean_estimate",
    "one_hot_features",
    "one_hot_predictivity",
    "predictivity",
    "principal_axes",
    "principal_plane",
    "prior_samples",
    "random_plane",
    "reconstruction",
    "smoothness",
    "typical_distance",
    "wilson",
]
