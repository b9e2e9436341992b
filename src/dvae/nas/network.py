"""Networks that architecture DAGs stand for: of one architecture, or of a whole space with shared weights.

Both are a `MacroNetwork`; they differ in the choices their layers have. A supernet's slice (`sliced`) is the network of
one architecture with the supernet's weights, and computes the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from dvae.dag.original import ENAS_OPERATIONS
from dvae.errors import ConfigError, DagError
from dvae.nas.architecture import Architecture
from dvae.nas.config import NetworkConfig, stage_of
from dvae.nas.layers import ConcatJoin, Reduction, SumJoin, initialise, operation, stem


@dataclass(frozen=True)
class Choices:
    """What each layer may be: its operations and its skip inputs. Reductions lie as in a network of `depth` layers."""

    operations: tuple[tuple[str, ...], ...]
    skips: tuple[tuple[int, ...], ...]
    outputs: tuple[int, ...]
    depth: int

    @classmethod
    def of(cls, architecture: Architecture, depth: int | None = None) -> Choices:
        """No choice at all: one architecture."""
        single = tuple((name,) for name in architecture.operations)
        return cls(single, architecture.skips, architecture.outputs, depth or len(architecture))

    @classmethod
    def all(cls, depth: int) -> Choices:
        """The whole space of architectures of at most `depth` layers."""
        return cls(
            (ENAS_OPERATIONS,) * depth, tuple(tuple(range(layer)) for layer in range(depth)), tuple(range(depth)), depth
        )

    def reductions(self) -> list[tuple[int, int]]:
        """Every (vertex, stage) that some reader may ask for, if the vertex has not been computed there."""
        needed = set()
        for reader, skips in enumerate((*self.skips, self.outputs)):
            stage = stage_of(min(reader, len(self.operations) - 1), self.depth)
            for vertex in (*skips, reader):
                needed |= {(vertex, later) for later in range(1 + stage_of(max(vertex - 1, 0), self.depth), stage + 1)}
        return sorted(needed)


@dataclass
class Signal:
    """What a vertex gives out, at its own resolution and at the halved ones that were asked for."""

    vertex: int
    at: dict[int, Tensor] = field(default_factory=dict)  # stage -> value


class MacroNetwork(nn.Module):
    """Stem, layers, global average pool, dropout, linear classifier.

    `start`, `apply_operation`, `join` and `classify` are the steps of `forward`, so that many architectures with a
    common beginning can share it (`dvae.nas.scoring`).
    """

    def __init__(self, config: NetworkConfig, choices: Choices, seed: int = 0) -> None:
        super().__init__()
        self.config, self.choices = config, choices
        self.stem = stem(config)
        self.layers = nn.ModuleList()
        self.joins = nn.ModuleList()
        for layer, (names, skips) in enumerate(zip(choices.operations, choices.skips, strict=True)):
            width = config.width_at(stage_of(layer, choices.depth))
            self.layers.append(nn.ModuleDict({name: operation(name, width, config) for name in names}))
            self.joins.append(_join(layer, width, skips, config))
        self.reductions = nn.ModuleDict(
            {
                _name(vertex, stage): Reduction(config.width_at(stage - 1), config.width_at(stage), config)
                for vertex, stage in choices.reductions()
            }
        )
        last = config.width_at(stage_of(len(choices.operations) - 1, choices.depth))
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(last, config.classes)
        initialise(self, seed)

    def forward(self, images: Tensor, architecture: Architecture | None = None) -> Tensor:
        """Class scores; a network of one architecture needs no second argument."""  # batch class
        if architecture is None:
            architecture = self._only()
        signals = [self.start(images)]
        for layer, (name, skips) in enumerate(zip(architecture.operations, architecture.skips, strict=True)):
            output = self.apply_operation(layer, name, signals[layer])
            signals.append(self.join(layer, output, skips, signals))
        return self.classify(signals, architecture.outputs)

    def start(self, images: Tensor) -> Signal:
        """The signal that enters the first layer: the stem's output."""
        return Signal(0, {0: self.stem(images)})

    def apply_operation(self, layer: int, name: str, before: Signal) -> Tensor:
        """The output of an operation on the vertex before it."""
        choices = self.layers[layer]
        assert isinstance(choices, nn.ModuleDict)
        value: Tensor = choices[name](self._read(before, stage_of(layer, self.choices.depth)))
        return value

    def join(self, layer: int, output: Tensor, skips: Sequence[int], signals: Sequence[Signal]) -> Signal:
        """The vertex that layer `layer` becomes when skip inputs join its operation's output."""
        stage = stage_of(layer, self.choices.depth)
        values = [self._read(signals[vertex], stage) for vertex in skips]
        return Signal(layer + 1, {stage: self.joins[layer](output, values, skips)})

    def classify(self, signals: Sequence[Signal], outputs: Sequence[int] = ()) -> Tensor:
        """Class scores of the last vertex, with skip inputs of the output added to it."""
        stage = stage_of(len(signals) - 2, self.choices.depth)
        value = self._read(signals[-1], stage)
        for vertex in outputs:
            value = value + self._read(signals[vertex], stage)
        scores: Tensor = self.classifier(self.dropout(value.mean(dim=(2, 3))))
        return scores

    def _read(self, signal: Signal, stage: int) -> Tensor:
        """The signal at a stage; reductions are computed when first read, and once."""
        if stage not in signal.at:
            signal.at[stage] = self.reductions[_name(signal.vertex, stage)](self._read(signal, stage - 1))
        return signal.at[stage]

    def _only(self) -> Architecture:
        if any(len(names) > 1 for names in self.choices.operations):
            raise DagError("a supernet must be given the architecture to run")
        names = tuple(names[0] for names in self.choices.operations)
        return Architecture(names, self.choices.skips, self.choices.outputs)


def fixed_network(architecture: Architecture, config: NetworkConfig, *, seed: int = 0) -> MacroNetwork:
    """The network of one architecture, of any depth."""
    return MacroNetwork(config, Choices.of(architecture), seed)


def supernet(depth: int, config: NetworkConfig, *, seed: int = 0) -> MacroNetwork:
    """Shared weights for all architectures of at most `depth` layers."""
    if config.widening != 1 and depth >= 3:
        # A shallower architecture would end at fewer channels than the one classifier has.
        raise ConfigError("a supernet keeps its channels: widening must be 1")
    return MacroNetwork(config, Choices.all(depth), seed)


def channels_last(network: MacroNetwork, device: torch.device | None = None) -> MacroNetwork:
    """The network with its kernels in the memory order that convolutions on tensor cores want."""
    moved: MacroNetwork = network.to(device=device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    return moved


@torch.no_grad()
def sliced(whole: MacroNetwork, architecture: Architecture) -> MacroNetwork:
    """The network of one architecture with the weights that it has in a supernet."""
    depth = whole.choices.depth
    if len(architecture) > depth:
        raise DagError(f"the architecture has {len(architecture)} layers, the supernet {depth}")
    part = MacroNetwork(whole.config, Choices.of(architecture, depth))
    for name, module in part.named_modules():
        own = dict(_own_tensors(module))
        others = dict(_own_tensors(whole.get_submodule(name))) if own else {}
        for key, tensor in own.items():
            other = others[key]
            if isinstance(module, ConcatJoin):
                source = whole.get_submodule(name)
                assert isinstance(source, ConcatJoin)
                other = other[:, source.blocks(module.sources)]
            tensor.copy_(other)
    return part.to(next(whole.parameters()).device)


def _own_tensors(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    yield from module.named_parameters(recurse=False)
    yield from module.named_buffers(recurse=False)


def _join(layer: int, width: int, skips: Sequence[int], config: NetworkConfig) -> nn.Module:
    """Layer 0 has nothing to join with, nor has one without skip inputs that concatenates."""
    if layer == 0 or (config.join == "concat" and not skips):
        return _NoJoin()
    return SumJoin(width, config) if config.join == "sum" else ConcatJoin(width, skips, config)


class _NoJoin(nn.Module):
    def forward(self, output: Tensor, skips: Sequence[Tensor], sources: Sequence[int]) -> Tensor:
        return output


def _name(vertex: int, stage: int) -> str:
    return f"vertex{vertex}_stage{stage}"
