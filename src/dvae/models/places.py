"""Latents that belong to places of a DAG: z = (common | place 0 | place 1 | ..), as many for each place.

Whoever knows of nodes gives the moments of these latents by one map for all places, and whoever writes nodes reads them
where it writes. Of places without a node the moments are 0, which is the prior.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def moments(of_node: nn.Module, vectors: Tensor, mask: Tensor, places: int) -> Tensor:
    """The means of the latents of all places, then their log variances, from a vector for every node."""
    given = functional.pad(of_node(vectors) * mask, (0, 0, 0, places - vectors.shape[1]))  # batch place 2*latents
    return torch.cat([part.flatten(1) for part in given.chunk(2, 2)], 1)


def with_moments(mean: nn.Module, logvar: nn.Module, states: Tensor, own: int) -> tuple[Tensor, Tensor]:
    """Means and log variances of all latents: linear in the states, but for the last `own`, which end the states."""
    if not own:
        return mean(states), logvar(states)
    of_graph, own_mean, own_logvar = states.split([states.shape[1] - 2 * own, own, own], 1)
    return torch.cat([mean(of_graph), own_mean], 1), torch.cat([logvar(of_graph), own_logvar], 1)


def common_latents(latents: Tensor, own: int) -> Tensor:
    """The latents that no place has to itself; `own` are the others."""  # batch latent
    return latents[:, : latents.shape[1] - own]


def place_latents(latents: Tensor, own: int, places: int) -> Tensor:
    """The `own` latents that places have to themselves."""  # batch place latent
    given: Tensor = latents[:, latents.shape[1] - own :].unflatten(1, (places, -1))
    return given
