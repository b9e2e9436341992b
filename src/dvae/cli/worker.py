"""`dvae worker`: scores the candidates of a search, on this machine or any other that reaches its storage."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, output
from dvae.errors import MissingError, StudyError

if TYPE_CHECKING:
    from dvae.studies import Study

WAIT_SECONDS = 0.5


def worker(
    storage: Annotated[
        str, typer.Option(metavar="URL", envvar="DVAE_STORAGE", help="As `dvae search` was given, or printed, it.")
    ],
    study: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which study of the storage \\[default: the only one].")
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Scores a Dag. A worker imports no module because a database names it \\[default: the task's own "
            "score, or one that --allow names].",
        ),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCORE",
            envvar="DVAE_ALLOWED_SCORES",
            help="A score or a task that a study may name; a final ?* allows any arguments. May be repeated.",
        ),
    ] = None,
    count: Annotated[int | None, typer.Option(min=1, metavar="N", help="Score at most N candidates.")] = None,
    idle: Annotated[
        float | None, typer.Option(min=0.0, metavar="SECONDS", help="Leave when nothing was waiting for so long.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for a study that is not there yet.")] = False,
    timeout: options.Timeout = None,
    isolate: options.Isolate = None,
    attempts: options.Attempts = 3,
    prune: Annotated[bool, typer.Option("--prune", help="Leave candidates that report less than most did.")] = False,
    heartbeat: Annotated[int, typer.Option(min=1, metavar="SECONDS", help="Between signs of life.")] = 10,
    json: options.Json = False,
) -> None:
    """Score candidates of a search until it is over. Any number of workers may share a study.

    Try: dvae worker --storage postgresql://me@host/studies --study asia-trust-region-0
    """
    from dvae.studies import Work, work_on
    from dvae.studies.placement import placed_score
    from dvae.studies.trust import trusted_score
    from dvae.studies.values import objectives_of

    opened = _opened(storage, study, wait, heartbeat)
    sys.path.insert(0, "")  # a score may lie in a file beside which the command is given
    named, task = trusted_score(opened.name, opened.description, given=score, allowed=allow or ())
    output.note(f"Working on {opened.name!r}, scored by {named or 'the task itself'}")

    def stop(done: int, idle_seconds: float) -> bool:
        if count is not None and done >= count:
            return True
        if idle_seconds > WAIT_SECONDS and opened.ended:
            return True
        return idle is not None and idle_seconds > idle

    isolated = None if isolate is None else isolate == "yes"
    objectives = objectives_of(opened.description)
    with placed_score(named, task, isolate=isolated, timeout=timeout, attempts=attempts) as scored:
        work = Work(scored.function, timeout, prune, opened.higher_is_better, heartbeat, objectives=objectives)
        done = work_on(opened.ledger, work, stop=stop)
    opened.close()
    if json:
        output.print_json({"study": opened.name, "worker": work.name, "scored": done})
    else:
        output.note(f"Scored {output.counted(done, 'candidate')}")


def _opened(storage: str, name: str | None, wait: bool, heartbeat: int) -> Study:
    """The study, once its search has written down what it is about."""
    from dvae.studies import Study

    while True:
        try:
            opened = Study.open(storage, name, heartbeat=heartbeat)
            if opened.description:
                return opened
            problem = StudyError(f"the study {opened.name!r} has not begun; add --wait to wait for its search")
            if not wait:
                raise problem
        except (MissingError, StudyError):
            if not wait:
                raise
        time.sleep(WAIT_SECONDS)
