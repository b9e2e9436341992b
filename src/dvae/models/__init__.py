"""Models: encoders and decoders of DAGs, put together by name."""

from dvae.models.config import ModelConfig
from dvae.models.vae import VAE, Losses, Posterior
from dvae.models.zoo import build, load

__all__ = ["VAE", "Losses", "ModelConfig", "Posterior", "build", "load"]
