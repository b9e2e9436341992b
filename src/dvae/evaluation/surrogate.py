"""A regressor of DAGs for judging generated ones: message passing both ways along the edges (LayerDAG's protocol).

    h[v]  <-  h[v] + relu(W h[v] + P mean of h over predecessors + S mean of h over successors)       `layers` times
    y      =  two-layer network on (mean of h over the nodes, sum of h over the nodes)

It sees types and node columns. Trained by Adam on the smooth L1 loss, it keeps the weights with the best correlation on
DAGs that it is not trained on.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.config import check
from dvae.dag import Dag
from dvae.evaluation.graph_tensors import FlatGraphs, NodeInputs
from dvae.progress import progress_bar
from dvae.regression.metrics import pearson, spearman


@dataclass(frozen=True)
class SurrogateSettings:
    """Size and training of the regressor; the defaults are those published for high-level synthesis."""

    layers: int = 3
    width: int = 64
    epochs: int = 500
    patience: int = 100  # epochs without a better correlation on the validation DAGs
    batch_size: int = 256
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        for name in ("layers", "width", "epochs", "patience", "batch_size"):
            check(getattr(self, name) >= 1, f"{name} must be at least 1, not {getattr(self, name)}")
        check(self.learning_rate > 0, f"learning_rate must be positive, not {self.learning_rate}")


@dataclass(frozen=True)
class Agreement:
    """How well numbers agree with the true ones."""

    pearson: float
    spearman: float
    mae: float
    count: int

    @classmethod
    def of(cls, found: Tensor, truth: Tensor) -> Agreement:
        """Of predictions and the truth."""
        error = float((found - truth).abs().mean())
        return cls(pearson(found, truth), spearman(found, truth), error, len(truth))

    def to_mapping(self) -> dict[str, float]:
        """Plain values for JSON."""
        return {"pearson": self.pearson, "spearman": self.spearman, "mae": self.mae, "count": self.count}


class BothWays(nn.Module):
    """The network."""

    def __init__(self, inputs: NodeInputs, settings: SurrogateSettings) -> None:
        super().__init__()
        width = settings.width
        self.types = nn.Embedding(inputs.num_types, width)
        self.categories = nn.ModuleList(nn.Embedding(size, width) for size in inputs.category_sizes)
        self.numbers = nn.Linear(max(1, inputs.num_numbers), width)
        self.own = nn.ModuleList(nn.Linear(width, width) for _ in range(settings.layers))
        self.before = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(settings.layers))
        self.after = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(settings.layers))
        self.first = nn.Linear(2 * width, width)
        self.second = nn.Linear(width, 1)

    def forward(self, graphs: FlatGraphs) -> Tensor:
        """One number per graph."""  # graph
        states: Tensor = self.types(graphs.types) + self.numbers(graphs.numbers)
        for place, embed in enumerate(self.categories):
            states = states + embed(graphs.categories[:, place])
        source, target = graphs.edges
        fan_in, fan_out = (
            torch.bincount(ends, minlength=len(states)).clamp(min=1)[:, None] for ends in (target, source)
        )
        for own, before, after in zip(self.own, self.before, self.after, strict=True):
            zeros = torch.zeros_like(states)
            above = zeros.index_add(0, target, states[source]) / fan_in
            below = zeros.index_add(0, source, states[target]) / fan_out
            states = states + torch.relu(own(states) + before(above) + after(below))
        summed = states.new_zeros(len(graphs), states.shape[1]).index_add(0, graphs.graph_of, states)
        sizes = graphs.sizes[:, None]
        both = torch.cat([summed / sizes, summed / graphs.typical_size], 1)
        found: Tensor = self.second(torch.relu(self.first(both))).squeeze(1)
        return found


@dataclass(frozen=True)
class Surrogate:
    """A trained regressor of one property."""

    inputs: NodeInputs
    network: BothWays
    centre: float
    scale: float
    epochs: int  # trained
    validation_pearson: float

    def to(self, device: torch.device | str) -> Surrogate:
        """The same on another device."""
        return replace(self, network=copy.deepcopy(self.network).to(device))

    @torch.no_grad()
    def predict(self, dags: Sequence[Dag], batch_size: int = 1024) -> Tensor:
        """The property of each DAG."""  # dag, float64
        device = self.network.second.weight.device
        graphs = self.inputs.flat(dags).to(device)
        order = torch.arange(len(graphs), device=device)
        parts = [self.network(graphs.select(some)) for some in order.split(batch_size)]
        return torch.cat(parts).double().cpu() * self.scale + self.centre


def fit_surrogate(
    inputs: NodeInputs,
    train: Sequence[Dag],
    values: Tensor,
    validation: Sequence[Dag],
    validation_values: Tensor,
    *,
    settings: SurrogateSettings | None = None,
    seed: int = 0,
    title: str = "surrogate",
    device: torch.device | str = "cpu",
    progress: bool | None = None,
) -> Surrogate:
    """A regressor trained on `train`, as it did best on `validation`."""
    settings = settings or SurrogateSettings()
    check(len(train) >= 2, f"a surrogate needs at least 2 DAGs to train on, not {len(train)}")
    check(len(validation) >= 2, f"a surrogate needs at least 2 DAGs to choose its weights by, not {len(validation)}")
    graphs, unseen = inputs.flat(train).to(device), inputs.flat(validation).to(device)
    centre, scale = float(values.mean()), float(values.std()) or 1.0
    wanted = ((values - centre) / scale).float().to(device)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = BothWays(inputs, settings).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
    generator = torch.Generator().manual_seed(seed)
    best, kept, best_epoch, epoch = -2.0, copy.deepcopy(network.state_dict()), 0, 0
    with progress_bar(title, settings.epochs, "epochs", progress) as bar:
        for epoch in range(1, settings.epochs + 1):
            for some in torch.randperm(len(graphs), generator=generator).to(device).split(settings.batch_size):
                loss = functional.smooth_l1_loss(network(graphs.select(some)), wanted[some])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                reached = pearson(network(unseen).double().cpu(), validation_values)
            bar.update(1, pearson=reached)
            if reached > best:
                best, kept, best_epoch = reached, copy.deepcopy(network.state_dict()), epoch
            elif epoch - best_epoch >= settings.patience:
                break
    network.load_state_dict(kept)
    return Surrogate(inputs, network, centre, scale, epoch, best)
