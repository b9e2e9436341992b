"""One optimisation step, written plainly and, on a CUDA device, recorded once and replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.models.decoders.edge_room import room_for_edges
from dvae.models.kernels.precision import products_in
from dvae.models.vae import VAE, Losses
from dvae.tasks.vocabulary import START_LABEL
from dvae.training.memory import Budget, most_edges
from dvae.training.mutations import mutated, unchanged

WARM_UP = 3
NEW_EDGES = 4  # that a mutation may add to a graph

Forward = Callable[[DagBatch, Tensor, Tensor | None], Losses]


class Sums(NamedTuple):
    """Of the losses of graphs; `lost` is the number of those whose step moved nothing, which are in no other sum."""

    nll: float = 0.0
    kl: float = 0.0  # unweighted
    heads: float = 0.0  # weighted
    lost: float = 0.0

    @classmethod
    def total(cls, parts: Iterable[Sums]) -> Sums:
        """Of some parts together."""
        return cls(*map(sum, zip(*parts, strict=True)))


class Epoch(Protocol):
    """Takes the steps of an epoch in a given order of the graphs."""

    def begin(self, order: Tensor, first_step: int = 0) -> None: ...
    def step(self, number: int) -> None: ...
    def sums(self) -> Sums:
        """Over the graphs since `begin`."""
        ...


@dataclass(frozen=True)
class Changes:
    """What a step does beside the plain one: shorter gradients, mutated graphs."""

    clip: float | None = None
    mutations: float = 0.0

    def graphs(self, vae: VAE, part: DagBatch, generator: torch.Generator) -> DagBatch:
        """The graphs that a step trains on."""
        if vae.conditions is not None:
            part = replace(part, properties=vae.conditions.dropped(part, generator))
        if not self.mutations:
            return part
        virtual_start = vae.task.vocabulary.start == START_LABEL
        return mutated(part, self.mutations, vae.task.num_types, generator, virtual_start=virtual_start)

    def targets(self, known: Tensor, before: DagBatch, after: DagBatch) -> Tensor:
        """The numbers for the target head; nothing is known of a graph that was changed."""  # batch target
        if before is after:
            return known
        return known.where(unchanged(before, after)[:, None], torch.nan)

    def move(
        self, vae: VAE, optimizer: torch.optim.Optimizer, count: int, weight: Tensor, sums: Tensor, totals: Tensor
    ) -> None:
        """Takes the step along the gradient of a loss summed over `count` graphs, and adds its sums to the totals.

        Where gradients are shortened, one that is not finite moves nothing: the graphs of that step are lost.
        """
        if self.clip is None:
            totals[:3] += sums
        else:
            norm = torch.nn.utils.clip_grad_norm_(vae.parameters(), self.clip * count)
            lost = ~norm.isfinite()  # in every process, since gradients are those of all
            totals += torch.cat([torch.where(lost, 0.0, sums), (lost * weight.sum())[None].to(sums)])
            # What fused optimizers look at where gradients are scaled: with 1 there they do nothing.
            optimizer.found_inf = lost.to(torch.float32)  # type: ignore[attr-defined]
        optimizer.step()


NO_CHANGES = Changes()


class PlainEpoch:
    """Each step is run as written. With several processes each takes its share of every batch.

    Noise is drawn for the whole batch by every process from the same generator, so that the result does not depend
    on the number of processes.
    """

    def __init__(
        self,
        vae: VAE,
        forward: Forward,
        backward: Callable[[Tensor], None],
        optimizer: torch.optim.Optimizer,
        data: DagBatch,
        batch_size: int,
        generator: torch.Generator,
        dtype: torch.dtype | None,
        changes: Changes = NO_CHANGES,
        rank: int = 0,
        world: int = 1,
        targets: Tensor | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.budget = budget
        self.vae, self.forward, self.backward, self.optimizer = vae, forward, backward, optimizer
        self.data, self.batch_size, self.generator, self.dtype = data, batch_size, generator, dtype
        self.changes, self.rank, self.world, self.targets = changes, rank, world, targets
        self.order = torch.empty(0)
        self.totals = torch.zeros(4, dtype=torch.float64, device=vae.device)

    def begin(self, order: Tensor, first_step: int = 0) -> None:
        self.order = order
        self.totals.zero_()

    def step(self, number: int) -> None:
        index = self.order[number * self.batch_size : (number + 1) * self.batch_size]
        shape = (len(index), self.vae.config.latent)
        dtype = self.vae.mean.weight.dtype
        noise = torch.randn(shape, generator=self.generator, dtype=dtype, device=self.generator.device)
        weight = torch.ones(len(index))
        if self.world > 1:  # equal shares; the last batch is padded with graphs of weight zero
            room = -len(index) % self.world
            index = torch.cat([index, index[:1].expand(room)])[self.rank :: self.world]
            noise = torch.cat([noise, noise[:1].expand(room, -1)])[self.rank :: self.world]
            weight = torch.cat([weight, torch.zeros(room)])[self.rank :: self.world]
        index = index.to(self.data.device)
        chosen = self.data.select(index)
        part = self.changes.graphs(self.vae, chosen, self.generator)
        targets = None if self.targets is None else self.changes.targets(self.targets[index], chosen, part)
        noise, weight = noise.to(self.vae.device) * self.vae.config.noise_scale, weight.to(self.vae.mean.weight)
        self.optimizer.zero_grad()
        splits = None if self.budget is None else self.budget.parts(self.vae, part)
        parts: Sequence[Tensor | slice] = splits or [slice(None)]
        sums = torch.zeros_like(self.totals[:3])
        for some in parts:
            known = None if targets is None else targets[some]
            sums += self._with_gradients(part.select(some), noise[some], known, weight[some])
        self.changes.move(self.vae, self.optimizer, len(index) * self.world, weight, sums, self.totals)

    def _with_gradients(self, part: DagBatch, noise: Tensor, targets: Tensor | None, weight: Tensor) -> Tensor:
        """The sums of the losses, whose gradients are added to those there are."""
        with products_in(self.dtype):
            loss, sums = self.forward(part, noise, targets).total(weight, self.vae.config.kl_weight)
            # Gradients are averaged over processes, where the paper's loss is a sum over the batch.
            self.backward(loss * self.world)
        return sums

    def sums(self) -> Sums:
        totals = self.totals
        if self.world > 1:
            totals = totals.clone()
            torch.distributed.all_reduce(totals)
        return Sums(*totals.tolist())


class StaticEpoch:
    """Steps whose shapes never change, over data that stay where they are.

    The last batch of an epoch is padded with graphs of weight zero. The step number and the sums of the losses
    are tensors, so a step needs nothing from the host.
    """

    def __init__(
        self,
        vae: VAE,
        optimizer: torch.optim.Optimizer,
        data: DagBatch,
        batch_size: int,
        generator: torch.Generator,
        dtype: torch.dtype | None,
        changes: Changes = NO_CHANGES,
        targets: Tensor | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.vae, self.optimizer, self.data, self.generator, self.dtype = vae, optimizer, data, generator, dtype
        self.changes, self.targets = changes, targets
        self.room = most_edges(data) + NEW_EDGES
        self.at_once = batch_size
        if budget is not None:
            self.at_once = budget.graphs_at_once(vae, data.max_nodes, self.room, batch_size)
        device = vae.device
        steps = -(-len(data) // batch_size)
        self.index = torch.zeros(steps, batch_size, dtype=torch.int64, device=device)
        self.weight = torch.zeros(steps, batch_size, device=device)
        self.number = torch.zeros(1, dtype=torch.int64, device=device)
        self.totals = torch.zeros(4, dtype=torch.float64, device=device)
        self.weight.flatten()[: len(data)] = 1

    def begin(self, order: Tensor, first_step: int = 0) -> None:
        self.index.flatten()[: len(order)] = order.to(self.index.device)
        self.number.fill_(first_step)
        self.totals.zero_()

    def step(self, number: int) -> None:
        self._step()

    def _step(self) -> None:
        index = self.index[self.number].squeeze(0)
        weight = self.weight[self.number].squeeze(0)
        chosen = self.data.select(index)
        part = self.changes.graphs(self.vae, chosen, self.generator)
        targets = None if self.targets is None else self.changes.targets(self.targets[index], chosen, part)
        shape = (len(index), self.vae.config.latent)
        noise = torch.randn(shape, generator=self.generator, device=self.vae.device) * self.vae.config.noise_scale
        self.optimizer.zero_grad()
        of_step = torch.zeros_like(self.totals[:3])
        with products_in(self.dtype), room_for_edges(self.room):
            for start in range(0, len(index), self.at_once):
                some = slice(start, start + self.at_once)
                losses = self.vae(part.select(some), noise[some], None if targets is None else targets[some])
                loss, sums = losses.total(weight[some], self.vae.config.kl_weight)
                loss.backward()
                of_step += sums
        self.changes.move(self.vae, self.optimizer, len(index), weight, of_step, self.totals)
        self.number += 1

    def sums(self) -> Sums:
        return Sums(*self.totals.tolist())


class CapturedEpoch(StaticEpoch):
    """The whole step - choosing the batch, both passes, Adam - recorded as one CUDA graph and replayed."""

    def __init__(
        self,
        vae: VAE,
        optimizer: torch.optim.Optimizer,
        data: DagBatch,
        batch_size: int,
        generator: torch.Generator,
        dtype: torch.dtype | None,
        changes: Changes = NO_CHANGES,
        targets: Tensor | None = None,
        budget: Budget | None = None,
    ) -> None:
        super().__init__(vae, optimizer, data, batch_size, generator, dtype, changes, targets, budget)
        self.graph = torch.cuda.CUDAGraph()
        self._record()

    def _record(self) -> None:
        """Runs a few steps so that every kernel and buffer exists, records one, and undoes them all."""
        before = [parameter.detach().clone() for parameter in self.vae.parameters()]
        moments = [
            {key: value.clone() for key, value in self.optimizer.state[parameter].items()}
            for parameter in self.vae.parameters()
        ]
        noise_state = self.generator.get_state()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                self.number.zero_()
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        self.graph.register_generator_state(self.generator)
        with torch.cuda.graph(self.graph):
            self._step()
        with torch.no_grad():
            for parameter, value, old in zip(self.vae.parameters(), before, moments, strict=True):
                parameter.copy_(value)
                for key, moment in self.optimizer.state[parameter].items():
                    moment.copy_(old[key]) if key in old else moment.zero_()
        self.generator.set_state(noise_state)

    def step(self, number: int) -> None:
        self.graph.replay()
