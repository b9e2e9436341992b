"""DAGs as values, as padded tensors, and in files."""

from dvae.dag.batch import DagBatch
from dvae.dag.column_tensors import ColumnTensors
from dvae.dag.columns import Column, Named, Value
from dvae.dag.convert import (
    from_dot,
    from_igraph,
    from_modelstring,
    from_networkx,
    from_pyg,
    to_dot,
    to_igraph,
    to_modelstring,
    to_networkx,
    to_pyg,
)
from dvae.dag.dataset import DagSet, Dataset, DataSource
from dvae.dag.differences import Difference, difference
from dvae.dag.generator import random_dags
from dvae.dag.jsonl import ScoredDag, Split, from_plain, load_jsonl, read_jsonl, to_plain, write_jsonl
from dvae.dag.original import read_bayesnet, read_enas, write_bayesnet, write_enas
from dvae.dag.reading import load_dags
from dvae.dag.schema import ColumnSchema, Schema
from dvae.dag.value import Dag, Edge, Label

__all__ = [
    "Column",
    "ColumnSchema",
    "ColumnTensors",
    "Dag",
    "DagBatch",
    "DagSet",
    "DataSource",
    "Dataset",
    "Difference",
    "Edge",
    "Label",
    "Named",
    "Schema",
    "ScoredDag",
    "Split",
    "Value",
    "difference",
    "from_dot",
    "from_igraph",
    "from_modelstring",
    "from_networkx",
    "from_plain",
    "from_pyg",
    "load_dags",
    "load_jsonl",
    "random_dags",
    "read_bayesnet",
    "read_enas",
    "read_jsonl",
    "to_dot",
    "to_igraph",
    "to_modelstring",
    "to_networkx",
    "to_plain",
    "to_pyg",
    "write_bayesnet",
    "write_enas",
    "write_jsonl",
]
