"""A search over a latent space whose candidates are scored together, a round at a time, with shared weights."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from dvae.dag import Dag, ScoredDag
from dvae.errors import DagError, TaskError
from dvae.models import VAE
from dvae.nas import Architecture, SharedWeightAccuracy
from dvae.progress import progress_bar
from dvae.strategies import Archive, RandomSearch, make_strategy
from dvae.tasks import EnasTask

LEAST_WARM = 20  # drawn from the model and scored where a strategy has nothing to start from


def searched(
    vae: VAE,
    meter: SharedWeightAccuracy,
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
    """All that were scored. Scoring is asked for whole rounds, since candidates that are alike share work.

    After each round `keep` gets what has been found so far.
    """
    depth = meter.config.depth
    if not isinstance(vae.task, EnasTask) or vae.task.layers != depth:
        raise TaskError(f"the model is of {vae.task.name}, the shared weights are of enas{depth}")
    archive = Archive(vae.task)
    searcher = make_strategy(strategy, vae, archive, seed=seed)
    searcher.tell([ScoredDag(item.dag, item.score) for item in warm if item.score is not None])
    found: list[ScoredDag] = []
    asked, begun = 0, time.monotonic()
    with progress_bar("search", budget, "architectures", progress) as bar:
        while asked < budget and (seconds is None or time.monotonic() - begun < seconds):
            cold = len(archive) < 2
            asker = RandomSearch(vae, archive, seed=seed) if cold else searcher
            dags = asker.ask(min(max(each, LEAST_WARM) if cold else each, budget - asked))
            if not dags:
                break
            asked += len(dags)
            networks = [dag for dag in dags if _is_network(dag, depth)]
            scores = meter.many(networks, progress=False)
            searcher.tell(ScoredDag(dag, score) for dag, score in zip(networks, scores, strict=True))
            searcher.tell(ScoredDag(dag, None) for dag in dags if not _is_network(dag, depth))
            found += map(ScoredDag, networks, scores)
            if keep is not None:
                keep(found)
            best = archive.best()
            bar.update(len(dags), best="" if best is None or best.score is None else f"{best.score:.4f}")
    return found


def _is_network(dag: Dag, depth: int) -> bool:
    """The task allows fewer layers, even none. Shared weights have their reductions where networks of full depth have
    them, so shallower ones would be scored as other networks than those trained from scratch."""
    try:
        return len(Architecture.from_dag(dag)) == depth
    except DagError:
        return False
