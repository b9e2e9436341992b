"""All of the paper's Table 1 for one model, and the two losses, as one value."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import torch

from dvae import provenance
from dvae.config import check, to_mapping
from dvae.dag import Dag, DagBatch, Dataset
from dvae.evaluation.common import evaluation_mode
from dvae.evaluation.intervals import Estimate, mean_estimate
from dvae.evaluation.prior import PRIOR_DECODINGS, PRIOR_LATENTS, PriorSamples, prior_samples
from dvae.evaluation.reconstruction import DECODINGS, ENCODINGS, Reconstruction, reconstruction
from dvae.models import VAE

CPU_TEST_LIMIT = 2000  # holds the 1,902 of ENAS in full; of the 20,000 of BN it takes a tenth


@dataclass(frozen=True)
class Evaluation:
    """What was measured, on what, and how."""

    model: str
    task: str
    data: str
    posterior: Reconstruction
    mean: Reconstruction
    greedy: Reconstruction  # greedy decoding of the mean
    prior: PriorSamples
    nll: Estimate  # -log p(G | z) of a test graph at z = mean, in nats
    kl: Estimate  # KL(q(z | G) || N(0, I)) of a test graph, unweighted
    train_graphs: int
    test_graphs: int  # how many were measured ...
    test_size: int  # ... of how many there are
    seed: int
    device: str
    seconds: float
    provenance: Mapping[str, object]

    @property
    def subsampled(self) -> bool:
        return self.test_graphs < self.test_size

    @property
    def protocol(self) -> str:
        """How the numbers came about, in words."""
        test = f"all {self.test_size:,} test graphs"
        if self.subsampled:
            test = f"a random {self.test_graphs:,} of {self.test_size:,} test graphs (seed {self.seed})"
        drawn, prior = self.posterior, self.prior
        return (
            f"Reconstruction on {test}. "
            f"Posterior: {drawn.encodings} latents from q(z|G) with its own deviation, {drawn.decodings} "
            f"sampled decodings of each. Mean: {self.mean.decodings} sampled decodings of it; greedy: one. "
            f"Prior: {prior.latents:,} latents z * std + mean of the training set's posterior means "
            f"({prior.statistics}), {prior.decodings} sampled decodings of each, no decoding rules; "
            f"uniqueness and novelty over the valid ones. "
            f"Intervals are 95%, over graphs or latents, not decodings."
        )

    def rows(self) -> list[tuple[str, Estimate | None]]:
        """The numbers by name, in the order of the paper's Table 1; None where nothing could be measured."""
        return [
            ("reconstruction, posterior", self.posterior.share),
            ("reconstruction, mean", self.mean.share),
            ("reconstruction, mean, greedy", self.greedy.share),
            ("prior validity", self.prior.validity),
            ("prior uniqueness", self.prior.uniqueness),
            ("prior novelty", self.prior.novelty),
            ("negative log-likelihood at the mean", self.nll),
            ("KL divergence", self.kl),
        ]

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        parts = ("posterior", "mean", "greedy", "prior", "nll", "kl")
        facts = (
            "train_graphs",
            "test_graphs",
            "test_size",
            "subsampled",
            "seed",
            "device",
            "seconds",
            "protocol",
        )
        return {
            "model": self.model,
            "task": self.task,
            "data": self.data,
            **{name: getattr(self, name).to_mapping() for name in parts},
            **{name: getattr(self, name) for name in facts},
            "provenance": dict(self.provenance),
        }


def evaluate(
    vae: VAE,
    data: Dataset,
    *,
    test_limit: int | None = None,
    encodings: int = ENCODINGS,
    decodings: int = DECODINGS,
    prior_latents: int = PRIOR_LATENTS,
    prior_decodings: int = PRIOR_DECODINGS,
    recompute: bool = False,
    seed: int = 0,
    progress: bool | None = None,
) -> Evaluation:
    """Measures `vae` on the test part of `data`; novelty is against the training part.

    `test_limit` graphs of the test set are drawn with `seed`. Without one, all are measured on CUDA, and at
    most `CPU_TEST_LIMIT` elsewhere. `recompute` is that of `prior_samples`.
    """
    started = time.monotonic()
    test = vae.task.batch(_chosen(data, _limit(vae, test_limit), seed))
    train = vae.task.batch(data.train.dags)
    measure = partial(reconstruction, vae, test, encodings=encodings, decodings=decodings, seed=seed, progress=progress)
    posterior, mean, greedy = (
        measure(mode="posterior"),
        measure(mode="mean"),
        measure(mode="mean", greedy=True),
    )
    prior = prior_samples(
        vae, train, latents=prior_latents, decodings=prior_decodings, seed=seed, recompute=recompute,
        progress=progress,
    )  # fmt: skip
    nll, kl = _losses(vae, test)
    return Evaluation(
        model=vae.config.name,
        task=vae.task.name,
        data=data.name,
        posterior=posterior,
        mean=mean,
        greedy=greedy,
        prior=prior,
        nll=nll,
        kl=kl,
        train_graphs=len(train),
        test_graphs=len(test),
        test_size=len(data.test),
        seed=seed,
        device=str(vae.device),
        seconds=time.monotonic() - started,
        provenance=provenance.record(seed, to_mapping(vae.config)),
    )


def _limit(vae: VAE, test_limit: int | None) -> int | None:
    check(test_limit is None or test_limit >= 1, f"test_limit must be at least 1, not {test_limit}")
    if test_limit is None and vae.device.type != "cuda":
        return CPU_TEST_LIMIT
    return test_limit


def _chosen(data: Dataset, limit: int | None, seed: int) -> list[Dag]:
    """At most `limit` test graphs, drawn with `seed`, in their order."""
    dags = data.test.dags
    check(len(dags) >= 1, f"{data.name} has no test graphs")
    if limit is None or limit >= len(dags):
        return list(dags)
    order = torch.randperm(len(dags), generator=torch.Generator().manual_seed(seed))
    return [dags[index] for index in order[:limit].sort().values.tolist()]


def _losses(vae: VAE, test: DagBatch) -> tuple[Estimate, Estimate]:
    with evaluation_mode(vae):
        posterior = vae.encode(test)
        nll = vae.reconstruction_nll(test, posterior.mean)
    return mean_estimate(nll.tolist()), mean_estimate(posterior.kl().tolist())
