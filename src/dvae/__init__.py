"""dvae: a continuous space of DAGs, to generate, compare, predict and optimise them.

Names are looked up when first used, so that `import dvae` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.2.0"

__all__ = [
    "VAE",
    "Dag",
    "DagBatch",
    "Dataset",
    "DvaeError",
    "Run",
    "Study",
    "Task",
    "bayesnet",
    "compat",
    "dag",
    "data",
    "errors",
    "evaluation",
    "figures",
    "fit",
    "importers",
    "load",
    "models",
    "nas",
    "sample",
    "search",
    "strategies",
    "studies",
    "tasks",
]

_ROOM_OF = {
    "Dag": "dag",
    "DagBatch": "dag",
    "Dataset": "dag",
    "DvaeError": "errors",
    "Run": "runs",
    "Study": "studies",
    "Task": "tasks",
    "VAE": "models",
    "fit": "runs",
    "load": "models",
    "sample": "runs",
    "search": "studies",
}

_ADAPTERS = ("botorch", "optuna", "poli", "sklearn")  # each needs the package of its name

if TYPE_CHECKING:
    from dvae import (
        bayesnet,
        compat,
        dag,
        data,
        errors,
        evaluation,
        figures,
        importers,
        models,
        nas,
        strategies,
        studies,
        tasks,
    )
    from dvae.dag import Dag, DagBatch, Dataset
    from dvae.errors import DvaeError
    from dvae.models import VAE, load
    from dvae.runs import Run, fit, sample
    from dvae.studies import Study, search
    from dvae.tasks import Task
else:  # hidden from type checkers, which then know the names above and no others

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _ROOM_OF:
            return getattr(import_module(f"dvae.{_ROOM_OF[name]}"), name)
        if name in __all__ or name in _ADAPTERS:
            return import_module(f"dvae.{name}")
        raise AttributeError(f"module 'dvae' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
