"""Weight-sharing accuracies of many architectures, each on all validation images.

Architectures are walked as a tree: those that begin with the same layers share what these compute, and those that
differ in the skip inputs of a layer share its operation. Nothing is approximated, for with batch statistics a layer's
output depends on what came before it alone. The first third of the layers, at full resolution, is most of the work,
and of 6-layer architectures it has but 72 different forms.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

import torch
from torch import Tensor, nn

from dvae.errors import DagError
from dvae.nas.architecture import Architecture
from dvae.nas.batches import DeviceImages
from dvae.nas.network import MacroNetwork, Signal, channels_last
from dvae.progress import Progress, progress_bar

BATCH = {"cuda": 5_000, "cpu": 500}


def shared_accuracies(
    network: MacroNetwork,
    architectures: Sequence[Architecture],
    images: DeviceImages,
    *,
    batch: int | None = None,
    progress: bool | None = None,
) -> list[float]:
    """The share of images that the supernet classifies rightly as each of the architectures.

    Batch normalisation uses the statistics of `batch` images at a time, a fixed part of the set: the same call gives
    the same numbers.
    """
    size = batch or BATCH[images.device.type]
    distinct = sorted(set(architectures))
    total = len(distinct) * -(-len(images) // size)
    with progress_bar("scoring", total=total, unit="architecture parts", enabled=progress) as bar:
        correct = count_correct(network, distinct, images.parts(size), bar)
    share_of = dict(zip(distinct, (correct.double() / len(images)).tolist(), strict=True))
    return [share_of[architecture] for architecture in architectures]


@torch.inference_mode()
def count_correct(
    network: MacroNetwork,
    architectures: Sequence[Architecture],
    parts: Iterable[tuple[Tensor, Tensor]],
    bar: Progress | None = None,
) -> Tensor:
    """How many images each of the architectures, sorted and distinct, classifies rightly."""  # architecture
    deepest = max((len(architecture) for architecture in architectures), default=0)
    if deepest > network.choices.depth:
        raise DagError(f"an architecture has {deepest} layers, the supernet {network.choices.depth}")
    network = inference_copy(network)
    dtype = network.classifier.weight.dtype
    correct = torch.zeros(len(architectures), dtype=torch.int64, device=network.classifier.weight.device)
    with convolutions(benchmark=False, deterministic=True):
        for images, labels in parts:
            walk = _Walk(network, architectures, labels, correct, bar)
            walk.down([network.start(images.to(dtype))], range(len(architectures)))
    return correct


@contextlib.contextmanager
def convolutions(*, benchmark: bool, deterministic: bool) -> Iterator[None]:
    """How CUDA chooses algorithms: by trying them (fast, for shapes that stay), and only those that repeat exactly."""
    cudnn = torch.backends.cudnn
    before = cudnn.benchmark, cudnn.deterministic
    cudnn.benchmark, cudnn.deterministic = benchmark, deterministic
    try:
        yield
    finally:
        cudnn.benchmark, cudnn.deterministic = before


def inference_copy(network: MacroNetwork) -> MacroNetwork:
    """The network for use: on CUDA its products in bfloat16, normalisation in float32, channels last in memory."""
    made = copy.deepcopy(network).eval()
    if made.classifier.weight.is_cuda:
        for part in made.modules():
            if not isinstance(part, nn.BatchNorm2d):
                for parameter in part.parameters(recurse=False):
                    parameter.data = parameter.data.bfloat16()
    return channels_last(made)


class _Walk:
    """One part of the images through the tree of architectures."""

    def __init__(
        self,
        network: MacroNetwork,
        architectures: Sequence[Architecture],
        labels: Tensor,
        correct: Tensor,
        bar: Progress | None,
    ) -> None:
        self.network, self.architectures, self.labels = network, architectures, labels
        self.correct, self.bar = correct, bar

    def down(self, signals: list[Signal], members: Iterable[int]) -> None:
        """Goes on with the architectures that agree on all layers so far, whose signals these are."""
        layer = len(signals) - 1
        ended: list[int] = []
        going: list[int] = []
        for member in members:
            (ended if len(self.architectures[member]) == layer else going).append(member)
        for member in ended:
            self._score(signals, member)
        for name, same in groupby(sorted(going, key=self._operation(layer)), self._operation(layer)):
            output = self.network.apply_operation(layer, name, signals[layer])
            for skips, group in groupby(sorted(same, key=self._skips(layer)), self._skips(layer)):
                vertex = self.network.join(layer, output, skips, signals)
                self.down([*signals, vertex], group)

    def _score(self, signals: list[Signal], member: int) -> None:
        scores = self.network.classify(signals, self.architectures[member].outputs)
        self.correct[member] += (scores.argmax(1) == self.labels).sum()
        if self.bar is not None:
            self.bar.update()

    def _operation(self, layer: int) -> Callable[[int], str]:
        return lambda member: self.architectures[member].operations[layer]

    def _skips(self, layer: int) -> Callable[[int], tuple[int, ...]]:
        return lambda member: self.architectures[member].skips[layer]
