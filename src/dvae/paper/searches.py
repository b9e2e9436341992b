"""The stages of Bayesian optimisation: one trial each, so that short runs add up to the paper's ten trials."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import torch

from dvae.bayesnet.scores import NetworkScores
from dvae.bayesnet.structure import exact_optimum
from dvae.bayesnet.tables import load_table, table_of
from dvae.config import check
from dvae.dag import Dag, Dataset, ScoredDag, to_plain
from dvae.errors import DvaeError, FormatError
from dvae.evaluation.common import read_value
from dvae.files import read_json, write_json
from dvae.paper.measurements import OfModel
from dvae.paper.sources import Oracle, Source
from dvae.paper.stage import OutOfTime, Result, Stage
from dvae.paper.stage_store import StageStore
from dvae.paper.training import Train
from dvae.strategies.paper import PaperSearch, PaperSearchConfig
from dvae.studies import MemoryLedger, Outcome, Study, search
from dvae.studies.study import STATE

KEPT_ROUNDS = "rounds.json"
KEPT = 15  # the paper fully trains its 15 best architectures
# The network behind the Asia data (Lauritzen and Spiegelhalter, 1988).
ASIA_NETWORK = Dag(
    ("A", "S", "T", "L", "B", "E", "X", "D"), ((0, 2), (1, 3), (1, 4), (2, 5), (3, 5), (5, 6), (5, 7), (4, 7))
)
STRATEGY_TITLES = {
    "paper": "BO as in the paper",
    "trust-region": "BO in a trust region",
    "gradient": "gradient ascent",
    "random": "random",
    "evolution": "evolution of DAGs",
}


@dataclass(frozen=True)
class SearchSize:
    """Ten rounds of fifty, ten trials (paper, section 4.3), from `warm` scored training DAGs; None is all of them."""

    strategies: tuple[str, ...] = ("paper", "random")
    trials: int = 10
    rounds: int = 10
    batch: int = 50
    warm: int | None = None
    models: tuple[str, ...] = ("dvae", "svae")
    paper: PaperSearchConfig = field(default_factory=PaperSearchConfig)  # of the strategy of that name

    def __post_init__(self) -> None:
        check(min(self.trials, self.rounds, self.batch) >= 1, "trials, rounds and batch must be at least 1")
        check(self.warm is None or self.warm >= 2, f"warm must be at least 2, not {self.warm}")


@dataclass(frozen=True)
class Round:
    """The scores of one round, and how long it took."""

    scores: tuple[float, ...]
    seconds: float


@dataclass(frozen=True)
class SearchResult:
    """What one trial found."""

    score: str  # what kind of score
    held_out: float | None  # of a surrogate: the correlation with true scores
    best_warm: float | None  # the best score known before
    rounds: tuple[Round, ...]
    top: tuple[ScoredDag, ...]  # the best DAGs, best first

    @property
    def best(self) -> float | None:
        """The best score found."""
        return self.top[0].score if self.top else None

    @property
    def evaluations(self) -> int:
        """How many DAGs were scored."""
        return sum(len(one.scores) for one in self.rounds)


@dataclass(frozen=True)
class SearchTrial(OfModel[SearchResult]):
    """One trial. No DAG is scored twice, and none of the training data again: every evaluation is a new DAG."""

    kind: ClassVar[str] = "search"
    scored_by: Source
    strategy: str
    trial: int
    rounds: int
    batch: int
    warm: int | None
    paper: PaperSearchConfig | None = None  # None for other strategies

    @property
    def title(self) -> str:
        strategy = STRATEGY_TITLES.get(self.strategy, self.strategy)
        return f"{self.train.recipe.title} on {self.train.source.label}: {strategy}, trial {self.trial}"

    @property
    def slug(self) -> str:
        return f"{self.train.slug}-{self.strategy}-{self.trial}"

    @property
    def seed_of_model(self) -> int:
        return self.trial

    def run(self, workshop: StageStore) -> Result:
        oracle = workshop.oracle(self.scored_by)
        warm = warm_start(workshop.data(self.train.source), self.warm, self.trial)
        rounds = self._searched(workshop, oracle, warm)
        found = [(score, dag) for one in rounds for score, dag in zip(one["scores"], one["dags"], strict=True)]
        found.sort(key=lambda pair: -pair[0])
        return {
            **oracle.facts,
            "best_warm": max((item.score for item in warm if item.score is not None), default=None),
            "rounds": [{"scores": one["scores"], "seconds": one["seconds"]} for one in rounds],
            "top": [{"score": score, **dag} for score, dag in found[:KEPT]],
        }

    def read(self, result: Result, where: str) -> SearchResult:
        top = tuple(ScoredDag(as_dag(item), item["score"]) for item in result["top"])
        return read_value(SearchResult, result, where, top=top)

    def _searched(self, workshop: StageStore, oracle: Oracle, warm: list[ScoredDag]) -> list[dict[str, Any]]:
        """The rounds of the search; they are kept as they are made, for another attempt to go on."""
        kept = workshop.work_folder(self) / KEPT_ROUNDS
        ledger = MemoryLedger()
        rounds = _resumed(ledger, kept)
        if len(rounds) >= self.rounds or (rounds and not rounds[-1]["scores"]):
            return rounds
        _check_time(workshop, rounds)
        begun = [time.monotonic()]

        def on_round(study: Study) -> bool:
            made = [trial for trial in study.trials if trial.round == len(rounds)]
            if study.failures:
                raise DvaeError(f"a DAG has no {oracle.name}: {study.failures[0].reason}")
            begun.append(time.monotonic())
            scores, dags = [trial.score for trial in made], [to_plain(trial.dag) for trial in made]
            rounds.append({"scores": scores, "dags": dags, "seconds": begun[-1] - begun[-2]})
            state = study.ledger.description().get(STATE, {"strategy": None})
            write_json(kept, {"rounds": rounds, "strategy": state["strategy"]})
            if len(rounds) >= self.rounds or not made:
                return True
            _check_time(workshop, rounds)
            return False

        strategy = self.strategy if self.paper is None else partial(PaperSearch, config=self.paper)
        search(
            workshop.model(self.train), score=_OracleScore(oracle), strategy=strategy, storage=ledger, warm=warm,
            budget=self.rounds * self.batch, batch=self.batch, initial=2, seed=self.trial, on_round=on_round,
            progress=workshop.progress,
        )  # fmt: skip
        return rounds


class _OracleScore:
    """An oracle as a search asks it: whole rounds at once."""

    def __init__(self, oracle: Oracle) -> None:
        self.many = oracle.score

    def __call__(self, dag: Dag) -> float:
        return self.many([dag])[0]


def _resumed(ledger: MemoryLedger, path: Path) -> list[dict[str, Any]]:
    """The rounds that an earlier attempt has made, written into the ledger as if this one had made them."""
    if not path.is_file():
        return []
    known: Any = read_json(path)
    try:
        rounds = list(known["rounds"])
        for number, one in enumerate(rounds):
            _check_seconds(one["seconds"])
            for place, (value, score) in enumerate(zip(one["dags"], one["scores"], strict=True)):
                trial = ledger.propose(as_dag(value), {"round": number, "place": place})
                ledger.finish(trial, Outcome(float(score)), {})
        ledger.describe(STATE, {"round": len(rounds), "strategy": known["strategy"]})
    except (DvaeError, KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        problem = f"{error} is missing" if isinstance(error, KeyError) else error
        raise FormatError(f"{path} does not hold rounds of a search ({problem}); remove it to start it anew") from None
    return rounds


def _check_seconds(value: object) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError(f"{value!r:.40} is no number of seconds")


def _check_time(workshop: StageStore, rounds: Sequence[Mapping[str, Any]]) -> None:
    """Stops before a round that would take longer than there is time."""
    left = workshop.seconds_left()
    longest = max((one["seconds"] for one in rounds), default=0.0)
    if left is not None and left < longest:
        raise OutOfTime(f"the minutes are used up after {len(rounds)} rounds; they are kept")


@dataclass(frozen=True)
class LandmarkScores:
    """Scores to compare a search with; those of Bayesian networks alone may be None."""

    data: str
    train: int
    test: int
    best_training: float
    mean_training: float
    deviation_training: float
    optimum: float | None = None
    optimum_dag: Dag | None = None
    true_network: float | None = None


@dataclass(frozen=True)
class Landmarks(Stage[LandmarkScores]):
    """Finds the best and the spread of the training scores and, of Bayesian networks, the true network's score and the
    exact optimum."""

    kind: ClassVar[str] = "landmarks"
    source: Source

    @property
    def title(self) -> str:
        return f"{self.source.label}: scores to compare with"

    @property
    def slug(self) -> str:
        return self.source.task

    def run(self, store: StageStore) -> Result:
        data = store.data(self.source)
        scores = [score for score in data.train.scores if score is not None]
        found: dict[str, Any] = {
            "data": data.name,
            "train": len(data.train),
            "test": len(data.test),
            "best_training": max(scores),
            "mean_training": statistics.fmean(scores),
            "deviation_training": statistics.pstdev(scores),
        }
        table = table_of(self.source.task)
        if table is not None:
            networks = NetworkScores(load_table(table))
            optimum = exact_optimum(networks)
            found |= {"optimum": optimum.score, "optimum_dag": to_plain(optimum.dag)}
            if set(networks.names) == set(ASIA_NETWORK.types):
                found["true_network"] = store.task(self.source).score(ASIA_NETWORK)
        return found

    def read(self, result: Result, where: str) -> LandmarkScores:
        dag = result.get("optimum_dag")
        return read_value(LandmarkScores, result, where, optimum_dag=None if dag is None else as_dag(dag))


def warm_start(data: Dataset, count: int | None, seed: int) -> list[ScoredDag]:
    """`count` scored training DAGs, drawn with `seed`, or all."""
    pairs = [(dag, score) for dag, score in zip(data.train.dags, data.train.scores, strict=True) if score is not None]
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(seed))[: count or len(pairs)]
    return [ScoredDag(*pairs[place]) for place in order.tolist()]


def as_dag(value: Any) -> Dag:
    """What `to_plain` wrote."""
    return Dag(tuple(value["types"]), tuple((source, target) for source, target in value["edges"]))


def search_stages(train: Train, scored_by: Source, size: SearchSize, strategies: Sequence[str]) -> list[SearchTrial]:
    """One stage per strategy and trial."""
    return [
        SearchTrial(
            train, scored_by, strategy, trial, size.rounds, size.batch, size.warm,
            size.paper if strategy == "paper" else None,
        )
        for strategy in strategies
        for trial in range(size.trials)
    ]  # fmt: skip
