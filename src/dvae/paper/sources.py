"""Where the DAGs of an experiment come from, and who scores new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from dvae.config import check
from dvae.dag import Dag, Dataset, load_jsonl
from dvae.data import data_folder
from dvae.errors import DvaeError, FormatError, MissingError
from dvae.files import sha256_of
from dvae.regression.features import one_hot_features
from dvae.regression.forest import Forest
from dvae.regression.metrics import pearson
from dvae.tasks import Task, get
from dvae.tasks.enas import PAPER_FILE

Scorer = Callable[[Sequence[Dag]], list[float]]


@dataclass(frozen=True)
class Source:
    """A task's own data set or, with `file`, scored DAGs that lie in the run's folder.

    `sha256` is that of the file behind either: other DAGs, other results.
    """

    task: str
    size: int | None = None
    seed: int = 0
    file: str | None = None  # relative to the folder of the run
    sha256: str | None = None

    def __post_init__(self) -> None:
        check(self.size is None or self.size >= 2, f"size must be at least 2, not {self.size}")
        check(self.file is None or self.sha256 is not None, "a file goes with its checksum")

    @property
    def label(self) -> str:
        """The task's name as the paper writes it."""
        if self.task.startswith("enas"):
            return f"ENAS-{self.task.removeprefix('enas')}"
        return {"asia": "Asia", "asia-bnlearn": "Asia"}.get(self.task, self.task)

    def meaning(self) -> Task:
        return get(self.task)

    def dataset(self, run: Path) -> Dataset:
        task = self.meaning()
        path = data_folder() / PAPER_FILE if self.file is None else run / self.file
        if self.sha256 is not None:
            if not path.is_file():
                raise MissingError(f"{path} is gone: the scored DAGs that this run was made from")
            if sha256_of(path) != self.sha256:
                raise FormatError(f"{path} is not the file that this run was made from; start another run")
        if self.file is None:
            return task.dataset(size=self.size, seed=self.seed)
        return Dataset.split(f"{self.task}, {path.name}", load_jsonl(path), self.size)


@dataclass(frozen=True)
class Oracle:
    """Scores any valid DAG; `name` says what kind of score it is, for every table and picture that shows one."""

    name: str
    score: Scorer
    held_out: float | None = None  # of a surrogate: the correlation with true scores on DAGs it was not fitted to

    @property
    def facts(self) -> dict[str, object]:
        return {"score": self.name, "held_out": self.held_out}


def oracle_of(task: Task, data: Dataset) -> Oracle:
    """The task's own scores where it has them, or a random forest fitted to the training part of `data`.

    On the paper's architectures this is the forest of the task `enas6-surrogate`.
    """
    if task.can_score:
        return Oracle("BIC", task.scores)  # of the paper's spaces only Bayesian networks score themselves
    if not data.everything.scored:
        raise DvaeError(f"{data.name} has no scores: there is nothing to learn a score of new DAGs from")

    def features(dags: Sequence[Dag]) -> Tensor:
        return one_hot_features(task.batch(dags), task.num_types)

    def score(dags: Sequence[Dag]) -> list[float]:
        predicted: list[float] = forest.predict(features(dags)).tolist() if dags else []
        return predicted

    forest = Forest.fit(features(data.train.dags), torch.tensor(data.train.scores, dtype=torch.float64))
    predicted = torch.tensor(score(data.test.dags), dtype=torch.float64)
    truth = torch.tensor(data.test.scores, dtype=torch.float64)
    return Oracle("surrogate accuracy", score, pearson(predicted, truth))
