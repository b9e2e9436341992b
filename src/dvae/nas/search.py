"""Search over a latent space for architectures that are accurate with shared weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dvae.dag import Dag, ScoredDag
from dvae.errors import DagError, TaskError
from dvae.models import VAE
from dvae.nas.architecture import Architecture
from dvae.nas.scores import SharedWeightAccuracy
from dvae.studies import Study, search

MIN_WARM = 20  # drawn from the model and scored where a strategy has nothing to start from


class NetworkScore:
    """Accuracies of architectures of full depth; other DAGs fail.

    The task allows fewer layers, even none. Shared weights have their reductions where networks of full depth have
    them, so shallower ones would be scored as other networks than those trained from scratch.
    """

    def __init__(self, accuracy: SharedWeightAccuracy) -> None:
        self.accuracy = accuracy

    def __call__(self, dag: Dag) -> float:
        return self.accuracy(dag)

    def many(self, dags: Sequence[Dag]) -> list[float | Exception]:
        """Scores of a whole round, since candidates that are alike share work."""
        depth = self.accuracy.config.depth
        networks = [dag for dag in dags if is_network(dag, depth)]
        scores = iter(self.accuracy.many(networks, progress=False))
        refused = DagError(f"the shared weights are of architectures of {depth} layers")
        return [next(scores) if is_network(dag, depth) else refused for dag in dags]


def search_architectures(
    vae: VAE,
    score: SharedWeightAccuracy,
    warm: Sequence[ScoredDag],
    *,
    strategy: str,
    budget: int,
    each: int,
    seed: int,
    seconds: float | None = None,
    keep: Callable[[list[ScoredDag]], object] | None = None,
    progress: bool | None = True,
) -> list[ScoredDag]:
    """All that were scored; after each round `keep` gets what has been found so far."""
    depth = score.config.depth
    if vae.task.name != f"enas{depth}":
        raise TaskError(f"the model is of {vae.task.name}, the shared weights are of enas{depth}")

    def on_round(study: Study) -> None:
        if keep is not None:
            keep(_scored(study))

    study = search(
        vae, score=NetworkScore(score), budget=budget, strategy=strategy, warm=warm, batch=each, initial=MIN_WARM,
        seed=seed, seconds=seconds, on_round=on_round, progress=progress,
    )  # fmt: skip
    return _scored(study)


def is_network(dag: Dag, depth: int) -> bool:
    """Whether a DAG is an architecture of exactly `depth` layers."""
    try:
        return len(Architecture.from_dag(dag)) == depth
    except DagError:
        return False


def _scored(study: Study) -> list[ScoredDag]:
    return [ScoredDag(trial.dag, trial.score) for trial in study.trials if trial.score is not None]
