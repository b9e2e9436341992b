"""Python objects that have a graph: modules of PyTorch, programs of torch, pipelines of scikit-learn, lists of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx, nn

from dvae.dag import Dag
from dvae.errors import DagError
from dvae.importers.sklearn_pipelines import from_sklearn
from dvae.importers.torch_graphs import Level, from_exported_program, from_fx, from_module, from_torchscript


def import_object(thing: Any, shapes: Sequence[Sequence[int]] = (), *, level: Level = "modules") -> list[Dag]:
    """The DAGs of an object, or of every object of a list; a function is called first.

    `shapes` are those of example inputs, zeros, with which modules are traced.
    """
    if callable(thing) and not isinstance(thing, nn.Module):
        thing = thing()
    if isinstance(thing, Dag):
        return [thing]
    if isinstance(thing, list | tuple):
        return [dag for each in thing for dag in import_object(each, shapes, level=level)]
    return [_graph(thing, shapes, level)]


def _graph(thing: Any, shapes: Sequence[Sequence[int]], level: Level) -> Dag:
    if isinstance(thing, torch.export.ExportedProgram):
        return from_exported_program(thing)
    if isinstance(thing, torch.jit.ScriptModule):
        return from_torchscript(thing)
    if isinstance(thing, nn.Module):
        if isinstance(thing, fx.GraphModule) and not shapes and level == "modules":
            return from_fx(thing)
        return from_module(thing.eval(), *(torch.zeros(*shape) for shape in shapes), level=level)
    if "sklearn" in sys.modules and hasattr(thing, "get_params"):
        return from_sklearn(thing)
    raise DagError(
        f"{type(thing).__name__} has no graph that is known here; a module of PyTorch, a program of torch.export, a "
        "script, an estimator of scikit-learn, a Dag, or a list of them is expected"
    )
