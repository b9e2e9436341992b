"""A small trained model, its task and scores."""

from __future__ import annotations

from functools import cache

from dvae.dag import Dag
from dvae.models import VAE, build
from dvae.runs import fit
from dvae.tasks import get


@cache
def small_model() -> VAE:
    """Of small Bayesian networks; tests must not change it."""
    task = get("asia")
    vae = build("dvae", task, seed=0, hidden=16, latent=6)
    fit(vae, task.sample(200, seed=0), epochs=2, progress=False, device="cpu", learning_rate=1e-2)
    return vae.eval()


def edges(dag: Dag) -> float:
    return float(len(dag.edges))
