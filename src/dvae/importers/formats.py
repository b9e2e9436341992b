"""Files of other programs by format: which reader takes which file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dvae.dag import Dag, load_dags
from dvae.dag.columns import NO_COLUMNS, Named
from dvae.dag.dot import all_from_dot
from dvae.dag.limits import check_size
from dvae.dag.reading import DOT_ENDINGS, GRAPHML_ENDING
from dvae.errors import ConfigError, DagError, FormatError
from dvae.importers.blif import from_blif
from dvae.importers.exported import ENDINGS as EXPORTED_ENDINGS
from dvae.importers.exported import PICKLES, from_exported_file, refuse_pickle
from dvae.importers.files import FilePath, read_json, read_text
from dvae.importers.onnx_files import ENDING as ONNX_ENDING
from dvae.importers.onnx_files import from_onnx
from dvae.importers.task_graphs import from_task_json
from dvae.importers.wfcommons import from_wfcommons, is_wfcommons

OWN_ENDINGS = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True)
class Format:
    """A kind of file: how its name ends, how it is read, and whether a type can be taken from a key of one's choice."""

    name: str
    endings: tuple[str, ...]
    read: Callable[..., list[Dag]]
    what: str
    chooses_type: bool = False


def _dot(path: FilePath, type_from: str | None = None) -> list[Dag]:
    found = all_from_dot(read_text(path), str(path), type_from=type_from, subgraphs=True)
    for dag in found:
        try:
            check_size(len(dag), len(dag.edges))
        except DagError as error:
            raise FormatError(f"{path}: {error}") from None
    return found


FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        Format("onnx", (ONNX_ENDING,), lambda path: [from_onnx(path)], "a neural network in ONNX"),
        Format("torch", EXPORTED_ENDINGS, lambda path: [from_exported_file(path)], "a program of torch.export"),
        Format("wfcommons", (), lambda path: [from_wfcommons(path)], "a workflow of WfCommons, JSON"),
        Format("tasks", (".json",), lambda path, type_from=None: [from_task_json(path, type_from=type_from)],
               "a task graph in JSON", chooses_type=True),
        Format("dot", DOT_ENDINGS, _dot, "a graph in DOT", chooses_type=True),
        Format("blif", (".blif",), lambda path: [from_blif(path)], "a netlist in BLIF"),
        Format("graphml", (GRAPHML_ENDING,), lambda path: [item.dag for item in load_dags(path)], "GraphML"),
    )
}  # fmt: skip


def import_file(
    path: FilePath,
    *,
    format: str | None = None,
    type_from: str | None = None,
    columns: Sequence[str] | None = None,
) -> list[Dag]:
    """The DAGs of a file of another program.

    `format` is one of `FORMATS` (None: told by the name's ending). `type_from` names the key or attribute that says
    what a node is, in DOT and task graphs ("name": its own name). `columns` are the columns to keep (None: all).
    """
    chosen = format_of(path, format)
    if type_from is not None and not chosen.chooses_type:
        raise ConfigError(
            f"{path}: types cannot be chosen in the format {chosen.name}, which says itself what they are"
        )
    options: dict[str, Any] = {"type_from": type_from} if chosen.chooses_type else {}
    return [with_columns(dag, columns) for dag in chosen.read(path, **options)]


def format_of(path: FilePath, name: str | None = None) -> Format:
    """The format of a file: as named, or as its ending says."""
    if name is not None:
        if name not in FORMATS:
            raise ConfigError(f"there is no format {name!r} to import; there are {', '.join(FORMATS)}")
        return FORMATS[name]
    ending = Path(path).suffix.lower()
    if ending in PICKLES:
        refuse_pickle(path)
    if ending in (".v", ".sv"):
        raise FormatError(
            f"{path}: Verilog is not read; make BLIF of it: yosys -p 'synth -flatten; write_blif FILE.blif' {path}"
        )
    if str(path).lower().endswith(OWN_ENDINGS):
        raise FormatError(f"{path}: a file of DAGs needs no import; train on it: dvae train --data {path}")
    found = next((each for each in FORMATS.values() if ending in each.endings), None)
    if found is None:
        known = ", ".join(ending for each in FORMATS.values() for ending in each.endings)
        raise FormatError(f"{path}: its name does not say what it is ({known}); name a format: {', '.join(FORMATS)}")
    if found.name == "tasks" and is_wfcommons(read_json(path)):
        return FORMATS["wfcommons"]
    return found


def with_columns(dag: Dag, columns: Sequence[str] | None) -> Dag:
    """The DAG with these columns of its nodes and edges only; None keeps all."""
    if columns is None or not dag.has_columns:
        return dag
    node, edge = (Named({name: held[name] for name in held if name in columns}) for held in (dag.node, dag.edge))
    return replace(dag, node=node or NO_COLUMNS, edge=edge or NO_COLUMNS)
