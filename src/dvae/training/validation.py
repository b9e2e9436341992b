"""How well a model does on DAGs that it is not trained on. Nothing here draws random numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from dvae.dag import DagBatch
from dvae.models.storage import distinct_state, load_distinct_state
from dvae.models.tensor_file import read_tensors, write_tensors
from dvae.models.vae import VAE

BEST = "best.safetensors"
COLUMN = "validation_loss"  # of the history, by which the best epoch is chosen


@dataclass(frozen=True)
class ValidationLosses:
    """Means over validation DAGs at the means of their posteriors, and the share that greedy decoding gives back."""

    loss: float
    nll: float
    kl: float
    reconstruction: float | None

    def row(self) -> dict[str, float]:
        """The values as columns of the history."""
        columns = {COLUMN: self.loss, "validation_nll": self.nll, "validation_kl": self.kl}
        return columns if self.reconstruction is None else columns | {"validation_reconstruction": self.reconstruction}


@torch.no_grad()
def validation_losses(vae: VAE, batch: DagBatch, decodings: int) -> ValidationLosses:
    """Both losses over all of `batch`, and reconstruction over its first `decodings` DAGs."""
    posterior = vae.encode(batch)
    nll = float(vae.reconstruction_nll(batch, posterior.mean).double().mean())
    kl = float(posterior.kl().double().mean())
    share = None
    if decodings:
        some = batch.select(slice(0, decodings))
        given = None if vae.conditions is None else vae.conditions.of(some.to(vae.device))
        keys = vae.task.keys(some)
        decoded = vae.task.keys(vae.decode_batch(posterior.mean[:decodings], greedy=True, given=given))
        share = sum(one == other for one, other in zip(keys, decoded, strict=True)) / len(keys)
    return ValidationLosses(nll + vae.config.kl_weight * kl, nll, kl, share)


def save_best(folder: Path, vae: VAE) -> None:
    """Keeps the weights and statistics of `vae` as the best of the run."""
    write_tensors(folder / BEST, distinct_state(vae))


def load_best(vae: VAE, run: str | Path) -> VAE:
    """Puts the weights with the lowest validation loss of a run into `vae`, and returns it."""
    path = Path(run) / BEST
    with torch.no_grad():
        load_distinct_state(vae, read_tensors(path), path)
    return vae
