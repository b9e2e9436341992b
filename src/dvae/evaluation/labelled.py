"""DAGs with the values of one property, for regressors of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.config import check
from dvae.dag import Dag, DagSet, Dataset
from dvae.errors import ConfigError

NEAR = 20  # DAGs, nearest to a value, of which some are taken
MIN_KNOWN = 2  # DAGs of a part


@dataclass(frozen=True)
class Labelled:
    """DAGs with the values of a property."""

    dags: tuple[Dag, ...]
    values: tuple[float, ...]

    @classmethod
    def of(cls, data: Dataset, part: DagSet, name: str, limit: int | None = None, seed: int = 0) -> Labelled:
        """The DAGs of a part that have the property `name`, in an order drawn with `seed`; of many the first."""
        known = [dag for dag in part.dags if name in dag.properties]
        if len(known) < MIN_KNOWN:
            names = ", ".join(data.everything.property_names) or "none"
            raise ConfigError(
                f"{data.name}: fewer than 2 DAGs of a part have the property {name!r} (there are {names})"
            )
        order = torch.randperm(len(known), generator=torch.Generator().manual_seed(seed))[:limit].tolist()
        chosen = [known[place] for place in order]
        return cls(tuple(chosen), tuple(float(dag.properties[name]) for dag in chosen))

    @classmethod
    def parts(
        cls, data: Dataset, name: str, limit: int | None = None, seed: int = 0
    ) -> tuple[Labelled, Labelled]:  # fmt: skip
        """Of training and of validation DAGs; `limit` of the former, and a tenth as many of the latter.

        Where fewer than two validation DAGs have the property, a tenth of the training DAGs is kept back for them.
        """
        check(limit is None or limit >= 10, f"labels must be at least 10, not {limit}")
        train = cls.of(data, data.train, name, limit, seed)
        if sum(name in dag.properties for dag in data.validation.dags) >= MIN_KNOWN:
            few = None if limit is None else max(MIN_KNOWN, limit // 10)
            return train, cls.of(data, data.validation, name, few, seed)
        kept = max(MIN_KNOWN, len(train.dags) // 10)
        if len(train.dags) < kept + MIN_KNOWN:
            raise ConfigError(
                f"{data.name}: {len(train.dags)} training DAGs have the property {name!r}; a regressor needs at least "
                f"{2 * MIN_KNOWN}"
            )
        return (
            cls(train.dags[kept:], train.values[kept:]),
            cls(train.dags[:kept], train.values[:kept]),
        )

    @property
    def tensor(self) -> Tensor:
        return torch.tensor(self.values, dtype=torch.float64)

    def near(self, values: Sequence[float], generator: torch.Generator, copies: int = 1) -> list[int]:
        """For each value `copies` times one of the DAGs whose own values are nearest, at random."""
        known, chosen = self.tensor, []
        for value in values:
            nearest = (known - value).abs().argsort(stable=True)[:NEAR]
            chosen += nearest[torch.randint(len(nearest), (copies,), generator=generator)].tolist()
        return chosen
