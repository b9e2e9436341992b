"""The ledger of a search: which DAGs were proposed, who scores them, what came out.

A candidate is written down before it is scored and again afterwards. Everything a search needs to go on after a crash
is in the ledger: its trials, and the state its strategy was in when the newest round was asked for.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, get_args

from dvae.config import check
from dvae.dag import Dag

Direction = Literal["maximize", "minimize"]
State = Literal["waiting", "running", "complete", "failed", "pruned"]
STATES: tuple[State, ...] = get_args(State)
FINISHED = ("complete", "failed", "pruned")
LOST = "lost"  # the attribute of a trial that counts its dead workers


@dataclass(frozen=True)
class Trial:
    """One candidate of a search and what became of it."""

    number: int
    dag: Dag
    score: float | None = None  # as the user's score gave it
    state: State = "waiting"
    error: str | None = None  # why it failed
    attributes: Mapping[str, Any] = field(default_factory=dict)  # round, place, worker, seconds, ...

    def __post_init__(self) -> None:
        check(self.state in STATES, f"a trial is {', '.join(STATES)}, not {self.state!r:.40}")
        check((self.score is not None) == (self.state == "complete"), "a trial has a score exactly when complete")

    @property
    def finished(self) -> bool:
        """Whether it is complete, pruned or failed."""
        return self.state in FINISHED

    @property
    def round(self) -> int:
        """The round of the search it was proposed in."""
        return int(self.attributes.get("round", 0))

    @property
    def lost(self) -> int:
        """How many workers had begun with it and were not heard of again."""
        return int(self.attributes.get(LOST, 0))

    @property
    def place(self) -> int:
        """Where in its round the candidate stands."""
        return int(self.attributes.get("place", self.number))


@dataclass(frozen=True)
class Outcome:
    """What scoring a candidate came to: a score, or why there is none."""

    score: float | None = None
    error: str | None = None
    pruned: bool = False
    values: Mapping[str, float] | None = None  # by name, of a score that gives several

    @property
    def state(self) -> State:
        """The state of a trial that ended like this."""
        return "complete" if self.score is not None else "pruned" if self.pruned else "failed"


class Ledger(Protocol):
    """Where trials are kept. All calls may come from several threads and, for some ledgers, several machines."""

    name: str

    def describe(self, key: str, value: Any) -> None:
        """Writes a plain value down under `key`, in one step."""
        ...

    def description(self) -> dict[str, Any]:
        """All that was written down, by key."""
        ...

    def claim(self, key: str, value: Any, free: Callable[[Any], bool]) -> Any:
        """Writes `value` down if what stands under `key` (None: nothing) is `free`, both in one step.

        Returns what stood there.
        """
        ...

    def propose(self, dag: Dag, attributes: Mapping[str, Any]) -> int:
        """A new waiting trial; its number."""
        ...

    def take(self, worker: str) -> Trial | None:
        """A waiting trial, running from now on; nobody else gets it."""
        ...

    def alive(self, number: int) -> None:
        """Says that the worker of a running trial is still at it."""
        ...

    def report(self, number: int, step: int, value: float) -> None:
        """An intermediate value of a running trial."""
        ...

    def reports_of_finished(self) -> list[dict[int, float]]:
        """The intermediate values of each finished trial, by step."""
        ...

    def finish(self, number: int, outcome: Outcome, attributes: Mapping[str, Any]) -> bool:
        """Writes down what came out; False where another had finished the trial before."""
        ...

    def release(self, number: int) -> None:
        """Sets a running trial waiting again: its worker gives it up."""
        ...

    def reclaim(self) -> list[int]:
        """Sets trials waiting again whose workers have died, counts that (`LOST`), and returns their numbers."""
        ...

    def trials(self) -> list[Trial]:
        """All trials, by number."""
        ...

    def close(self) -> None:
        """Lets go of connections; what is written stays."""
        ...


class MemoryLedger(Ledger):
    """A ledger that lasts as long as the process: for searches that nobody has to resume."""

    def __init__(self, name: str = "search") -> None:
        self.name = name
        self._lock = threading.Lock()
        self._trials: list[Trial] = []
        self._description: dict[str, Any] = {}
        self._reports: dict[int, dict[int, float]] = {}

    def describe(self, key: str, value: Any) -> None:
        with self._lock:
            self._description[key] = copy.deepcopy(value)

    def description(self) -> dict[str, Any]:
        with self._lock:
            return copy.deepcopy(self._description)

    def claim(self, key: str, value: Any, free: Callable[[Any], bool]) -> Any:
        with self._lock:
            before = self._description.get(key)
            if free(before):
                self._description[key] = copy.deepcopy(value)
            return copy.deepcopy(before)

    def propose(self, dag: Dag, attributes: Mapping[str, Any]) -> int:
        with self._lock:
            self._trials.append(Trial(len(self._trials), dag, attributes=dict(attributes)))
            return len(self._trials) - 1

    def take(self, worker: str) -> Trial | None:
        with self._lock:
            waiting = next((trial for trial in self._trials if trial.state == "waiting"), None)
            if waiting is None:
                return None
            taken = replace(waiting, state="running", attributes={**waiting.attributes, "worker": worker})
            self._trials[taken.number] = taken
            return taken

    def alive(self, number: int) -> None:
        pass  # its workers live and die with the process

    def report(self, number: int, step: int, value: float) -> None:
        with self._lock:
            self._reports.setdefault(number, {})[step] = value

    def reports_of_finished(self) -> list[dict[int, float]]:
        with self._lock:
            return [dict(values) for number, values in self._reports.items() if self._trials[number].finished]

    def finish(self, number: int, outcome: Outcome, attributes: Mapping[str, Any]) -> bool:
        with self._lock:
            trial = self._trials[number]
            if trial.finished:
                return False
            self._trials[number] = replace(
                trial,
                score=outcome.score,
                state=outcome.state,
                error=outcome.error,
                attributes={**trial.attributes, **attributes},
            )
            return True

    def release(self, number: int) -> None:
        with self._lock:
            if self._trials[number].state == "running":
                self._trials[number] = replace(self._trials[number], state="waiting")

    def reclaim(self) -> list[int]:
        return []

    def trials(self) -> list[Trial]:
        with self._lock:
            return list(self._trials)

    def close(self) -> None:
        pass
