"""How large a network is: parameters, and floating-point operations for one image."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.utils.flop_counter import FlopCounterMode

from dvae.nas.architecture import Architecture
from dvae.nas.config import NetworkConfig
from dvae.nas.network import MacroNetwork, fixed_network


@dataclass(frozen=True)
class Size:
    """`flops` are two per multiply-add, of convolutions and the classifier, in the forward pass of one image."""

    parameters: int
    flops: int


def size_of(architecture: Architecture, config: NetworkConfig, *, resolution: int = 32) -> Size:
    """The size of an architecture's network, without computing anything."""
    with torch.device("meta"):
        network = _meta_network(architecture, config)
        images = torch.empty(2, config.channels, resolution, resolution)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(images)
    return Size(count_parameters(network), counter.get_total_flops() // len(images))


def count_parameters(network: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def _meta_network(architecture: Architecture, config: NetworkConfig) -> MacroNetwork:
    return fixed_network(architecture, config).eval()
