"""Of several DAGs drawn for what was asked for, the one that is predicted to be nearest to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.config import check
from dvae.dag import DagBatch, Dataset
from dvae.errors import ConfigError
from dvae.evaluation.graph_tensors import NodeInputs
from dvae.evaluation.labelled import Labelled
from dvae.evaluation.surrogate import Surrogate, SurrogateSettings, fit_surrogate
from dvae.models import VAE
from dvae.models.vae import NO_CONDITIONS
from dvae.tasks import Task

AT_ONCE = 2048  # DAGs whose properties are predicted together
PASSES = 400_000  # over one graph each, in training
EPOCHS = (40, 300)  # at least and at most
SEED = 1  # not that of the surrogates which judge what is chosen


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
        groups = max(1, AT_ONCE // count)
        wanted = asked.expand(len(batch) // count, -1).double().cpu()
        chosen = []
        for part, rows in zip(batch.split(count * groups), wanted.split(groups), strict=True):
            predicted = self._predicted(vae, part).view(len(rows), count, -1)
            distance = (predicted - rows[:, None]).square().nansum(2)  # group candidate
            broken = ~vae.task.valid(part).cpu().view_as(distance)
            best = distance.masked_fill(broken & ~broken.all(1, keepdim=True), torch.inf).argmin(1)
            chosen.append(part.select((torch.arange(len(rows)) * count + best).to(part.device)))
        return DagBatch.cat(chosen)

    def _predicted(self, vae: VAE, batch: DagBatch) -> Tensor:
        """The conditions of DAGs, standardised; NaN where there is no regressor of one."""  # dag condition
        if vae.conditions is None:
            raise ConfigError(NO_CONDITIONS)
        dags, known = vae.task.unbatch(batch), vae.conditions
        found = torch.full((len(dags), len(known.names)), torch.nan, dtype=torch.float64)
        for place, name in enumerate(known.names):
            if name in self.surrogates:
                centre, scale = float(known.centre[place]), float(known.scale[place])
                found[:, place] = (self.surrogates[name].predict(dags) - centre) / scale
        return found


def fit_chooser(
    task: Task, data: Dataset, names: Sequence[str], *, device: torch.device | str = "cpu", progress: bool | None = None
) -> Chooser:
    """Regressors of properties, trained on all training DAGs that have them; the test part is not looked at."""
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
