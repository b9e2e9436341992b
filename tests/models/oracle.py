"""The slow, obvious D-VAE (`dvae.models.reference`) with random weights, and the rules tests decode by."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from dvae.models.reference import ARCHITECTURES, END, NETWORKS, START, Rules, Variant

KINDS = {"dvae": ARCHITECTURES, "dvae_unidirectional": Variant(), "dvae_bn": NETWORKS}
GENERIC = Variant(messages="states")
GENERIC_SAMPLED_END = Variant(messages="states", end_edges="sampled")


def random_state(
    kind: Variant, *, hidden: int, latent: int, num_types: int, max_nodes: int, seed: int = 0, scale: float = 1.0
) -> dict[str, Tensor]:
    """Random float64 weights with the names and shapes of the original, the unused ones included."""
    generator = torch.Generator().manual_seed(seed)
    message = {"states": hidden, "positions": hidden + max_nodes, "types": num_types}[kind.messages]
    edge_inputs = 3 * hidden if kind.edge_context else 2 * hidden
    edge_width = hidden if kind.edge_context else 4 * hidden
    shapes: dict[str, tuple[int, ...]] = {}
    for gru in ("grue_forward", "grue_backward", "grud"):
        shapes[f"{gru}.weight_ih"] = (3 * hidden, num_types)
        shapes[f"{gru}.weight_hh"] = (3 * hidden, hidden)
        shapes[f"{gru}.bias_ih"] = shapes[f"{gru}.bias_hh"] = (3 * hidden,)
    linears = {
        "fc1": (latent, hidden),
        "fc2": (latent, hidden),
        "fc3": (hidden, latent),
        "add_vertex.0": (2 * hidden, hidden),
        "add_vertex.2": (num_types, 2 * hidden),
        "add_edge.0": (edge_width, edge_inputs),
        "add_edge.2": (1, edge_width),
        "gate_forward.0": (hidden, message),
        "gate_backward.0": (hidden, message),
    }
    if kind.bidirectional:
        linears["hv_unify.0"] = linears["hg_unify.0"] = (hidden, 2 * hidden)
    for name, shape in linears.items():
        shapes[f"{name}.weight"], shapes[f"{name}.bias"] = shape, shape[:1]
    shapes["mapper_forward.0.weight"] = shapes["mapper_backward.0.weight"] = (hidden, message)
    return {
        name: torch.randn(shape, generator=generator, dtype=torch.float64) * scale / shape[-1] ** 0.5
        for name, shape in shapes.items()
    }


def _any_but_start(types: Sequence[int], num_types: int) -> set[int]:
    return set(range(num_types)) - ({START, END} if len(types) == 1 else {START})


CONNECTED = Rules(_any_but_start, lambda source, target, fed: source == 0 and not fed)
CHAIN = Rules(_any_but_start, lambda source, target, fed: source == target - 1)
EACH_ONCE = Rules(
    lambda types, num_types: (set(range(2, num_types)) - set(types)) or {END},
    lambda source, target, fed: source == 0 and not fed,
)
