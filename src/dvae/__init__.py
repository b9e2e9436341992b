"""dvae: a continuous space of DAGs, to generate, compare, predict and optimise them.

Names are looked up when first used, so that `import dvae` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dvae import compat, data, evaluation, figures, models, nas, strategies, studies, tasks
    from dvae.dag import Dag, DagBatch
    from dvae.errors import DvaeError
    from dvae.models import VAE, load
    from dvae.studies.driver import search
    from dvae.training import fit

_HOMES = {
    "Dag": "dvae.dag",
    "DagBatch": "dvae.dag",
    "DvaeError": "dvae.errors",
    "VAE": "dvae.models",
    "load": "dvae.models",
    "fit": "dvae.training",
    "search": "dvae.studies",
}
_ROOMS = ("compat", "data", "evaluation", "figures", "models", "nas", "strategies", "studies", "tasks")

__all__ = [
    "VAE",
    "Dag",
    "DagBatch",
    "DvaeError",
    "compat",
    "data",
    "evaluation",
    "figures",
    "fit",
    "load",
    "models",
    "nas",
    "search",
    "strategies",
    "studies",
    "tasks",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return importlib.import_module(f"dvae.{name}")
    raise AttributeError(f"module 'dvae' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_ROOMS])
