"""Running a search: rounds of asking a strategy, scoring, and telling, which a crash at any moment cannot upset.

Before a round is asked for, the strategy's state is written down; then its candidates are; then their scores. A search
that is resumed restores the state, tells the strategy what was known then, and asks again: the same candidates come
out, those already there are not written twice, those scored are not scored again.
"""

from __future__ import annotations

import hashlib
import os
import platform
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dvae import provenance
from dvae.config import check
from dvae.dag import Dag, DagSet, ScoredDag
from dvae.dag.jsonl import format_line
from dvae.errors import StudyError
from dvae.models import VAE
from dvae.progress import Progress, progress_bar
from dvae.strategies.archive import Archive, Evaluation
from dvae.strategies.base import RandomSearch, Strategy
from dvae.strategies.registry import DEFAULT, entry, make_strategy
from dvae.studies.ledger import Ledger, MemoryLedger, Trial
from dvae.studies.scoring import Score
from dvae.studies.study import ABOUT, ENDED, PROPOSER, STATE, Study, best_of
from dvae.studies.worker import HEARTBEAT_SECONDS, POLL_SECONDS, Work, work_once
from dvae.tasks import Task

PROPOSER_SECONDS = 5.0  # between signs of life
PROPOSER_GONE = 30.0
FIXED = ("task", "strategy", "seed", "batch", "initial", "warm", "warm_print", "direction", "model_print")


@dataclass(frozen=True)
class SearchConfig:
    """What is asked for. `initial`: DAGs drawn from the model before the strategy begins, where nothing is scored."""

    strategy: str = DEFAULT
    budget: int = 500
    batch: int = 10  # candidates a round
    initial: int = 50
    seed: int = 0
    minimize: bool = False

    def __post_init__(self) -> None:
        check(self.budget >= 1, f"the budget must be positive, not {self.budget}")
        check(self.batch >= 1, f"a round has at least one candidate, not {self.batch}")
        check(self.initial >= 2, f"a start needs at least two DAGs, not {self.initial}")
        check(self.seed >= 0, f"seed must not be negative: {self.seed}")


def search(
    vae: VAE,
    task: Task | None = None,
    *,
    score: Score | None = None,
    budget: int = 500,
    strategy: str = DEFAULT,
    storage: str | None = None,
    name: str = "search",
    warm: DagSet | Iterable[ScoredDag] | None = None,
    batch: int = 10,
    initial: int = 50,
    seed: int = 0,
    minimize: bool = False,
    workers: int = 1,
    timeout: float | None = None,
    prune: bool = False,
    heartbeat: int = HEARTBEAT_SECONDS,
    about: dict[str, Any] | None = None,
    progress: bool = False,
) -> Study:
    """Searches the space of `vae` for DAGs that `score` well; where none is given, the task scores.

    With a `storage` (sqlite:///FILE.db, postgresql://...) the search can be killed at any moment: called again, it
    goes on. `warm` holds DAGs that have a score already. `workers` threads score; 0 leaves scoring to `dvae worker`
    processes, here or on other machines.
    """
    task = vae.task if task is None else task
    config = SearchConfig(strategy, budget, batch, initial, seed, minimize)
    scored = [Evaluation(item.dag, item.score) for item in _items(warm) if item.score is not None]
    ledger = _ledger(storage, name, minimize, heartbeat)
    work = Work(score or task.score, timeout, prune, not minimize, heartbeat)
    Search(vae, task, ledger, config, scored, about or {}).run(work, workers, progress)
    return Study(ledger)


class Search:
    """One proposer at its ledger."""

    def __init__(
        self,
        vae: VAE,
        task: Task,
        ledger: Ledger,
        config: SearchConfig,
        warm: Sequence[Evaluation],
        about: dict[str, Any],
    ) -> None:
        self.vae, self.task, self.ledger, self.config, self.warm = vae, task, ledger, config, warm
        self.about = {
            **about,
            "task": task.full_name,
            **asdict(config),
            "direction": "minimize" if config.minimize else "maximize",
            "model": vae.config.name,
            "model_print": model_print(vae),
            "warm": len(warm),
            "warm_print": _print_of(warm),
            "record": provenance.record(config.seed),
        }

    def run(self, work: Work, workers: int, progress: bool) -> None:
        with _Presence(self.ledger), progress_bar("search", self.config.budget, "evaluations", progress) as bar:
            self._begin()
            bar.skip(sum(trial.finished for trial in self.ledger.trials()))
            strategy, number = self._restored()
            while True:
                self._ask(strategy, number)
                self._score(number, work, workers, bar)
                trials = self.ledger.trials()
                told = _of_round(trials, number)
                if not told or len(trials) >= self.config.budget:
                    break  # the strategy finds nothing new, or has asked for all it may
                self._tell(strategy, told)
                number += 1
                self.ledger.describe(STATE, {"round": number, "strategy": strategy.state()})
            self.ledger.describe(ENDED, True)

    def _begin(self) -> None:
        """Writes down what is searched, or makes sure that it is what was begun."""
        before = self.ledger.description().get(ABOUT)
        if before is not None:
            changed = next((key for key in FIXED if before.get(key) != self.about.get(key)), None)
            if changed is not None:
                raise StudyError(
                    f"the study {self.ledger.name!r} was begun with {changed} = {before.get(changed)!r}, not "
                    f"{self.about.get(changed)!r}: resume it without this change, or name another study"
                )
        self.ledger.describe(ABOUT, self.about)
        self.ledger.describe(ENDED, False)

    def _restored(self) -> tuple[Strategy, int]:
        """The strategy as it was before its newest round, and the number of that round."""
        known = self.ledger.description().get(STATE, {"round": 0, "strategy": None})
        number = int(known["round"])
        strategy = make_strategy(self.config.strategy, self.vae, Archive(self.task), seed=self.config.seed)
        strategy.tell([self._signed(evaluation) for evaluation in self.warm])
        trials = self.ledger.trials()
        for earlier in range(number):
            self._tell(strategy, _of_round(trials, earlier))
        if known["strategy"] is not None:
            strategy.restore(known["strategy"])
        return strategy, number

    def _tell(self, strategy: Strategy, trials: list[Trial]) -> None:
        strategy.tell([self._signed(Evaluation(trial.dag, trial.score)) for trial in trials])

    def _signed(self, evaluation: Evaluation) -> Evaluation:
        """Strategies maximise."""
        if evaluation.score is None or not self.config.minimize:
            return evaluation
        return Evaluation(evaluation.dag, -evaluation.score)

    def _ask(self, strategy: Strategy, number: int) -> None:
        """Writes the candidates of a round down, but those that an interrupted search had written."""
        trials = self.ledger.trials()
        there = _of_round(trials, number)
        room = self.config.budget - (len(trials) - len(there))
        count = min(self.config.batch, room)
        # Asked for even if all are there: the strategy must be left as an uninterrupted search leaves it.
        wanted = self._starting(strategy, count) if self._is_cold(strategy) else strategy.ask(count)
        known = self.task.keys_of([trial.dag for trial in there])
        fresh = [dag for dag, key in zip(wanted, self.task.keys_of(wanted), strict=True) if key not in known]
        taken = {trial.place for trial in there}
        places = [place for place in range(count) if place not in taken]
        for place, dag in zip(places, fresh, strict=False):
            self.ledger.propose(dag, {"round": number, "place": place})

    def _is_cold(self, strategy: Strategy) -> bool:
        return entry(self.config.strategy).needs_start and len(strategy.archive) < min(
            self.config.initial, self.config.budget
        )

    def _starting(self, strategy: Strategy, count: int) -> list[Dag]:
        """DAGs from the model's prior, the start of a search that knows no scores (paper, appendix on cold starts)."""
        drawn = RandomSearch(self.vae, strategy.archive, seed=self.config.seed + len(strategy.archive))
        return drawn.ask(count)

    def _score(self, number: int, work: Work, workers: int, bar: Progress) -> None:
        """Waits until all candidates of the round are finished, scoring them here if there are workers here."""
        threads = [
            threading.Thread(target=_until_none, args=(self.ledger, work), daemon=True) for _ in range(workers - 1)
        ]
        for thread in threads:
            thread.start()
        while True:
            done = work_once(self.ledger, work) if workers else None
            trials = self.ledger.trials()
            finished = sum(trial.finished for trial in trials)
            best = best_of(trials, not self.config.minimize)
            bar.update(finished - bar.done, **({} if best is None else {"best": f"{best.score:.3f}"}))
            if done is not None:
                continue
            if all(trial.finished for trial in trials if trial.round == number):
                break
            self.ledger.reclaim()
            time.sleep(POLL_SECONDS if not workers else 0.02)
        for thread in threads:
            thread.join()


def _of_round(trials: list[Trial], number: int) -> list[Trial]:
    return sorted((trial for trial in trials if trial.round == number), key=lambda each: each.place)


def _until_none(ledger: Ledger, work: Work) -> None:
    while work_once(ledger, work) is not None:
        pass


class _Presence:
    """Says in the ledger that this process proposes: two would each undo the other's rounds."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.me = {"host": platform.node(), "pid": os.getpid()}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> None:
        other = self.ledger.description().get(PROPOSER)
        if other is not None and self._lives(other):
            raise StudyError(
                f"process {other['pid']} on {other['host']} is searching with the study {self.ledger.name!r} already"
            )
        self._sign()
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()
        self.ledger.describe(PROPOSER, None)

    def _lives(self, other: dict[str, Any]) -> bool:
        if other["host"] == self.me["host"]:
            return other["pid"] != self.me["pid"] and _runs(int(other["pid"]))
        return bool(time.time() - float(other["seen"]) < PROPOSER_GONE)

    def _beat(self) -> None:
        while not self.ended.wait(PROPOSER_SECONDS):
            self._sign()

    def _sign(self) -> None:
        self.ledger.describe(PROPOSER, {**self.me, "seen": time.time()})


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it runs, as somebody else
    return True


def _ledger(storage: str | None, name: str, minimize: bool, heartbeat: int) -> Ledger:
    if storage is None:
        return MemoryLedger(name)
    from dvae.studies.optuna_ledger import OptunaLedger

    return OptunaLedger(storage, name, create="minimize" if minimize else "maximize", heartbeat=heartbeat)


def _items(warm: DagSet | Iterable[ScoredDag] | None) -> list[ScoredDag]:
    if warm is None:
        return []
    if isinstance(warm, DagSet):
        return [ScoredDag(dag, score) for dag, score in zip(warm.dags, warm.scores, strict=True)]
    return list(warm)


def _print_of(evaluations: Sequence[Evaluation]) -> str:
    """A fingerprint of scored DAGs."""
    digest = hashlib.sha256()
    for evaluation in evaluations:
        digest.update(format_line(ScoredDag(evaluation.dag, evaluation.score)).encode())
    return digest.hexdigest()[:16]


def model_print(vae: VAE) -> str:
    """A fingerprint of a model's weights: a study goes on only with the model it was begun with."""
    digest = hashlib.sha256()
    for key, value in sorted(vae.state_dict().items()):
        digest.update(key.encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]
