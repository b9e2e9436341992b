"""Architectures in files: read, sampled, and scored with shared weights."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dvae.dag import Dag, ScoredDag, load_jsonl, write_jsonl
from dvae.dag.lines import numbered_lines
from dvae.errors import DagError, FormatError, TaskError
from dvae.nas.architecture import Architecture
from dvae.nas.config import NetworkConfig
from dvae.nas.scores import SharedWeightAccuracy
from dvae.progress import progress_bar
from dvae.tasks import EnasTask, Task

MAX_AT_ONCE = 2_000  # architectures scored together: more share more, but wait longer to be written
SECONDS_AT_ONCE = 15.0  # a batch is kept to about this time
FIRST = 50  # architectures scored to see how long they take
CHECKED = 3  # architectures scored again before a file is continued
BLOCK = 1_000  # architectures sampled with one seed
MAX_DEPTH = 256  # layers, where no supernet sets a limit


@dataclass(frozen=True)
class ScoredFile:
    """A file of scored architectures, how many of them were scored now, and in how many seconds."""

    items: tuple[ScoredDag, ...]
    scored_now: int
    seconds: float

    @property
    def rate(self) -> float | None:
        """Architectures scored per second."""
        return self.scored_now / self.seconds if self.scored_now else None


def ranked(items: Sequence[ScoredDag]) -> list[ScoredDag]:
    """The best first, where there are scores."""
    return sorted(items, key=lambda item: -(item.score if item.score is not None else float("-inf")))


def best_networks(items: Sequence[ScoredDag], network: NetworkConfig) -> list[ScoredDag]:
    """The best first; of those that build the same network, the best alone."""
    kept: dict[Architecture, ScoredDag] = {}
    for item in ranked(items):
        kept.setdefault(Architecture.from_dag(item.dag).as_built(network), item)
    return list(kept.values())


def read_architectures(path: Path, depth: int | None = None) -> list[ScoredDag]:
    """The architectures of a file; the error names the line of the first that is none, or has over `depth` layers."""
    items = EnasTask(depth or MAX_DEPTH).read(path)
    for place, item in enumerate(items):
        try:
            found = Architecture.from_dag(item.dag)
            if depth is not None and len(found) > depth:
                raise DagError(f"the architecture has {len(found)} layers, the supernet {depth}")
        except DagError as error:
            line, _ = next(islice(numbered_lines(path), place, None))
            raise FormatError.at(path, line, str(error)) from None
    return items


def sample_distinct(task: Task, count: int, seed: int) -> list[Dag]:
    """Distinct DAGs of the task's sampler; those of a smaller `count` are the first of those of a larger one."""
    found: dict[Dag, None] = {}
    blocks = 0
    while len(found) < count:
        before = len(found)
        found |= dict.fromkeys(task.sample(BLOCK, seed + 1_000_003 * blocks))
        blocks += 1
        if len(found) == before:
            raise TaskError(f"{task.name} has hardly more than {before:,} architectures; ask for fewer")
    return list(found)[:count]


def write_scored(
    path: Path, score: SharedWeightAccuracy, count: int, *, seed: int = 0, progress: bool | None = None
) -> ScoredFile:
    """Samples `count` architectures and scores them into a JSONL file; those that it holds already are kept."""
    wanted = sample_distinct(EnasTask(score.config.depth), count, seed)
    done = _known(path, score, wanted)
    seconds, before, at_once = 0.0, len(done), FIRST
    with progress_bar("data set", count, "architectures", progress) as bar:
        bar.skip(before)
        while len(done) < count:
            part = wanted[len(done) : len(done) + at_once]
            begun = time.perf_counter()
            done += map(ScoredDag, part, score.many(part, progress=False))
            spent = time.perf_counter() - begun
            write_jsonl(path, done)
            seconds += spent
            at_once = max(1, min(MAX_AT_ONCE, round(SECONDS_AT_ONCE * len(part) / spent)))
            bar.update(len(part))
    return ScoredFile(tuple(done), count - before, seconds)


def _known(path: Path, score: SharedWeightAccuracy, wanted: Sequence[Dag]) -> list[ScoredDag]:
    """What the file holds, if it is the beginning of what is wanted."""
    done = load_jsonl(path) if path.is_file() else []
    if len(done) > len(wanted):
        raise FormatError(f"{path} holds {len(done):,} architectures, more than --count {len(wanted):,}")
    if [item.dag for item in done] != wanted[: len(done)] or any(item.score is None for item in done):
        raise FormatError(f"{path} holds something else: write to another file, or continue it with the same seed")
    if [item.score for item in done[:CHECKED]] != score.many([item.dag for item in done[:CHECKED]]):
        raise FormatError(f"{path} has other scores than these shared weights give with these images, batch and device")
    return done
