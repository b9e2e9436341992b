"""A search over a latent space whose candidates are scored together, a round at a time, with shared weights."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dvae.dag import Dag, ScoredDag
from dvae.errors import DagError
from dvae.models import VAE
from dvae.nas import Architecture, SharedWeightAccuracy
from dvae.progress import progress_bar
from dvae.search import Archive, Evaluation, RandomSearch, make_strategy

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
    progress: bool | None = True,
) -> list[ScoredDag]:
    """All that were scored. Scoring is asked for whole rounds, since candidates that are alike share work."""
    archive = Archive(vae.task)
    searcher = make_strategy(strategy, vae, archive, seed=seed)
    searcher.tell([Evaluation(item.dag, item.score) for item in warm if item.score is not None])
    found: list[ScoredDag] = []
    begun = time.monotonic()
    with progress_bar("search", budget, "architectures", progress) as bar:
        while len(found) < budget and (seconds is None or time.monotonic() - begun < seconds):
            count = min(each, budget - len(found))
            cold = len(archive) < 2
            asker = RandomSearch(vae, archive, seed=seed) if cold else searcher
            dags = asker.ask(max(count, LEAST_WARM) if cold else count)
            if not dags:
                break
            networks = [dag for dag in dags if _is_network(dag)]
            scores = meter.many(networks, progress=False)
            searcher.tell(Evaluation(dag, score) for dag, score in zip(networks, scores, strict=True))
            searcher.tell(Evaluation(dag, None) for dag in dags if not _is_network(dag))
            found += map(ScoredDag, networks, scores)
            best = archive.best()
            bar.update(len(dags), best="" if best is None or best.score is None else f"{best.score:.4f}")
    return found


def _is_network(dag: Dag) -> bool:
    """The task allows an input and an output with nothing between them; that is no network to score."""
    try:
        Architecture.from_dag(dag)
    except DagError:
        return False
    return True
