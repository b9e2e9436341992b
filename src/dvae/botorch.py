"""For BoTorch: a model's decoder and a score as one function of numbers, and DAGs of a fixed shape as categories."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from dvae.dag import Dag
from dvae.errors import ConfigError, TaskError
from dvae.extras import missing
from dvae.models import VAE
from dvae.studies import Score
from dvae.tasks import TabularTask, Task
from dvae.tasks.codes import code_of

try:
    from botorch.test_functions.synthetic import SyntheticTestFunction
except ImportError:
    raise missing("botorch", "search", "dvae.botorch") from None

__all__ = ["CodeScore", "LatentScore"]

BOX = 3.0  # standard deviations of the training data's latents


class _DagFunction(SyntheticTestFunction):
    """A function of points that stand for DAGs; equal DAGs are scored once."""

    _check_grad_at_opt = False

    def __init__(
        self, task: Task, score: Score | None, worst: float, bounds: list[tuple[float, float]], noise_std: float | None,
        negate: bool,
    ) -> None:  # fmt: skip
        if score is None and not task.can_score:
            raise TaskError(f"{task.name} has no score of its own: give one")
        self.dim = len(bounds)
        self.continuous_inds = list(range(self.dim))
        super().__init__(noise_std=noise_std, negate=negate, bounds=bounds, dtype=torch.float64)
        self.task, self.worst = task, worst
        self._score = task.score if score is None else score
        self._known: dict[object, float] = {}
        self._optimal_value = _optimum(task) if score is None else None

    @property
    def evaluations(self) -> int:
        """How many different DAGs were scored."""
        return len(self._known)

    def dags(self, X: Tensor) -> list[Dag | None]:
        """The DAG that each point stands for; None where it stands for none that is valid."""
        raise NotImplementedError

    def _evaluate_true(self, X: Tensor) -> Tensor:
        values = [self.worst if dag is None else self._value(dag) for dag in self.dags(X.reshape(-1, self.dim))]
        return torch.tensor(values, dtype=X.dtype, device=X.device).reshape(X.shape[:-1])

    def _value(self, dag: Dag) -> float:
        key = self.task.key(dag)
        if key not in self._known:
            self._known[key] = float(self._score(dag))
        return self._known[key]


class LatentScore(_DagFunction):
    """score(decode(z)): what BoTorch optimises is a latent vector, what is scored the valid DAG it decodes to.

    The box is that of the training data's latents, `box` standard deviations around their mean. A latent from which
    nothing valid is decoded has the value `worst`. Without a `score`, the task scores.
    """

    def __init__(
        self, vae: VAE, score: Score | None = None, *, worst: float = 0.0, box: float = BOX,
        noise_std: float | None = None, negate: bool = False,
    ) -> None:  # fmt: skip
        if not box > 0:
            raise ConfigError(f"box must be positive, not {box}")
        centre, spread = vae.latent_mean.tolist(), vae.latent_std.tolist()
        bounds = [(mean - box * std, mean + box * std) for mean, std in zip(centre, spread, strict=True)]
        super().__init__(vae.task, score, worst, bounds, noise_std, negate)
        self._models = (vae,)  # not as a part of this module: its weights are not parameters of the function

    def dags(self, X: Tensor) -> list[Dag | None]:
        (vae,) = self._models
        batch = vae.decode_batch(X.float(), greedy=True, valid=True)
        decoded = zip(self.task.unbatch(batch), self.task.valid(batch).tolist(), strict=True)
        return [dag if is_valid else None for dag, is_valid in decoded]

    def points(self, dags: Sequence[Dag]) -> Tensor:
        """Where DAGs lie, inside the box."""  # dag latent
        latents = self._models[0].encode(dags).mean.double().cpu()
        low, high = torch.as_tensor(self.bounds)
        return latents.clamp(low, high)


class CodeScore(_DagFunction):
    """DAGs of NAS-Bench-201, ENAS or a Bayesian network as categories, as test functions of holo-bench have them.

    A point has the number of a symbol at each place (`dvae.tasks.codes`); numbers between are rounded. Every point of
    the box stands for a valid DAG.
    """

    def __init__(
        self, task: Task, score: Score | None = None, *, noise_std: float | None = None, negate: bool = False
    ) -> None:  # fmt: skip
        self.code = code_of(task)
        bounds = [(0.0, float(len(symbols) - 1)) for symbols in self.code.choices]
        super().__init__(task, score, -math.inf, bounds, noise_std, negate)
        self.continuous_inds, self.categorical_inds = [], list(range(self.dim))
        self.num_states = max(len(symbols) for symbols in self.code.choices)

    def dags(self, X: Tensor) -> list[Dag | None]:
        return [self.code.dag(row) for row in X.round().long().tolist()]

    def points(self, dags: Sequence[Dag]) -> Tensor:
        """The categories of DAGs."""  # dag place
        return torch.tensor([self.code.numbers(dag) for dag in dags], dtype=torch.float64)

    def initial_solution(self, n: int = 1, seed: int = 0) -> Tensor:
        """The categories of random DAGs of the task."""
        return self.points(self.task.sample(n, seed=seed))


def _optimum(task: Task) -> float | None:
    return task.best(1 / len(task.entries)) if isinstance(task, TabularTask) else task.known_optimum()
