"""The parts of a macro network: stem, operations, joins of skip inputs, reductions.

A convolution branch is ReLU, 1x1, BN, ReLU, kxk, BN; a pooling branch ReLU, 1x1, BN, ReLU, pool (Pham et al., ENAS,
ICML 2018). A reduction halves the resolution by two 1x1 convolutions of every second pixel, one of them a pixel off.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dvae.errors import DagError
from dvae.nas.config import NetworkConfig

KERNELS = {"conv3": 3, "sep3": 3, "conv5": 5, "sep5": 5}


def normalisation(width: int, config: NetworkConfig) -> nn.BatchNorm2d:
    """In a supernet running statistics would be a mixture over architectures; those of the batch are one's own."""
    return nn.BatchNorm2d(width, track_running_stats=config.statistics == "running")


def stem(config: NetworkConfig) -> nn.Sequential:
    """A 3x3 convolution and BN."""
    convolution = nn.Conv2d(config.channels, config.width, 3, padding=1, bias=False)
    return nn.Sequential(convolution, normalisation(config.width, config))


def operation(name: str, width: int, config: NetworkConfig) -> nn.Sequential:
    """The operation of a layer; it keeps channels and resolution."""
    parts: list[nn.Module] = [nn.ReLU(), nn.Conv2d(width, width, 1, bias=False), normalisation(width, config)]
    parts.append(nn.ReLU())
    if name == "avg3":
        parts.append(nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False))
    elif name == "max3":
        parts.append(nn.MaxPool2d(3, stride=1, padding=1))
    elif name in KERNELS:
        parts += [*_convolution(name, width, config), normalisation(width, config)]
    else:
        raise DagError(f"there is no operation {name!r}")
    return nn.Sequential(*parts)


def _convolution(name: str, width: int, config: NetworkConfig) -> list[nn.Module]:
    kernel = KERNELS[name]
    if name.startswith("sep") and config.separable == "depthwise":
        depthwise = nn.Conv2d(width, width, kernel, padding=kernel // 2, groups=width, bias=False)
        return [depthwise, nn.Conv2d(width, width, 1, bias=False)]
    return [nn.Conv2d(width, width, kernel, padding=kernel // 2, bias=False)]


class SumJoin(nn.Module):
    """BN of the sum of an operation's output and its skip inputs."""

    def __init__(self, width: int, config: NetworkConfig) -> None:
        super().__init__()
        self.normalisation = normalisation(width, config)

    def forward(self, output: Tensor, skips: Sequence[Tensor], sources: Sequence[int]) -> Tensor:
        for skip in skips:
            output = output + skip
        joined: Tensor = self.normalisation(output)
        return joined


class ConcatJoin(nn.Module):
    """ReLU of output and skip inputs side by side, brought back to the width by a 1x1 convolution, then BN.

    The kernel has a block of columns for the output and one for each of `sources`; those of absent ones are left out.
    """

    def __init__(self, width: int, sources: Sequence[int], config: NetworkConfig) -> None:
        super().__init__()
        self.sources = tuple(sources)
        self.weight = nn.Parameter(torch.empty(width, 1 + len(sources), width))
        self.normalisation = normalisation(width, config)

    def blocks(self, sources: Sequence[int]) -> list[int]:
        """Where the kernel holds the output and these sources."""
        return [0, *(1 + self.sources.index(source) for source in sources)]

    def forward(self, output: Tensor, skips: Sequence[Tensor], sources: Sequence[int]) -> Tensor:
        if not skips:
            return output
        whole = len(sources) == len(self.sources)
        weight = self.weight if whole else self.weight[:, self.blocks(sources)]
        side_by_side = F.relu(torch.cat([output, *skips], dim=1))
        joined: Tensor = self.normalisation(F.conv2d(side_by_side, weight.flatten(1)[:, :, None, None]))
        return joined


class Reduction(nn.Module):
    """Half the resolution: every second pixel, and the ones diagonally beside them, each by a 1x1 convolution."""

    def __init__(self, width_in: int, width_out: int, config: NetworkConfig) -> None:
        super().__init__()
        self.even = nn.Conv2d(width_in, width_out // 2, 1, bias=False)
        self.odd = nn.Conv2d(width_in, width_out - width_out // 2, 1, bias=False)
        self.normalisation = normalisation(width_out, config)

    def forward(self, value: Tensor) -> Tensor:
        # Not by a stride of 2: on CPUs without AVX-512 oneDNN's gradient of that writes where it must not, if there are
        # fewer than eight channels and they come last (torch 2.13).
        there, beside = value[:, :, ::2, ::2], value[:, :, 1::2, 1::2]
        if value.shape[2] % 2 or value.shape[3] % 2:  # the last pixel has nothing beside it
            beside = F.pad(beside, (0, value.shape[3] % 2, 0, value.shape[2] % 2))
        reduced: Tensor = self.normalisation(torch.cat([self.even(there), self.odd(beside)], dim=1))
        return reduced


def initialise(module: nn.Module, seed: int) -> None:
    """He-normal kernels and a small classifier, drawn with `seed` wherever the module lives."""
    generator = torch.Generator().manual_seed(seed)
    for part in module.modules():
        if isinstance(part, nn.Conv2d | ConcatJoin):
            fan_in = part.weight[0].numel()
            drawn = torch.randn(part.weight.shape, generator=generator) * (2.0 / fan_in) ** 0.5
            part.weight.data.copy_(drawn)
        elif isinstance(part, nn.Linear):
            part.weight.data.copy_(torch.randn(part.weight.shape, generator=generator) * part.in_features**-0.5)
            part.bias.data.zero_()
