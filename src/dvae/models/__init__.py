"""Models: encoders and decoders of DAGs, put together by name or from parts of one's own (`dvae.models.parts`)."""

from dvae.models.aggregation import SumAggregation
from dvae.models.assembly import build, load
from dvae.models.catalogue import MODELS
from dvae.models.config import ModelConfig, model_config
from dvae.models.kernels.aligned import AlignedLinear
from dvae.models.parts import DecoderModule, Plan, Sampling
from dvae.models.registry import AGGREGATIONS, DECODERS, ENCODERS, READOUTS
from dvae.models.vae import VAE, Losses, Posterior

__all__ = [
    "AGGREGATIONS",
    "DECODERS",
    "ENCODERS",
    "MODELS",
    "READOUTS",
    "VAE",
    "AlignedLinear",
    "DecoderModule",
    "Losses",
    "ModelConfig",
    "Plan",
    "Posterior",
    "Sampling",
    "SumAggregation",
    "build",
    "load",
    "model_config",
]
