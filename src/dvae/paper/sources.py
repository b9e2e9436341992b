"""Where the DAGs of an experiment come from, and who scores new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from dvae.config import check
from dvae.dag import Dag, DagSet, Dataset, load_jsonl
from dvae.data import data_folder
from dvae.errors import DvaeError, FormatError, MissingError
from dvae.evaluation import one_hot_features
from dvae.evaluation.predictivity import pearson
from dvae.files import sha256_of
from dvae.tasks import BayesNetTask, Task, get
from dvae.tasks.enas import PAPER_FILE

TREES, SEED = 100, 0
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
    if isinstance(task, BayesNetTask):
        return Oracle("BIC", task.scores)
    if not data.everything.scored:
        raise DvaeError(f"{data.name} has no scores: there is nothing to learn a score of new DAGs from")
    score = _forest(task, data.train)
    truth = torch.tensor([known or 0.0 for known in data.test.scores], dtype=torch.float64)
    predicted = torch.tensor(score(data.test.dags), dtype=torch.float64)
    return Oracle("surrogate accuracy", score, pearson(predicted, truth))


def _forest(task: Task, known: DagSet) -> Scorer:
    """On one-hot types and a bit for every edge."""
    try:
        from sklearn.ensemble import RandomForestRegressor
    except ImportError:
        raise MissingError("scores of new architectures need scikit-learn: pip install 'dvae[search]'") from None

    def features(dags: Sequence[Dag]) -> object:
        return one_hot_features(task.batch(dags), task.num_types).numpy()

    forest = RandomForestRegressor(TREES, random_state=SEED, n_jobs=torch.get_num_threads())
    forest.fit(features(known.dags), known.scores)
    forest.set_params(n_jobs=1)  # threads would add the trees up in any order

    def score(dags: Sequence[Dag]) -> list[float]:
        return [float(value) for value in forest.predict(features(dags))] if dags else []

    return score
