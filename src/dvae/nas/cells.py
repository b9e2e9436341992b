"""Networks of NAS-Bench-201 cells (Dong and Yang, ICLR 2020): three stages of equal cells, two reductions.

A cell has four vertices; vertex 3 is the sum of what the operations on edges 0~3, 1~3 and 2~3 make of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dvae.config import check
from dvae.dag import Dag
from dvae.errors import DagError
from dvae.nas.layers import initialise
from dvae.tasks.nasbench201 import CELL_EDGES, OPERATIONS, WIRING


@dataclass(frozen=True)
class CellNetworkConfig:
    """The defaults are those of the benchmark."""

    width: int = 16  # channels of the first stage; they double where the resolution halves
    cells: int = 5  # in each of the three stages
    channels: int = 3  # of the images
    classes: int = 10

    def __post_init__(self) -> None:
        check(self.width >= 1 and self.cells >= 1, "a network has channels, and cells in every stage")
        check(self.channels >= 1 and self.classes >= 2, "images have a channel, and labels at least two classes")


class Zero(nn.Module):
    """The operation `none`: nothing passes."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


class Cell(nn.Module):
    """Six operations between four vertices."""

    def __init__(self, operations: tuple[str, ...], width: int) -> None:
        super().__init__()
        self.operations = nn.ModuleList(_operation(name, width) for name in operations)

    def forward(self, x: Tensor) -> Tensor:
        vertices: list[Tensor] = [x]
        for vertex in (1, 2, 3):
            arriving = [place for place, (_, end) in enumerate(CELL_EDGES) if end == vertex]
            values = [self.operations[place](vertices[CELL_EDGES[place][0]]) for place in arriving]
            vertices.append(sum(values[1:], values[0]))
        return vertices[-1]


class Halving(nn.Module):
    """A residual block that halves the resolution and doubles the channels."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.first, self.second = _convolution(before, after, 3, stride=2), _convolution(after, after, 3)
        self.shortcut = nn.Sequential(nn.AvgPool2d(2, stride=2), nn.Conv2d(before, after, 1, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        halved: Tensor = self.second(self.first(x)) + self.shortcut(x)
        return halved


class CellNetwork(nn.Module):
    """Stem, three stages of cells with a reduction between them, global average pool, linear classifier."""

    def __init__(self, operations: tuple[str, ...], config: CellNetworkConfig, seed: int = 0) -> None:
        super().__init__()
        widths = [config.width * 2**stage for stage in range(3)]
        stem = nn.Conv2d(config.channels, widths[0], 3, padding=1, bias=False)
        parts: list[nn.Module] = [stem, nn.BatchNorm2d(widths[0])]
        for stage, width in enumerate(widths):
            parts += [Halving(widths[stage - 1], width)] if stage else []
            parts += [Cell(operations, width) for _ in range(config.cells)]
        self.body = nn.Sequential(*parts, nn.BatchNorm2d(widths[-1]), nn.ReLU())
        self.classifier = nn.Linear(widths[-1], config.classes)
        initialise(self, seed)

    def forward(self, images: Tensor) -> Tensor:
        """Class scores."""  # batch class
        scores: Tensor = self.classifier(self.body(images).mean(dim=(2, 3)))
        return scores


def is_cell(dag: Dag) -> bool:
    """Whether a DAG is a cell of NAS-Bench-201."""
    return dag.edges == WIRING and all(label in OPERATIONS for label in dag.types[1:-1])


def cell_network(dag: Dag, config: CellNetworkConfig | None = None, *, seed: int = 0) -> CellNetwork:
    """The network of a cell, with fresh weights."""
    if not is_cell(dag):
        raise DagError("a cell of NAS-Bench-201 is an input, six operations and an output, wired as all are")
    return CellNetwork(tuple(map(str, dag.types[1:-1])), config or CellNetworkConfig(), seed)


def _operation(name: str, width: int) -> nn.Module:
    if name == "none":
        return Zero()
    if name == "skip_connect":
        return nn.Identity()
    if name == "avg_pool_3x3":
        return nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)
    return _convolution(width, width, 1 if name == "nor_conv_1x1" else 3)


def _convolution(before: int, after: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """ReLU, convolution, BN."""
    convolution = nn.Conv2d(before, after, kernel, stride=stride, padding=kernel // 2, bias=False)
    return nn.Sequential(nn.ReLU(), convolution, nn.BatchNorm2d(after))
