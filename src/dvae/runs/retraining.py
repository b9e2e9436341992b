"""How a run's model is trained on during a search."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from dvae.config import replace
from dvae.dag import Dag
from dvae.models import VAE
from dvae.studies.retraining import Train
from dvae.training import TrainingConfig
from dvae.training import fit as train

FOLDER = "retrained"


def trainer(config: TrainingConfig, device: str = "auto") -> Train:
    """Trains a model once over the DAGs it is given, with the settings of `config`."""

    def train_on(vae: VAE, dags: Sequence[Dag], seed: int) -> None:
        once = replace(config, epochs=1, seed=seed, time_budget=None, early_stop=None, tensorboard=False)
        result = train(vae, dags, config=once, device=device, progress=False)
        if result.ended == "interrupted":  # half-trained weights must not pass for retrained ones
            raise KeyboardInterrupt

    return train_on


def retrained_folder(run: Path, study: str) -> Path:
    """Where the weights of a study are kept: in the run, under a name that every file system takes."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", study)
    if plain == study and len(study) <= 80:
        return run / FOLDER / study
    return run / FOLDER / f"{plain[:60]}-{hashlib.sha256(study.encode()).hexdigest()[:8]}"
