"""Runs: folders that hold a model and all that was done with it."""

from dvae.runs.config import RunConfig
from dvae.runs.run import Run
from dvae.runs.sampling import sample
from dvae.runs.training import fit

__all__ = ["Run", "RunConfig", "fit", "sample"]
