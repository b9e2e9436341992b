"""The ENAS macro space: chains of layers with skip connections (paper, sections 4 and E).

A user's DAG is `input`, the layers, `output`. The input is the model's start node and the output its end node, so
nothing is added; position is meaning, since the outputs of several layers are joined in a fixed order.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from dvae.dag import Dag, DagBatch, Dataset, DataSource, ScoredDag, load_dags, read_enas
from dvae.dag.original import ENAS_OPERATIONS, enas_to_rows, parse_enas
from dvae.data.cache import data_folder
from dvae.errors import DagError, MissingError, TaskError
from dvae.tasks.base import ExportFormat, Look, ModelHints, Task, packed_rows, well_formed
from dvae.tasks.rules import ChainRules
from dvae.tasks.vocabulary import END_INDEX, Vocabulary

MAX_LAYERS = 256
PAPER_LAYERS = 6  # of the paper's scored architectures
PAPER_FILE = Path("enas/final_structures6.txt")
BURN_IN = 1_000  # paper, appendix H
DEFAULT_SIZE = 20_000  # architectures of other depths, sampled


class EnasTask(Task):
    """Architectures of at most `layers` layers; the paper's have 6 (and 12)."""

    examples: ClassVar[tuple[str, ...]] = ("enas6", "enas12")
    vocabulary = Vocabulary(("input", "output", *ENAS_OPERATIONS))
    hints = ModelHints(aggregation="gated-sum-position", bidirectional=True, gcn_rounds=3)
    rules = ChainRules()
    look = Look(palette="architecture", arrangement="column")
    notation = "an ENAS string such as [[4], [0, 1], ...], a JSONL line or DOT"
    preset = "paper"
    varies_in_size = False  # shallower networks are valid, but nobody looks for them

    def __init__(self, layers: int) -> None:
        if not 1 <= layers <= MAX_LAYERS:
            raise TaskError(f"an ENAS space has 1 to {MAX_LAYERS} layers, not {layers}")
        self.layers = layers
        self.name = f"enas{layers}"
        self.max_nodes = layers + 2

    @classmethod
    def from_name(cls, name: str) -> EnasTask | None:
        """`enas6`, `enas12`, or any other depth."""
        depth = re.fullmatch(r"enas(\d{1,4})", name)
        return EnasTask(int(depth.group(1))) if depth else None

    def spec(self) -> dict[str, Any]:
        return {"layers": self.layers}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> EnasTask:
        return cls(int(spec["layers"]))

    def recipe(self, device: str) -> Mapping[str, object]:
        """Measured on the paper's 17,118 architectures of six layers (docs/results/straight-axes.md)."""
        common = {"model.readout": "sum", "training.warmup": 100}
        if device == "cuda":
            return common | {
                "model.hidden": 501, "model.head_weight": 3.0, "model.kl_weight": 0.01,
                "training.batch_size": 512, "training.learning_rate": 3e-3, "training.epochs": 18,
            }  # fmt: skip
        return common | {"model.hidden": 64, "training.batch_size": 64, "training.learning_rate": 4e-3}

    def dataset(self, size: int | None = None, seed: int = 0) -> Dataset:
        """The paper's scored architectures of six layers; other depths are sampled."""
        if self.layers != PAPER_LAYERS:
            return self.sampled_dataset(DEFAULT_SIZE if size is None else size, seed)
        path = data_folder() / PAPER_FILE
        if not path.is_file():
            raise MissingError(
                f"the paper's scored architectures are not at {path}: set DVAE_DATA to the folder that holds "
                f"{PAPER_FILE}, or sample architectures with: dvae data enas6 --sample 20000 --out FILE.jsonl"
            )
        found = Dataset.split("enas6, the paper's architectures", list(read_enas(path))[BURN_IN:], size)
        return replace(found, source=DataSource(size=size, seed=seed))

    def read(self, path: str | Path) -> list[ScoredDag]:
        """JSONL, or the original implementation's text format in a .txt file."""
        return list(read_enas(path)) if Path(path).suffix == ".txt" else load_dags(path)

    def parse_rows(self, text: str, where: str) -> Dag:
        return parse_enas(text, where).dag

    def format(self, dag: Dag) -> str:
        try:
            return str(enas_to_rows(dag))
        except DagError:  # an invalid decoding, say: JSON holds any DAG
            return super().format(dag)

    def exports(self) -> tuple[ExportFormat, ...]:
        return (ExportFormat("pytorch", "PyTorch module", ".py", self._pytorch_source),)

    def _pytorch_source(self, dag: Dag) -> str:
        if len(dag) < 3 or not self.is_valid(dag):
            raise TaskError("this DAG is no architecture: it needs layers, each fed by the one before it")
        return pytorch_source(dag)

    def why_invalid(self, dag: Dag) -> str | None:
        unfed = next((node for node in range(1, len(dag)) if (node - 1, node) not in dag.edges), None)
        if unfed is not None:
            return f"node {unfed} must be fed by node {unfed - 1}, the one before it"
        return super().why_invalid(dag)

    def wrap(self, dag: Dag) -> Dag:
        return dag

    def unwrap(self, dag: Dag) -> Dag:
        return dag

    def valid(self, batch: DagBatch) -> Tensor:
        """Six checks of the paper (F.1): the four of `well_formed`, acyclic, and fed by the node before."""
        main_path = batch.adjacency.diagonal(offset=1, dim1=1, dim2=2)  # batch node-1
        inside = batch.node_mask()[:, 1:]
        return well_formed(batch) & (main_path | ~inside).all(1)

    def keys(self, batch: DagBatch) -> list[Hashable]:
        return packed_rows(batch.num_nodes[:, None], batch.types, batch.adjacency)

    def sample_batch(self, count: int, seed: int) -> DagBatch:
        """Uniform architectures of full depth: each layer and each skip connection drawn alike."""
        generator = torch.Generator().manual_seed(seed)
        nodes = self.max_nodes
        types = torch.zeros(count, nodes, dtype=torch.int64)
        types[:, 1:-1] = torch.randint(len(ENAS_OPERATIONS), (count, self.layers), generator=generator) + 2
        types[:, -1] = END_INDEX
        adjacency = torch.zeros(count, nodes, nodes, dtype=torch.bool)
        skips = torch.rand(count, nodes - 1, nodes - 1, generator=generator) < 0.5
        adjacency[:, :-1, :-1] = skips.triu(2)
        adjacency.diagonal(offset=1, dim1=1, dim2=2).fill_(True)
        return DagBatch(types, adjacency, torch.full((count,), nodes))


def pytorch_source(dag: Dag) -> str:
    """Python source of an architecture's network, as full training builds it."""
    lines = [
        '"""A neural architecture found by dvae, as a PyTorch module: images in, class scores out."""',
        "",
        "from torch import nn",
        "",
        "from dvae import Dag",
        "from dvae.nas import FULL, Architecture, fixed_network",
        "",
        f"TYPES = {dag.types!r}",
        f"EDGES = {dag.edges!r}",
        "",
        "",
        "def make_network(seed: int = 0) -> nn.Module:",
        "    return fixed_network(Architecture.from_dag(Dag(TYPES, EDGES)), FULL, seed=seed)",
    ]
    return "\n".join(lines) + "\n"
