"""How much memory a training step takes, and how a batch is split so that it fits.

The loss is a sum over graphs, so the gradient of a batch is the sum of its parts' gradients: a batch that is too large
is taken in parts, graphs of like size together, and the step is the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.devices import free_memory, lacks_memory
from dvae.errors import MemoryLimitError
from dvae.models.vae import VAE

GIGABYTE = 1e9
DEFAULT_GIGABYTES = 4.0  # on a CPU; the same on every machine, so that a run can be resumed anywhere
DEFAULT_SHARE = 0.7  # of a GPU's memory


@dataclass(frozen=True)
class Budget:
    """What a training step may take."""

    bytes: float

    @classmethod
    def of(cls, gigabytes: float | None, device: torch.device) -> Budget:
        """As the user says, or what suits the device."""
        if gigabytes is not None:
            return cls(gigabytes * GIGABYTE)
        if device.type == "cuda":
            return cls(DEFAULT_SHARE * torch.cuda.get_device_properties(device).total_memory)
        return cls(DEFAULT_GIGABYTES * GIGABYTE)

    def parts(self, vae: VAE, batch: DagBatch) -> list[Tensor] | None:
        """Which graphs to take together, the largest first; None where all fit at once."""
        nodes = batch.max_nodes
        if len(batch) * vae.bytes_per_graph(nodes, nodes * (nodes - 1) // 2) <= self.bytes:
            return None
        edges = batch.edge_counts()
        order = batch.num_nodes.argsort(descending=True, stable=True)
        sizes = [vae.bytes_per_graph(*each) for each in zip(batch.num_nodes.tolist(), edges.tolist(), strict=True)]
        if sum(sizes) <= self.bytes:
            return None
        parts: list[list[int]] = []
        room = 0.0
        for graph in order.tolist():
            if sizes[graph] > room:
                parts.append([])
                room = self.bytes
            parts[-1].append(graph)
            room -= sizes[graph]
        return [torch.tensor(part, device=batch.device) for part in parts]

    def graphs_at_once(self, vae: VAE, nodes: int, edges: int, batch_size: int) -> int:
        """How many graphs of one size to take together."""
        return max(1, min(batch_size, int(self.bytes // vae.bytes_per_graph(nodes, edges))))


def most_edges(data: DagBatch) -> int:
    """The number of edges of the fullest graph, with one into every node that has none: some models add it."""
    counts = [part.adjacency.sum(1).clamp(min=1) * part.node_mask() for part in data.split(1024)]  # batch node
    return max((int(count.sum(1).max()) for count in counts), default=0)


def check_fits(vae: VAE, data: DagBatch, budget: Budget) -> None:
    """Refuses graphs of which not even one fits the budget or the machine, before anything is computed."""
    nodes, edges = int(data.num_nodes.max()), most_edges(data)
    needed = vae.bytes_per_graph(nodes, edges)
    free = free_memory(vae.device)
    what = f"a training step on one graph of {nodes:,} nodes and {edges:,} edges takes about {_text(needed)}"
    smaller = f"a smaller model (hidden, now {vae.config.hidden}) or smaller graphs"
    if needed > budget.bytes:
        raise MemoryLimitError(
            f"{what}, and {_text(budget.bytes)} are allowed: raise the setting memory, or take {smaller}"
        )
    if free is not None and needed > free:
        raise MemoryLimitError(f"{what}, and this machine has {_text(free)} free: take {smaller}")


@contextlib.contextmanager
def explained(vae: VAE, data: DagBatch, batch_size: int, budget: Budget) -> Iterator[None]:
    """Turns a lack of memory into a sentence with the estimate and the setting to change."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryLimitError) or not lacks_memory(error):
            raise
        nodes = int(data.num_nodes.max())
        one = vae.bytes_per_graph(nodes, most_edges(data))
        step = min(batch_size * one, budget.bytes)
        lower = max(one, step / 2) / GIGABYTE
        raise MemoryLimitError(
            f"the {vae.device.type} has no memory left for a step of {batch_size} graphs of up to {nodes:,} nodes, "
            f"which takes about {_text(step)}: set memory={lower:.2g} (gigabytes) to have batches split, or take a "
            f"smaller batch_size, hidden or graphs"
        ) from None


def _text(count: float) -> str:
    return f"{count / GIGABYTE:,.1f} GB" if count >= GIGABYTE else f"{max(1, round(count / 1e6)):,} MB"
