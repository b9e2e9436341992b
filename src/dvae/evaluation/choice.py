"""Of several DAGs drawn for what was asked for, the one that is predicted to be nearest to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dvae.config import check
from dvae.dag import Dag, DagBatch, Dataset
from dvae.errors import ConfigError
from dvae.evaluation.common import block_size, next_seed
from dvae.evaluation.graph_tensors import NodeInputs
from dvae.evaluation.labelled import Labelled
from dvae.evaluation.surrogate import Surrogate, SurrogateSettings, fit_surrogate
from dvae.models import VAE
from dvae.models.conditions import Conditions
from dvae.models.vae import NO_CONDITIONS, random_numbers
from dvae.progress import progress_bar
from dvae.tasks import Task

AT_ONCE = 2048  # DAGs whose properties are predicted together
PASSES = 250_000  # over one graph each in training, where that is between the epochs below
EPOCHS = (12, 300)  # at least and at most
SEED = 7_310_459  # of no surrogate that judges what is chosen


@dataclass(frozen=True)
class Chooser:
    """Regressors by the names of properties."""

    surrogates: Mapping[str, Surrogate]

    def nearest(self, count: int, vae: VAE, batch: DagBatch, asked: Tensor) -> DagBatch:
        """One of every `count` DAGs in a row: the one whose predicted properties are nearest to those asked for.

        A DAG that breaks the task's rules is chosen only where all of them do. `asked` are conditions, standardised
        (`Conditions.row`), as one row or a row for each DAG to be chosen; NaN is left open.
        """
        check(count >= 1, f"a DAG is chosen from at least 1, not from {count}")
        check(len(batch) % count == 0, f"{len(batch):,} DAGs cannot be divided into groups of {count}")
        if vae.conditions is None:
            raise ConfigError(NO_CONDITIONS)
        groups = max(1, AT_ONCE // count)
        wanted = asked.expand(len(batch) // count, -1).double().cpu()
        counts = zip(vae.conditions.names, (~wanted.isnan()).any(0).tolist(), strict=True)
        missing = [name for name, is_asked in counts if is_asked and name not in self.surrogates]
        if missing:
            raise ConfigError(f"there is no regressor of {', '.join(missing)} to choose by")
        if not len(batch):
            return batch
        chosen = []
        for part, rows in zip(batch.split(count * groups), wanted.split(groups), strict=True):
            predicted = self._predicted(vae, vae.conditions, part).view(len(rows), count, -1)
            squares = torch.where(rows[:, None].isnan(), 0.0, (predicted - rows[:, None]).square())
            distance = squares.sum(2).nan_to_num(nan=torch.inf)  # group candidate
            broken = ~vae.task.valid(part).cpu().view_as(distance)
            best = distance.masked_fill(broken & ~broken.all(1, keepdim=True), torch.inf).argmin(1)
            chosen.append(part.select((torch.arange(len(rows)) * count + best).to(part.device)))
        return DagBatch.cat(chosen)

    def best(
        self, count: int, vae: VAE, like: Sequence[Dag | None], given: Mapping[str, float], *,
        change: float | None = None, seed: int | None = None, progress: bool | None = None, **how: Any,
    ) -> DagBatch:  # fmt: skip
        """One DAG like each of `like`, or new where that is None: of `count`, the nearest to what is `given`.

        DAGs like others are variations of them by `change`, or, without it, what they would be with other conditions;
        `how` is `greedy` and `valid`. All of `like` are DAGs, or none is.
        """
        if vae.conditions is None:
            raise ConfigError(NO_CONDITIONS)
        asked, seeds = vae.conditions.row(given), random_numbers(seed)
        groups, made = max(1, block_size(vae, 1) // count), []
        with progress_bar("DAGs", len(like), "DAGs", progress) as bar:
            for start in range(0, len(like), groups):
                some = like[start : start + groups]
                several = drawn(vae, some, given, change, copies=count, seed=next_seed(seeds), **how)
                made.append(self.nearest(count, vae, several, asked))
                bar.update(len(some))
        return DagBatch.cat(made) if made else vae.task.batch([])

    def _predicted(self, vae: VAE, known: Conditions, batch: DagBatch) -> Tensor:
        """The conditions of DAGs, standardised; NaN where there is no regressor of one."""  # dag condition
        dags = vae.task.unbatch(batch)
        found = torch.full((len(dags), len(known.names)), torch.nan, dtype=torch.float64)
        for place, name in enumerate(known.names):
            if name in self.surrogates:
                centre, scale = float(known.centre[place]), float(known.scale[place])
                found[:, place] = (self.surrogates[name].predict(dags) - centre) / scale
        return found


def drawn(
    vae: VAE, like: Sequence[Dag | None], given: Mapping[str, float] | None, change: float | None, *, copies: int = 1,
    seed: int | None = None, **how: Any,
) -> DagBatch:  # fmt: skip
    """`copies` DAGs for each of `like`, in a row: new ones, variations, or what they would be with other conditions."""
    known = [dag for dag in like if dag is not None]
    if not known:
        latents = vae.prior(copies * len(like), seed=seed, given=given)
        return vae.decode_batch(latents, seed=seed, given=given, **how)
    if change is None:
        return vae.with_conditions_batch(known, given or {}, copies=copies, seed=seed, **how)
    return vae.variations_batch(known, change, given=given, copies=copies, seed=seed, **how)


def fit_chooser(
    task: Task, data: Dataset, names: Sequence[str], *, device: torch.device | str = "cpu", progress: bool | None = None
) -> Chooser:
    """Regressors of properties, trained on the training DAGs that have them; the test part is not looked at.

    The validation DAGs say which epoch was best, or, where they do not have the property, a tenth of the training DAGs.
    """
    fitted = {}
    for name in names:
        train, validation = Labelled.parts(data, name)
        epochs = min(max(PASSES // len(train.dags), EPOCHS[0]), EPOCHS[1])
        fitted[name] = fit_surrogate(
            NodeInputs.of(task, train.dags), train.dags, train.tensor, validation.dags, validation.tensor,
            settings=SurrogateSettings(epochs=epochs, patience=max(10, epochs // 5)), seed=SEED,
            title=f"regressor of {name}", device=device, progress=progress,
        )  # fmt: skip
    return Chooser(fitted)
