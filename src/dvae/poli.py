"""For poli: NAS-Bench-201, ENAS architectures and Bayesian networks as black boxes over sequences of symbols.

::

    from dvae.poli import black_box

    box = black_box("nasbench201")
    box(box.x0)
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy

from dvae.dag import Dag
from dvae.errors import MissingError, TaskError
from dvae.studies import Score
from dvae.tasks import Task, get
from dvae.tasks.codes import code_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["black_box"]


def black_box(
    task: str | Task, score: Score | None = None, *, start: int = 1, seed: int = 0, **options: Any
) -> Any:  # fmt: skip
    """A black box of poli: an array of symbols (sequences, places) in, an array of scores (sequences, 1) out.

    `task` is nasbench201, enas6-surrogate, asia, or any whose DAGs have a fixed shape (`dvae.tasks.codes`); without a
    `score`, the task scores. Its `x0` are `start` random DAGs. A sequence that stands for no DAG, since a place has a
    symbol of others, scores -inf. `options` are poli's own (`evaluation_budget`, `batch_size`, ...).
    """
    task = get(task)
    if score is None and not task.can_score:
        raise TaskError(f"{task.name} has no score of its own: give one (enas6-surrogate has one)")
    return _kind()(task, task.score if score is None else score, task.sample(start, seed=seed), **options)


@functools.cache
def _kind() -> type[Any]:
    """The class, made when poli is first needed."""
    try:
        from poli.core.abstract_black_box import AbstractBlackBox
        from poli.core.black_box_information import BlackBoxInformation
    except ImportError:
        raise MissingError(
            "a black box of poli needs the package poli-core: pip install --no-deps poli-core "
            "(it asks for numpy below 2, and works with 2)"
        ) from None

    class DagBlackBox(AbstractBlackBox):  # type: ignore[misc]
        """Scores of DAGs that are written as sequences of symbols."""

        def __init__(self, task: Task, score: Score, start: list[Dag], **options: Any) -> None:
            super().__init__(**options)
            self.task, self.code, self._score = task, code_of(task), score
            self.x0: NDArray[numpy.str_] = numpy.array([self.code.symbols(dag) for dag in start])

        def get_black_box_info(self) -> Any:
            """What solvers ask for: length, alphabet, ..."""
            return BlackBoxInformation(
                name=self.task.name, max_sequence_length=len(self.code), aligned=True, fixed_length=True,
                deterministic=True, alphabet=self.code.alphabet, discrete=True,
            )  # fmt: skip

        def dags(self, x: Any) -> list[Dag | None]:
            """The DAGs of sequences; None for those that stand for none."""
            return [self.code.from_symbols([str(symbol) for symbol in row]) for row in numpy.atleast_2d(x)]

        def _black_box(self, x: Any, context: Any = None) -> NDArray[numpy.float64]:
            values = [-numpy.inf if dag is None else float(self._score(dag)) for dag in self.dags(x)]
            return numpy.array(values, dtype=numpy.float64).reshape(-1, 1)

    return DagBlackBox
