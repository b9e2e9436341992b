"""How many nodes and layers a DAG will have, drawn from z before anything else.

    p(n | z)      over fewest .. most    nodes between start and end
    p(d | n, z)   over 1 .. n            layers of them (0, where there are no nodes)

Each is a mixture of logistic distributions, cut into whole numbers and normalised over the possible ones: near numbers
have near probabilities, so that few DAGs suffice to learn from.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.models.decoders.decisions import choose
from dvae.models.parts import Sampling
from dvae.models.transformer import plain_linear

COMPONENTS = 8
NARROWEST = 0.05  # scale of a component, in nodes or layers


class Outline(NamedTuple):
    """Of every graph: the nodes between start and end, and their layers."""

    nodes: Tensor  # batch
    layers: Tensor  # batch


class OutlinePart(nn.Module):
    """p(n, d | z)."""

    def __init__(self, latent: int, width: int, fewest: int, most: int) -> None:
        super().__init__()
        self.fewest, self.most = fewest, most
        self.inner = plain_linear(latent, width)
        self.nodes = plain_linear(width, 3 * COMPONENTS)
        self.given_nodes = plain_linear(2, width)
        self.layers = plain_linear(width, 3 * COMPONENTS)

    def node_scores(self, latents: Tensor) -> Tensor:
        """log p(n | z) for every n."""  # batch most+1
        span = latents.new_full((len(latents),), float(max(self.most, 1)))
        scores = self._masses(self.nodes(torch.relu(self.inner(latents))), span)
        impossible = torch.arange(self.most + 1, device=latents.device) < self.fewest
        return scores.masked_fill(impossible, -torch.inf).log_softmax(1)

    def layer_scores(self, latents: Tensor, nodes: Tensor) -> Tensor:
        """log p(d | n, z) for every d."""  # batch most+1
        share = nodes.to(latents.dtype) / max(self.most, 1)
        known = self.given_nodes(torch.stack([share, share.sqrt()], 1))
        scores = self._masses(self.layers(torch.relu(self.inner(latents) + known)), nodes.to(latents.dtype))
        counts = torch.arange(self.most + 1, device=nodes.device)
        possible = (counts <= nodes[:, None]) & (counts >= nodes[:, None].clamp(max=1))
        return scores.masked_fill(~possible, -torch.inf).log_softmax(1)

    def nll(self, latents: Tensor, outline: Outline) -> Tensor:
        """-log p(n, d | z)."""  # batch
        nodes = functional.nll_loss(self.node_scores(latents), outline.nodes, reduction="none")
        layers = functional.nll_loss(self.layer_scores(latents, outline.nodes), outline.layers, reduction="none")
        return nodes + layers

    def sample(self, latents: Tensor, sampling: Sampling) -> Outline:
        """One outline for each latent."""
        nodes = choose(self.node_scores(latents), sampling)
        return Outline(nodes, choose(self.layer_scores(latents, nodes), sampling))

    def _masses(self, numbers: Tensor, span: Tensor) -> Tensor:
        """The logarithm of the mass that a mixture has around every count; components start spread over the span."""
        weights, centres, scales = numbers.unflatten(1, (3, COMPONENTS)).unbind(1)  # batch component
        spread = torch.linspace(0, 1, COMPONENTS, device=numbers.device, dtype=numbers.dtype)
        centre = (centres + spread) * span[:, None]
        scale = NARROWEST + span[:, None] / COMPONENTS * functional.softplus(scales)
        counts = torch.arange(self.most + 1, device=numbers.device, dtype=numbers.dtype)
        above = (counts + 0.5 - centre[..., None]) / scale[..., None]  # batch component count
        below = (counts - 0.5 - centre[..., None]) / scale[..., None]
        # sigmoid(a) - sigmoid(b) = sigmoid(a) sigmoid(-b) (1 - exp(b - a)), which stays exact far out.
        mass = functional.logsigmoid(above) + functional.logsigmoid(-below)
        mass = mass + torch.log(-torch.expm1(-1 / scale))[..., None]
        masses: Tensor = (weights.log_softmax(1)[..., None] + mass).logsumexp(1)
        return masses
