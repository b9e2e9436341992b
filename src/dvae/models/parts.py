"""What the parts of a model promise: encoders, decoders, aggregations and readouts.

A part from another package stands wherever a built-in one does. It is a class, named by `package.module:Name`, by an
entry point (`dvae.encoders`, `dvae.decoders`, `dvae.aggregations`, `dvae.readouts`) or given as it is. The class is
called with a `Plan` and its settings, or its classmethod `build` is, and may say by class attributes:

- `Settings`: a frozen dataclass, each field with a default. Its fields become settings of every model with the part.
- `aggregates = True`: the part uses the model's aggregation (`Plan.shared_aggregation`), common to encoder and decoder.
- `static_shapes = True`: on a CUDA device no shape depends on the data, so a training step can be captured.
- `any_width = True`: graphs may be padded to fewer nodes than the task's largest has, as size classes are.
- `order_free`: True if an encoder gives all topological orders of one DAG one vector, False if it does not.
- `reference`: the paper. The first line of the docstring describes the part.

Any encoder pairs with any decoder: all they have in common is the size of the latent space. Parts see a model's DAGs
(`DagBatch`) only. Vectors have aligned widths in memory (`kernels.aligned`): `AlignedLinear` keeps them so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, Self, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from dvae.dag import DagBatch
from dvae.errors import ConfigError
from dvae.models.features import NodeFeatures
from dvae.models.kernels.gru import GruUpdate
from dvae.tasks import ModelHints, Task
from dvae.tasks.rules import DecodingRules, GrowthRules

T = TypeVar("T")


class Encoder(Protocol):
    """A graph as one vector, made of `blocks` vectors of `width` numbers, each aligned in memory.

    With `blocks` 0 it is a plain vector of `width` numbers.
    """

    width: int
    blocks: int

    def __call__(self, batch: DagBatch) -> Tensor:  # batch blocks*aligned(width)
        ...


@runtime_checkable
class Prepares(Protocol):
    """A part that wants its graphs in a certain form, such as an order of their nodes."""

    def prepare(self, batch: DagBatch) -> DagBatch:
        """The same graphs as the part reads them; done once, before they are trained on or encoded."""
        ...


@runtime_checkable
class HasOwnLatents(Protocol):
    """An encoder that gives the last latents itself: their means, then their log variances, after its vector."""

    own_latents: int


def own_latents(encoder: Encoder) -> int:
    """How many latents the encoder gives itself; the others are linear in its vector."""
    return encoder.own_latents if isinstance(encoder, HasOwnLatents) else 0


@runtime_checkable
class Sized(Protocol):
    """A part that says how much a training step keeps of a graph until its gradient is known."""

    def numbers_per_graph(self, nodes: int, edges: int) -> int:
        """How many numbers, of the weights' format, at the worst moment."""
        ...


@dataclass(frozen=True)
class Sampling:
    """How decisions are made while decoding."""

    greedy: bool = False
    copies: int = 1  # independent decodings of each latent
    rules: DecodingRules | GrowthRules | None = None
    generator: torch.Generator | None = None


class Decoder(Protocol):
    """p(G | z)."""

    static_shapes: bool  # whether `nll` on a CUDA device has shapes that do not depend on the data

    def nll(self, latents: Tensor, batch: DagBatch) -> Tensor:
        """-log p(G | z) with teacher forcing, one number per graph."""  # batch
        ...

    def sample(self, latents: Tensor, sampling: Sampling) -> DagBatch:
        """`copies` graphs for each latent, those of one latent next to each other."""
        ...

    def rows_at_once(self, device: torch.device) -> int:
        """How many latents a call of `sample` should get on `device`."""
        ...


class DecoderModule(nn.Module):
    """A base for decoders of other packages: `nll` and `sample` are left to write (`decoders.sampler` has a loop)."""

    static_shapes = False

    def rows_at_once(self, device: torch.device) -> int:
        """How many latents a call of `sample` should get on `device`."""
        return 1024


class NodeStates(NamedTuple):
    """What message passing leaves at every node."""

    states: Tensor  # batch node hidden
    messages: Tensor | None = None  # batch node hidden; the end node's is never used


class Aggregation(Protocol):
    """How a node's state becomes a message, and how messages travel; a node receives the sum of its predecessors'."""

    depends_on_types_only: bool  # whether messages are made of types alone
    static_shapes: bool

    def message(self, types: Tensor, states: Tensor, position: int) -> Tensor:
        """The messages of nodes at `position`."""  # row, row hidden -> row hidden
        ...

    def propagate(
        self, update: GruUpdate, batch: DagBatch, first: Tensor | None = None, reverse: bool = False
    ) -> NodeStates:
        """One sweep along the edges; `first` is the incoming message of the start node.

        With `reverse`, `batch` is a reversed one (`reversed_batch`): its first node has the last position.
        """
        ...

    def propagate_both(
        self, update: GruUpdate, backward: Self, backward_update: GruUpdate, batch: DagBatch
    ) -> tuple[NodeStates, NodeStates]:
        """A sweep along the edges and, by the other two parts, one against them."""
        ...

    def propagate_in_rounds(
        self, update: GruUpdate, batch: DagBatch, rounds: int, first: Tensor | None = None, reverse: bool = False
    ) -> NodeStates:
        """All nodes at once, `rounds` times; the messages are those that the final states have received."""
        ...


class Readout(Protocol):
    """The vector of a graph, `blocks` aligned vectors of the hidden width, from the states of its nodes."""

    blocks: int

    def __call__(self, states: Tensor, batch: DagBatch, last: Tensor) -> Tensor:
        """`last` is the node at which message passing ended."""  # batch node hidden -> batch blocks*hidden
        ...


@runtime_checkable
class StaticShapes(Protocol):
    """A part that says whether its shapes on a CUDA device depend on the data."""

    static_shapes: bool


def has_static_shapes(part: object) -> bool:
    """Whether a training step with `part` can be captured; a part that does not say so is taken as it comes."""
    return isinstance(part, StaticShapes) and part.static_shapes


@dataclass(frozen=True)
class Plan:
    """All that the builder of a part may look at, besides the part's own settings."""

    task: Task
    hidden: int
    latent: int
    features: NodeFeatures
    new_aggregation: Callable[[], Aggregation]  # one of the model's kind, with weights of its own
    new_readout: Callable[[], Readout]  # of the model's kind
    aggregation: Aggregation | None = None  # common to the encoder and the decoder, where either aggregates
    _common: dict[type, object] = field(default_factory=dict)

    @property
    def hints(self) -> ModelHints:
        """What the task suggests to models."""
        return self.task.hints

    @property
    def num_types(self) -> int:
        """The number of node types, start and end counted."""
        return self.task.num_types

    @property
    def max_nodes(self) -> int:
        """The largest number of nodes of a model's DAG, start and end counted."""
        return self.task.max_nodes

    @property
    def shared_aggregation(self) -> Aggregation:
        """The aggregation that encoder and decoder have in common."""
        if self.aggregation is None:
            raise ConfigError("a part that uses the model's aggregation has to say so: aggregates = True")
        return self.aggregation

    def update(self) -> GruUpdate:
        """A new update function U (eq. 4)."""
        return GruUpdate(self.features, self.hidden)

    def common(self, kind: type[T], make: Callable[[], T]) -> T:
        """The one `kind` that the parts of a model share; `make` is called the first time."""
        if kind not in self._common:
            self._common[kind] = make()
        made = self._common[kind]
        assert isinstance(made, kind)
        return made
