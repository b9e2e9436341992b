"""Where the DAGs of an experiment come from, and what scores new ones.

The paper's data are found, downloaded or, offline, replaced by what can be made here; the report says which it was.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from dvae.bayesnet.tables import BNLEARN, BNLEARN_FILE, EMBEDDED
from dvae.config import check
from dvae.dag import Dag, Dataset, ScoredDag, load_jsonl, write_jsonl
from dvae.data import data_folder
from dvae.data.downloads import Download, fetch
from dvae.errors import DvaeError, FormatError, MissingError
from dvae.files import sha256_of
from dvae.nas import NetworkConfig, SharedWeightAccuracy, SupernetConfig, train_supernet
from dvae.regression.features import one_hot_features
from dvae.regression.forest import Forest
from dvae.regression.metrics import pearson
from dvae.tasks import EnasTask, Task, get
from dvae.tasks.enas import PAPER_FILE

log = logging.getLogger("dvae")

# The file as its authors published it (MIT licence), at one commit.
ARCHITECTURES = Download(
    "https://raw.githubusercontent.com/muhanzhang/D-VAE/e25a6cb34716c950bfbf3542837d7322700e6217/data/"
    "final_structures6.txt",
    1_677_427,
    "fea9a7dde1545e7d3bd58fd4b9c3db08a89c18e0351f770cde2fe530c4791725",
)
# Where it cannot be had: architectures drawn uniformly instead of by a trained controller, whose scores, as in the
# paper, are weight-sharing accuracies, but of a small supernet on handwritten digits.
FALLBACK_FILE = "data/architectures.jsonl.gz"
FALLBACK_SIZE = 5_000  # architectures
FALLBACK_SUPERNET = SupernetConfig(
    data="digits",
    validation=400,
    epochs=60,  # of about a second
    batch=64,
    network=NetworkConfig(width=12, channels=1),
)

Scorer = Callable[[Sequence[Dag]], list[float]]
Make = Callable[[Path], None]  # writes scored architectures to a file


@dataclass(frozen=True)
class Source:
    """A task's own data set or, with `file`, scored DAGs that lie in the run's folder.

    `sha256` is that of the file behind either: other DAGs give other results.
    """

    task: str
    size: int | None = None
    seed: int = 0
    file: str | None = None  # relative to the folder of the run
    sha256: str | None = None

    def __post_init__(self) -> None:
        check(self.size is None or self.size >= 2, f"size must be at least 2, not {self.size}")
        check(self.file is None or self.sha256 is not None, "a file needs its checksum")

    @property
    def label(self) -> str:
        """The task's name as the paper writes it."""
        if self.task.startswith("enas"):
            return f"ENAS-{self.task.removeprefix('enas')}"
        return {"asia": "Asia", "asia-bnlearn": "Asia"}.get(self.task, self.task)

    def load_task(self) -> Task:
        """The task of this name."""
        return get(self.task)

    def dataset(self, run: Path) -> Dataset:
        """The data set, checked against its checksum; `run` is the folder of the run."""
        task = self.load_task()
        path = data_folder() / PAPER_FILE if self.file is None else run / self.file
        if self.sha256 is not None:
            if not path.is_file():
                raise MissingError(f"{path} is gone: the scored DAGs that this run was made from")
            if sha256_of(path) != self.sha256:
                raise FormatError(f"{path} is not the file that this run was made from; start another run")
        if self.file is None:
            return task.dataset(size=self.size, seed=self.seed)
        return Dataset.split(f"{self.task}, {path.name}", load_jsonl(path), self.size)


def bayesnet_source() -> Source:
    """The paper's Asia rows where they are, else the embedded ones, drawn from the same network."""
    found = (data_folder() / BNLEARN_FILE).is_file()
    return Source(BNLEARN if found else EMBEDDED)


def make_architectures(
    path: Path,
    *,
    size: int = FALLBACK_SIZE,
    config: SupernetConfig = FALLBACK_SUPERNET,
    seed: int = 0,
    progress: bool | None = True,
) -> None:
    """Trains the supernet beside `path`, or goes on with one that was begun, and writes scored architectures."""
    folder = path.with_name("supernet")
    train_supernet(config, folder, resume=True, progress=progress)
    dags = list(dict.fromkeys(EnasTask(config.depth).sample(size, seed)))
    scores = SharedWeightAccuracy(folder).many(dags, progress=progress)
    write_jsonl(path, [ScoredDag(dag, score) for dag, score in zip(dags, scores, strict=True)])


def architecture_source(run: Path, make: Make = make_architectures, source: Download = ARCHITECTURES) -> Source:
    """The paper's architectures: in the data folder, or downloaded into it; else those that `make` writes."""
    path = data_folder() / PAPER_FILE
    if path.is_file():
        return Source("enas6", sha256=sha256_of(path))
    own = run / FALLBACK_FILE
    if not own.is_file():
        try:
            fetch(source, path)
            return Source("enas6", sha256=source.sha256)
        except (DvaeError, OSError) as error:
            log.warning("%s; making a data set of our own instead", error)
        make(own)
    return Source("enas6", file=FALLBACK_FILE, sha256=sha256_of(own))


@dataclass(frozen=True)
class Oracle:
    """Scores any valid DAG; `name` says what kind of score it is, wherever one is shown."""

    name: str
    score: Scorer
    held_out: float | None = None  # of a surrogate: the correlation with true scores on DAGs it was not fitted to

    @property
    def facts(self) -> dict[str, object]:
        """What is kept beside scores."""
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
