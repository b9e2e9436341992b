"""Running a search: rounds of asking a strategy, scoring, and telling, which a crash at any moment cannot upset.

Before a round is asked for, the strategy's state is written down; then its candidates are; then their scores. A search
that is resumed restores the state, tells the strategy what was known then, and asks again: the same candidates come
out, those already there are not written twice, those scored are not scored again.
"""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dvae import provenance
from dvae.config import check
from dvae.dag import Dag, ScoredDag
from dvae.errors import DvaeError, StudyError
from dvae.models import VAE
from dvae.progress import Progress, progress_bar
from dvae.strategies.archive import Archive
from dvae.strategies.many_objectives import for_objectives
from dvae.strategies.objectives import Objectives
from dvae.strategies.random import RandomSearch
from dvae.strategies.registry import DEFAULT, STRATEGIES
from dvae.studies.identity import check_same, current, fingerprint, model_fingerprint
from dvae.studies.isolated import ATTEMPTS, AbandonedError
from dvae.studies.known import known_scores
from dvae.studies.ledger import Direction, Ledger, MemoryLedger, Trial
from dvae.studies.placement import placed_score
from dvae.studies.presence import Presence
from dvae.studies.reading import about_from, round_from
from dvae.studies.retraining import RetrainedModel, Retraining
from dvae.studies.scores import ResolvedScore
from dvae.studies.scoring import MAX_SCORE, Score
from dvae.studies.storage import open_ledger
from dvae.studies.study import ABOUT, ENDED, STATE, Study, as_plain, best_of
from dvae.studies.values import OBJECTIVES, evaluation, known_items
from dvae.studies.worker import HEARTBEAT_SECONDS, POLL_SECONDS, Work, released_if_interrupted, work_once, work_round
from dvae.tasks import Task

OnRound = Callable[[Study], object]


@dataclass(frozen=True)
class SearchConfig:
    """What is asked for. `initial`: DAGs drawn from the model before the strategy begins, where nothing is scored."""

    strategy: str = DEFAULT  # what proposes candidates
    budget: int = 500  # candidates to score
    batch: int = 10  # candidates per round
    initial: int = 50  # DAGs drawn from the model first, where nothing is scored
    seed: int = 0  # of all that is drawn
    minimize: bool = False  # whether lower scores are better

    def __post_init__(self) -> None:
        check(self.budget >= 1, f"the budget must be positive, not {self.budget}")
        check(self.batch >= 1, f"a round has at least one candidate, not {self.batch}")
        check(self.initial >= 2, f"a start needs at least two DAGs, not {self.initial}")
        check(self.seed >= 0, f"seed must not be negative: {self.seed}")

    @property
    def direction(self) -> Direction:
        """Whether scores are maximised or minimised, in Optuna's words."""
        return "minimize" if self.minimize else "maximize"


def search(
    vae: VAE,
    task: Task | None = None,
    *,
    score: Score | ResolvedScore | str | None = None,
    budget: int = 500,
    strategy: Any = DEFAULT,
    storage: str | Ledger | None = None,
    name: str = "search",
    warm: Iterable[ScoredDag] | None = None,
    start: Sequence[Dag] = (),
    batch: int = 10,
    initial: int = 50,
    seed: int = 0,
    minimize: bool = False,
    workers: int = 1,
    timeout: float | None = None,
    prune: bool = False,
    heartbeat: int = HEARTBEAT_SECONDS,
    seconds: float | None = None,
    on_round: OnRound | None = None,
    about: dict[str, Any] | None = None,
    progress: bool | None = False,
    isolate: bool | None = None,
    attempts: int = ATTEMPTS,
    take_over: bool = False,
    retrain: Retraining | None = None,
    objectives: Objectives | None = None,
) -> Study:
    """Searches the space of `vae` for DAGs that `score` well; where none is given, the task scores.

    A score is a function, an object with a method `many(dags)` that scores whole rounds, or `package.module:name`. A
    strategy is a name, `package.module:name` or a class. With a `storage` (dvae:///FILE.db, sqlite:///FILE.db,
    postgresql://...) the search can be killed at any moment: called again, it goes on. `warm` holds DAGs whose scores
    are known; those of `start` are scored first. `workers` threads score; 0 leaves scoring to `dvae worker`
    processes, here or on other machines. No round begins after `seconds`. `on_round(study)` is called after each
    round and ends the search by returning True. `isolate` says whether the score runs in processes of its own (None:
    if it is named or has a timeout); where one dies, its candidate has so many `attempts`. `take_over` takes the study
    from a process that seems to search with it. `retrain` says when and how the model, a copy of `vae`, is trained on.
    With `objectives` the score gives several values by name, `warm` DAGs have them as properties, and the study's front
    is `dvae.studies.front_of(study)`.
    """
    task = vae.task if task is None else task
    check(attempts >= 1, f"a candidate has at least one attempt, not {attempts}")
    with placed_score(score, task, isolate=isolate, timeout=timeout, workers=workers, attempts=attempts) as scored:
        strategy_name, entry = STRATEGIES.resolve(strategy)
        about = {**(about or {}), "score": scored.name}
        if objectives is not None:
            check(not minimize, "minimize is said of each objective where there are objectives")
            warm, strategy = known_items(list(warm or ()), objectives), for_objectives(entry, objectives)
            about[OBJECTIVES] = objectives.to_mapping()
        config = SearchConfig(strategy_name, budget, batch, initial, seed, minimize)
        work = Work(scored.function, timeout, prune, not minimize, heartbeat, objectives=objectives)
        begun = Search(vae, task, config, strategy, _scored(warm), start, about, retrain)
        if storage is None:
            ledger: Ledger = MemoryLedger(name)
        elif isinstance(storage, str):
            ledger = open_ledger(storage, name, create=config.direction, heartbeat=heartbeat)
        else:
            ledger = storage
        try:
            with released_if_interrupted(ledger, work):
                return begun.run(
                    ledger, work, workers=workers, seconds=seconds, on_round=on_round, progress=progress,
                    take_over=take_over,
                )  # fmt: skip
        except BaseException:
            if ledger is not storage:  # nobody else can close it
                ledger.close()
            raise


class Search:
    """A search that is ready to run: whatever is wrong with its parts is said before a ledger is opened."""

    def __init__(
        self,
        vae: VAE,
        task: Task,
        config: SearchConfig,
        strategy: Any,
        warm: Sequence[ScoredDag],
        start: Sequence[Dag],
        about: dict[str, Any],
        retrain: Retraining | None = None,
    ) -> None:
        self.vae, self.task, self.config, self.warm, self.start = vae, task, config, warm, start
        self.retrained: RetrainedModel | None = None
        if retrain is not None:
            self.vae = copy.deepcopy(vae)
            self.retrained = RetrainedModel(self.vae, retrain, config.seed)
        _, self.entry = STRATEGIES.resolve(strategy)
        self.needs_start = self.entry.needs_start
        self._begin(config.seed)
        known = known_scores(warm, 0, higher_is_better=not config.minimize).best
        self.about = {
            "known_before": None if known is None else as_plain(known),
            **about,
            "task": task.full_name,
            **asdict(config),
            "direction": config.direction,
            "model": vae.config.name,
            "model_fingerprint": model_fingerprint(vae),
            "warm": len(warm),
            "warm_fingerprint": fingerprint(warm),
            "start_fingerprint": fingerprint(start),
            "retrain": None if retrain is None else retrain.describe(),
            "record": provenance.record(config.seed),
        }

    def run(
        self,
        ledger: Ledger,
        work: Work,
        *,
        workers: int = 1,
        seconds: float | None = None,
        on_round: OnRound | None = None,
        progress: bool | None = False,
        take_over: bool = False,
    ) -> Study:
        """Goes round by round until the budget or the time is spent, or nothing new is found."""
        study, begun = Study(ledger), time.monotonic()
        present = Presence(ledger, take_over=take_over)
        with present as presence, progress_bar("search", self.config.budget, "evaluations", progress) as bar:
            self._describe(ledger)
            bar.skip(sum(trial.finished for trial in ledger.trials()))
            number = self._restore(ledger)
            while seconds is None or time.monotonic() - begun < seconds:
                self._ask(ledger, number, presence)
                self._score(ledger, number, work, workers, bar)
                presence.check()
                trials = ledger.trials()
                told = _of_round(trials, number)
                ends = not told or len(trials) >= self.config.budget  # nothing new is found, or all are asked for
                if not ends:
                    self._learn(trials, number)
                    number += 1
                    ledger.describe(STATE, {"round": number, "strategy": self.strategy.state()})
                if (on_round is not None and on_round(study) is True) or ends:
                    break
            ledger.describe(ENDED, True)
        return study

    def _describe(self, ledger: Ledger) -> None:
        """Writes down what is searched, or makes sure that it is what was begun."""
        before = ledger.description().get(ABOUT)
        if before is not None:
            check_same(ledger.name, current(about_from(before, ledger.name)), self.about)
        ledger.describe(ABOUT, self.about)
        ledger.describe(ENDED, False)

    def _restore(self, ledger: Ledger) -> int:
        """Brings the strategy to where it was before the newest round; the number of that round."""
        known = ledger.description().get(STATE, {"round": 0, "strategy": None})
        trials = ledger.trials()
        number = round_from(known, len(trials), ledger.name)
        self._tell(self.warm)
        for earlier in range(number):
            self._learn(trials, earlier)
        if known["strategy"] is not None:
            try:
                self.strategy.restore(known["strategy"])
            except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
                problem = f"{type(error).__name__}: {error}"
                raise StudyError(f"the study {ledger.name!r} holds no state of its strategy ({problem})") from None
        return number

    def _begin(self, seed: int) -> None:
        """A strategy that knows nothing yet."""
        self.archive = Archive(self.task)
        self.strategy = self.entry.make(self.vae, self.archive, seed=seed)

    def _learn(self, trials: list[Trial], number: int) -> None:
        """Tells the scores of a round; a model that is retrained after it has a new strategy, which is told all."""
        self._tell(map(evaluation, _of_round(trials, number)))
        if self.retrained is None:
            return
        rounds = [_of_round(trials, each) for each in range(number + 1)]
        known = [*self.warm, *(evaluation(trial) for each in rounds for trial in each)]
        if self.retrained.follow(sum(map(len, rounds)), self._maximised(known)):
            self._begin(self.retrained.next_seed())
            self._tell(self.warm)
            for each in rounds:
                self._tell(map(evaluation, each))

    def _maximised(self, evaluations: Iterable[ScoredDag]) -> list[ScoredDag]:
        return [item if not self.config.minimize else _negative(item) for item in evaluations]

    def _tell(self, evaluations: Iterable[ScoredDag]) -> None:
        """Strategies maximise."""
        told = self._maximised(evaluations)
        self.strategy.tell(told)
        self.archive.add(told)  # where a strategy from outside did not

    def _ask(self, ledger: Ledger, number: int, presence: Presence) -> None:
        """Writes the candidates of a round down, but those that an interrupted search had written."""
        trials = ledger.trials()
        there = _of_round(trials, number)
        room = self.config.budget - (len(trials) - len(there))
        # Asked for even if all are there: the strategy must be left as an uninterrupted search leaves it.
        wanted = self._wanted(number, room)
        known = self.task.keys_of([trial.dag for trial in there])
        fresh = [dag for dag, key in zip(wanted, self.task.keys_of(wanted), strict=True) if key not in known]
        taken = {trial.place for trial in there}
        places = (place for place in range(len(wanted)) if place not in taken)
        presence.check()  # asking may have taken long, and another the study meanwhile
        for place, dag in zip(places, fresh, strict=False):
            ledger.propose(dag, {"round": number, "place": place})

    def _wanted(self, number: int, room: int) -> list[Dag]:
        """The start, then draws from the prior where a strategy cannot begin (paper, cold starts), then its own."""
        if number == 0 and self.start:
            return self.archive.take(self.start, room)
        count = min(self.config.batch, room)
        if self.needs_start and len(self.archive) < min(self.config.initial, self.config.budget):
            return RandomSearch(self.vae, self.archive, seed=self.config.seed + len(self.archive)).ask(count)
        return self.strategy.ask(count)

    def _score(self, ledger: Ledger, number: int, work: Work, workers: int, bar: Progress) -> None:
        """Waits until all candidates of the round are finished, scoring them here if there are workers here."""
        others = 0 if work.scores_rounds else workers - 1
        threads = [threading.Thread(target=_until_none, args=(ledger, work), daemon=True) for _ in range(others)]
        for thread in threads:
            thread.start()
        one_or_all: Callable[[Ledger, Work], object] = work_round if work.scores_rounds else work_once
        while True:
            done = one_or_all(ledger, work) if workers else None
            trials = ledger.trials()
            best = best_of(trials, not self.config.minimize)
            finished = sum(trial.finished for trial in trials)
            bar.update(finished - bar.done, **({} if best is None else {"best": f"{best.score:.7g}"}))
            if done:
                continue
            if all(trial.finished for trial in trials if trial.round == number):
                break
            ledger.reclaim()
            time.sleep(POLL_SECONDS if not workers else 0.02)
        for thread in threads:
            thread.join()


def _of_round(trials: list[Trial], number: int) -> list[Trial]:
    return sorted((trial for trial in trials if trial.round == number), key=lambda each: each.place)


def _until_none(ledger: Ledger, work: Work) -> None:
    with contextlib.suppress(AbandonedError, DvaeError):  # its candidate waits again, at once or when it is missed
        while work_once(ledger, work) is not None:
            pass


def _negative(item: ScoredDag) -> ScoredDag:
    return ScoredDag(item.dag, None if item.score is None else -item.score)


def _scored(warm: Iterable[ScoredDag] | None) -> list[ScoredDag]:
    """The known scores that a search can compute with."""
    usable = (item for item in warm or () if item.score is not None and abs(item.score) <= MAX_SCORE)
    return [ScoredDag(item.dag, item.score) for item in usable]
