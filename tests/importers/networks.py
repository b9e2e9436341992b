"""Three networks as people write them: a ResNet, an inverted-bottleneck network with squeeze and excitation, a U-Net;
and a small Transformer."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Residual(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(after)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(after)
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1 or before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.first_norm(self.first(x)))
        return F.relu(self.second_norm(self.second(y)) + self.shortcut(x))


class ResNet(nn.Module):
    """He et al., 2016, in the form for small images: 3 stages of `depth` blocks."""

    def __init__(self, depth: int = 1, width: int = 8) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        widths = [width, width, 2 * width, 4 * width]
        blocks = [
            Residual(
                widths[stage] if block == 0 else widths[stage + 1], widths[stage + 1], 2 if stage and not block else 1
            )
            for stage in range(3)
            for block in range(depth)
        ]
        self.blocks = nn.Sequential(*blocks)
        self.classifier = nn.Linear(widths[-1], 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.blocks(self.stem(x)).mean((2, 3)))


class InvertedBottleneck(nn.Module):
    def __init__(self, width: int, expansion: int) -> None:
        super().__init__()
        inner = width * expansion
        self.expand = nn.Sequential(nn.Conv2d(width, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.Hardswish())
        self.depthwise = nn.Sequential(
            nn.Conv2d(inner, inner, 5, 1, 2, groups=inner, bias=False), nn.BatchNorm2d(inner), nn.Hardswish()
        )
        self.squeeze = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(inner, width, 1), nn.ReLU(), nn.Conv2d(width, inner, 1), nn.Hardsigmoid()
        )
        self.project = nn.Sequential(nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        y = self.depthwise(self.expand(x))
        return x + self.project(y * self.squeeze(y))


class MobileNet(nn.Module):
    """Howard et al., 2019: inverted bottlenecks with squeeze and excitation."""

    def __init__(self, depth: int = 2, width: int = 8) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, 2, 1)
        self.blocks = nn.Sequential(*(InvertedBottleneck(width, 2 + block % 2) for block in range(depth)))
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(width, 10))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(self.stem(x)))


class UNet(nn.Module):
    """Ronneberger et al., 2015: down, up, and across."""

    def __init__(self, depth: int = 2, width: int = 4) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(depth + 1)]
        self.down = nn.ModuleList(
            _convolution(before, after) for before, after in zip([3, *widths], widths, strict=False)
        )
        self.up = nn.ModuleList(nn.ConvTranspose2d(after, before, 2, 2) for before, after in itertools.pairwise(widths))
        self.merge = nn.ModuleList(_convolution(2 * level, level) for level in widths[:-1])
        self.last = nn.Conv2d(width, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept: list[Tensor] = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else F.max_pool2d(x, 2))
            kept.append(x)
        for level in reversed(range(len(self.up))):
            x = self.merge[level](torch.cat([self.up[level](x), kept[level]], 1))
        return torch.sigmoid(self.last(x))


def _convolution(before: int, after: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(before, after, 3, 1, 1), nn.ReLU())


class Attention(nn.Module):
    """Vaswani et al., 2017: one layer of a Transformer, written out."""

    def __init__(self, width: int = 8, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.qkv(self.norm(x)).chunk(3, -1)
        weights = torch.softmax(query @ key.transpose(-2, -1) / 8.0, -1)
        x = x + self.out(weights @ value)
        return x + self.wide(self.second_norm(x))


IMAGE = (2, 3, 16, 16)
NETWORKS = {"resnet": ResNet, "mobilenet": MobileNet, "unet": UNet}


def family(name: str, count: int = 6) -> list[nn.Module]:
    """Networks of one kind and several depths and widths."""
    return [NETWORKS[name](depth=1 + number % 3, width=4 * (1 + number // 3)).eval() for number in range(count)]
