"""The data set of every task, and files a user brings."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from pathlib import Path

from dvae.bayesnet.tables import data_folder
from dvae.dag import Dag, DagSet, ScoredDag, ScoredDags, load_jsonl, read_bayesnet, read_enas
from dvae.errors import MissingError, TaskError
from dvae.tasks import BayesNetTask, EnasTask, GenericTask, TabularTask, Task

__all__ = ["data_folder", "make_dataset", "read_dags", "split"]

TRAIN_SHARE = 0.9  # paper, section 4
ENAS_BURN_IN = 1000  # paper, appendix H
DEFAULT_SIZES = {"bayesnet": 200_000, "enas": 20_000}  # paper, appendix I; ours for depths without a file
ENAS_FILE = Path("enas/final_structures6.txt")


log = logging.getLogger("dvae")


def make_dataset(task: Task, size: int | None = None, seed: int = 0) -> ScoredDags:
    """The data set of `task`: the paper's own where it is a file, sampled with `seed` where the paper sampled.

    `size` limits a file (its first DAGs are taken) or says how many to sample.
    """
    if size is not None and size < 2:
        raise TaskError(f"a data set needs at least 2 DAGs, to split; size is {size}")
    if isinstance(task, GenericTask) and task.name.startswith("file:"):
        return split(task.name, load_jsonl(task.name.removeprefix("file:")), size)
    if isinstance(task, TabularTask):
        return split(task.name, task.entries, size)
    if isinstance(task, EnasTask) and task.layers == 6:
        return _paper_architectures(size)
    if isinstance(task, BayesNetTask | EnasTask):
        kind = "bayesnet" if isinstance(task, BayesNetTask) else "enas"
        count = DEFAULT_SIZES[kind] if size is None else size
        dags = task.sample(count, seed)
        scores = _scores(task, dags) if isinstance(task, BayesNetTask) else None
        return ScoredDags(f"{task.name} sampled, seed {seed}", DagSet.of(dags, scores), int(count * TRAIN_SHARE))
    raise TaskError(f"{task.name} has no data set of its own; give a file")


def read_dags(path: str | Path, task: Task) -> list[ScoredDag]:
    """The DAGs of a file for `task`: JSONL, or the original text format where the task has one."""
    if Path(path).suffix == ".txt":
        if isinstance(task, EnasTask):
            return list(read_enas(path))
        if isinstance(task, BayesNetTask):
            return list(read_bayesnet(path, task.variables))
    return load_jsonl(path)


def split(name: str, items: Sequence[ScoredDag], size: int | None = None) -> ScoredDags:
    """The original's split: shuffled by `random.Random(0)`, then the first nine tenths are for training."""
    chosen = list(items if size is None else items[:size])
    if len(chosen) < 2:
        raise TaskError(f"{name} holds {len(chosen)} DAGs; a data set needs at least 2, to split")
    random.Random(0).shuffle(chosen)
    whole = DagSet(tuple(item.dag for item in chosen), tuple(item.score for item in chosen))
    train_size = min(max(1, int(len(chosen) * TRAIN_SHARE)), len(chosen) - 1)
    return ScoredDags(name, whole, train_size)


def _scores(task: BayesNetTask, dags: Sequence[Dag]) -> list[float] | None:
    """The networks' scores, where the task has data to score them on; without them they can still be learned."""
    if not task.has_scores:
        return None
    try:
        return task.scores(dags)
    except MissingError as error:
        log.warning("the networks of this data set have no scores: %s", error)
        return None


def _paper_architectures(size: int | None) -> ScoredDags:
    path = data_folder() / ENAS_FILE
    if not path.is_file():
        raise MissingError(
            f"the paper's scored architectures are not at {path}: set DVAE_DATA to the folder that holds "
            f"{ENAS_FILE}, or sample architectures with: dvae data enas6 --sample 20000 --out FILE.jsonl"
        )
    return split("enas6, the paper's architectures", list(read_enas(path))[ENAS_BURN_IN:], size)
