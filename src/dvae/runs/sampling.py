"""`sample`: new DAGs from a run or a model, on demand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dvae.dag import Dag
from dvae.models import VAE
from dvae.runs.run import Run


def sample(
    source: str | Path | Run | VAE,
    count: int = 10,
    *,
    given: Mapping[str, float] | None = None,
    valid: bool = False,
    seed: int | None = None,
    **options: Any,
) -> list[Dag]:
    """`count` new DAGs from a run's folder, a `Run` or a model; `given` are conditions by name (`VAE.sample`)."""
    if isinstance(source, str | Path):
        source = Run.open(source)
    return source.sample(count, given=given, valid=valid, seed=seed, **options)
