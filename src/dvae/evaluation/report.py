"""All of the paper's Table 1 for one model, and the two losses, as one value."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from dvae import provenance
from dvae.config import check, to_mapping
from dvae.dag import Dag, DagBatch, DagSet, Dataset
from dvae.evaluation.common import MIN_GRAPHS, blocks, evaluation_mode, read_value
from dvae.evaluation.intervals import Estimate, mean_estimate
from dvae.evaluation.prior import PRIOR_DECODINGS, PRIOR_LATENTS, PriorSamples, TrainingSpace, prior_samples
from dvae.evaluation.reconstruction import DECODINGS, ENCODINGS, Reconstruction, reconstruction
from dvae.models import VAE

CPU_TEST_LIMIT = 2000  # holds the 1,902 of ENAS in full; of the 20,000 of BN it takes a tenth
LOSS_BATCH = 256  # graphs, where time is limited
MATCHING = (
    "Node, type and edge accuracy and edit distance are of the greedy decodings; nodes are matched by label where "
    "labels are unique, else by their place in the model's order. "
)
COLUMNS = (
    "Reconstruction counts columns: categories must be the same, numbers too, or, where there are many different ones, "
    "round to the same twentieth of their scale. Categories and numbers are also counted one by one, numbers as right "
    "within 5% of the true one. "
)
# How a time budget is divided, cheap parts first: what one does not use, those after it share.
TIME_SHARES = {"losses": 1, "greedy": 1, "posterior": 3, "mean": 3, "prior": 3, "once": 2}


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
    test_graphs: int  # how many were measured; with a time budget, by the part that measured most ...
    test_size: int  # ... of how many there are
    seed: int
    device: str
    seconds: float
    provenance: Mapping[str, object]
    budget: float | None = None  # seconds that the measuring was given
    own_test: bool = False  # whether the test graphs were given by the caller, not by the data set
    once: PriorSamples | None = None  # as many graphs as `prior`, each of a latent of its own; not in older files

    @property
    def subsampled(self) -> bool:
        """Whether test graphs were left out."""
        return self.test_graphs < self.test_size

    @property
    def protocol(self) -> str:
        """How the numbers came about, in words."""
        drawn, prior = self.posterior, self.prior
        return (
            f"Reconstruction on {self._measured_on()}. "
            f"Posterior: {drawn.encodings} latents from q(z|G) with its own deviation, {drawn.decodings} "
            f"sampled decodings of each. Mean: {self.mean.decodings} sampled decodings of it; greedy: one. "
            f"{MATCHING if self.greedy.closeness else ''}"
            f"{COLUMNS if self.greedy.columns else ''}"
            f"Prior: {prior.latents:,} latents z * std + mean of the training set's posterior means "
            f"({prior.statistics}), {prior.decodings} sampled decodings of each, "
            f"{'within the rules of the task' if prior.rules else 'no decoding rules'}; "
            f"uniqueness and novelty over the valid ones. {self._decoded_once()}"
            f"Intervals are 95%, over graphs or latents, not decodings."
        )

    def _decoded_once(self) -> str:
        if self.once is None:
            return ""
        return (
            f"Ten decodings of one latent by a decoder that is sure are one graph, so uniqueness is also given for "
            f"{self.once.latents:,} latents decoded once each. "
        )

    def _measured_on(self) -> str:
        own = " of your own" if self.own_test else ""
        if self.budget is not None:
            counts = {"posterior": self.posterior.share.count, "mean": self.mean.share.count,
                      "greedy": self.greedy.share.count, "likelihood": self.nll.count}  # fmt: skip
            parts = ", ".join(f"{name} {count:,}" for name, count in counts.items())
            return (
                f"as many of {self.test_size:,} test graphs{own}, in random order (seed {self.seed}), as fitted in "
                f"{self.budget:g} s: {parts}"
            )
        if self.subsampled:
            return f"a random {self.test_graphs:,} of {self.test_size:,} test graphs{own} (seed {self.seed})"
        return f"all {self.test_size:,} test graphs{own}"

    def rows(self) -> list[tuple[str, Estimate | None]]:
        """The numbers by name, in the order of the paper's Table 1; None where nothing could be measured."""
        near = self.greedy.closeness  # missing in files of version 0.1.0
        closeness = [] if near is None else [
            ("node accuracy, greedy", near.nodes),
            ("type accuracy, greedy", near.types),
            ("edge accuracy, greedy", near.edges),
            ("edit distance, greedy", near.edits),
        ]  # fmt: skip
        columns = [] if self.greedy.columns is None else [
            ("structure, greedy", self.greedy.columns.structure),
            ("categories, greedy", self.greedy.columns.categories),
            ("structure and all categories, greedy", self.greedy.columns.structure_and_categories),
            ("numbers within 5%, greedy", self.greedy.columns.numbers),
            ("all of them, greedy", self.greedy.columns.together),
        ]  # fmt: skip
        rules = ", within the rules" if self.prior.rules else ""
        return [
            ("reconstruction, posterior", self.posterior.share),
            ("reconstruction, mean", self.mean.share),
            ("reconstruction, mean, greedy", self.greedy.share),
            *closeness,
            *[(name, value) for name, value in columns if value is not None],
            (f"prior validity{rules}", self.prior.validity),
            (f"prior uniqueness{rules}", self.prior.uniqueness),
            *([] if self.once is None else [(f"prior uniqueness, decoded once{rules}", self.once.uniqueness)]),
            (f"prior novelty{rules}", self.prior.novelty),
            ("negative log-likelihood at the mean", self.nll),
            ("KL divergence", self.kl),
        ]

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], where: str = "evaluation") -> Evaluation:
        """What `to_mapping` wrote, also by version 0.1.0; shares of single graphs are not kept."""
        return read_value(cls, mapping, where)

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
            "budget",
            "own_test",
            "protocol",
        )
        return {
            "model": self.model,
            "task": self.task,
            "data": self.data,
            **{name: getattr(self, name).to_mapping() for name in parts},
            **{name: getattr(self, name) for name in facts},
            "once": None if self.once is None else self.once.to_mapping(),
            "provenance": dict(self.provenance),
        }


def evaluate(
    vae: VAE,
    data: Dataset,
    *,
    test: DagSet | Sequence[Dag] | None = None,
    test_limit: int | None = None,
    encodings: int = ENCODINGS,
    decodings: int = DECODINGS,
    prior_latents: int = PRIOR_LATENTS,
    prior_decodings: int = PRIOR_DECODINGS,
    rules: bool = False,
    seconds: float | None = None,
    recompute: bool = False,
    seed: int = 0,
    progress: bool | None = None,
) -> Evaluation:
    """Measures `vae` on the test part of `data`, or on `test`; novelty is against the training part.

    `test_limit` graphs of the test set are drawn with `seed`. Without one, all are measured on CUDA, and at most
    `CPU_TEST_LIMIT` elsewhere. `seconds` is a time budget: every part measures as many graphs or latents, in random
    order, as fit in its share of the time, but at least `MIN_GRAPHS` and `MIN_LATENTS`; encoding the training set,
    where the model does not know its statistics, is not limited. `rules` and `recompute` are those of
    `prior_samples`.
    """
    started = time.monotonic()
    check(seconds is None or seconds > 0, f"seconds must be above 0, not {seconds}")
    given = data.test.dags if test is None else test.dags if isinstance(test, DagSet) else tuple(test)
    check(len(given) >= 1, f"{data.name} has no test graphs" if test is None else "there is no test graph")
    chosen = vae.task.batch(_chosen(given, _limit(vae, test_limit), seed, shuffled=seconds is not None))
    train = vae.task.batch(data.train.dags)
    clock = _Clock(seconds)
    measure = partial(reconstruction, vae, chosen, encodings=encodings, decodings=decodings, seed=seed,
                      progress=progress)  # fmt: skip
    nll, kl = _losses(vae, chosen, clock.seconds_for("losses"))
    greedy = measure(mode="mean", greedy=True, seconds=clock.seconds_for("greedy"))
    posterior = measure(mode="posterior", seconds=clock.seconds_for("posterior"))
    mean = measure(mode="mean", seconds=clock.seconds_for("mean"))
    space = TrainingSpace.of(vae, train, recompute=recompute)
    prior = prior_samples(
        vae, space, latents=prior_latents, decodings=prior_decodings, seed=seed, rules=rules,
        seconds=clock.seconds_for("prior"), progress=progress,
    )  # fmt: skip
    once = prior_samples(
        vae, space, latents=prior_latents * prior_decodings, decodings=1, seed=seed, rules=rules,
        seconds=clock.seconds_for("once"), progress=progress,
    )  # fmt: skip
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
        test_graphs=max(nll.count, *(part.share.count for part in (posterior, mean, greedy))),
        test_size=len(given),
        seed=seed,
        device=str(vae.device),
        seconds=time.monotonic() - started,
        provenance=provenance.record(seed, to_mapping(vae.config)),
        budget=seconds,
        own_test=test is not None,
        once=once,
    )


class _Clock:
    """Divides the time that is left among the parts still to be measured."""

    def __init__(self, seconds: float | None) -> None:
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.waiting = dict(TIME_SHARES)

    def seconds_for(self, part: str) -> float | None:
        total = sum(self.waiting.values())
        share = self.waiting.pop(part) / total
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic()) * share


def _limit(vae: VAE, test_limit: int | None) -> int | None:
    check(test_limit is None or test_limit >= 1, f"test_limit must be at least 1, not {test_limit}")
    if test_limit is None and vae.device.type != "cuda":
        return CPU_TEST_LIMIT
    return test_limit


def _chosen(dags: Sequence[Dag], limit: int | None, seed: int, *, shuffled: bool = False) -> list[Dag]:
    """At most `limit` of the graphs, drawn with `seed`: in their own order, or `shuffled`."""
    limit = len(dags) if limit is None else min(limit, len(dags))
    order = torch.randperm(len(dags), generator=torch.Generator().manual_seed(seed))[:limit]
    return [dags[index] for index in (order if shuffled else order.sort().values).tolist()]


def _losses(vae: VAE, test: DagBatch, seconds: float | None) -> tuple[Estimate, Estimate]:
    nll: list[float] = []
    kl: list[float] = []
    size = len(test) if seconds is None else LOSS_BATCH
    with evaluation_mode(vae):
        for chosen in blocks(len(test), size, seconds, MIN_GRAPHS):
            part = test.select(chosen)
            posterior = vae.encode(part)
            nll += vae.reconstruction_nll(part, posterior.mean).tolist()
            kl += posterior.kl().tolist()
    return mean_estimate(nll), mean_estimate(kl)
