"""A variational autoencoder for DAGs: any encoder, any decoder, a Gaussian between them (eq. 5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dvae.dag import Dag, DagBatch
from dvae.errors import DvaeError
from dvae.models import storage
from dvae.models.columns import ColumnPart
from dvae.models.conditions import Conditions
from dvae.models.config import ModelConfig
from dvae.models.heads import FeatureHead, TargetHead
from dvae.models.kernels.aligned import AlignedLinear, real_size
from dvae.models.node_order import ordered
from dvae.models.parts import Decoder, Encoder, Prepares, Sampling, Sized, has_static_shapes, own_latents
from dvae.models.places import common_latents, with_moments
from dvae.progress import progress_bar
from dvae.tasks import Task
from dvae.tasks.rules import GrowthRules

NO_CONDITIONS = "this model was trained without conditions; train one with: dvae train --condition NAMES"
ATTEMPTS = 20  # at a graph that obeys the rules, after the first
ENCODE_AT_ONCE = {"cpu": 1024, "cuda": 16384}
PREPARE_AT_ONCE = 256  # large graphs, between two steps of a progress bar
LARGE_BYTES = {"cpu": 1 << 30, "cuda": 4 << 30}  # of large graphs that are encoded at once
SMALL_BYTES = 8 << 30  # of others, on a CPU
GPU_SHARE = 4  # a quarter of a GPU's memory
LARGE = 64  # nodes
UNKNOWN = 128  # numbers for each node and hidden unit of a part that does not say


class Posterior(NamedTuple):
    """q(z | G), a Gaussian with a diagonal covariance."""

    mean: Tensor  # batch latent
    logvar: Tensor  # batch latent

    def kl(self) -> Tensor:
        """KL(q(z | G) || N(0, I)), unweighted, one number per graph."""  # batch
        return -0.5 * (1 + self.logvar - self.mean.square() - self.logvar.exp()).sum(1)

    def sample(self, generator: torch.Generator | None = None, scale: float = 1.0) -> Tensor:
        """One latent per graph: mean + noise * deviation, the noise scaled by `scale`."""
        noise = torch.randn(self.mean.shape, generator=generator, device=self.mean.device, dtype=self.mean.dtype)
        return self.moved(noise * scale)

    def moved(self, noise: Tensor) -> Tensor:
        """The mean moved by `noise` standard deviations."""
        return torch.addcmul(self.mean, noise, (0.5 * self.logvar).exp())


class Losses(NamedTuple):
    """The two terms of the evidence lower bound, one number per graph each, the second unweighted.

    The third is the weighted loss of the heads, where there are any.
    """

    nll: Tensor
    kl: Tensor
    heads: Tensor | None = None

    def total(self, weight: Tensor, kl_weight: float) -> tuple[Tensor, Tensor]:
        """The loss to minimise, and the sums of the three terms, over graphs with these weights."""
        nll, kl = (self.nll * weight).sum(), (self.kl * weight).sum()
        loss = nll + kl_weight * kl
        if self.heads is None:
            return loss, torch.stack([nll.detach(), kl.detach(), torch.zeros_like(nll)])
        heads = (self.heads * weight).sum()
        return loss + heads, torch.stack([nll.detach(), kl.detach(), heads.detach()])


class VAE(nn.Module):
    """Graphs in, latent vectors out, graphs back."""

    encoder: Encoder
    decoder: Decoder
    latent_mean: Tensor
    latent_std: Tensor
    feature_head: FeatureHead | None
    target_head: TargetHead | None
    columns: ColumnPart | None
    conditions: Conditions | None

    def __init__(self, task: Task, config: ModelConfig, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.task = task
        self.config = config
        self.encoder = encoder
        self.decoder = decoder
        blocks, latent = encoder.blocks, config.latent - own_latents(encoder)
        self.mean = AlignedLinear(encoder.width, latent, input_blocks=blocks, output_blocks=0)
        self.logvar = AlignedLinear(encoder.width, latent, input_blocks=blocks, output_blocks=0)
        # Where the training data lie: prior samples are scaled and shifted there (paper, appendix F.1).
        self.register_buffer("latent_mean", torch.zeros(config.latent))
        self.register_buffer("latent_std", torch.ones(config.latent))
        self.feature_head = self.target_head = None
        places = getattr(config, "place_latents", None) or 0
        self.place_latents = places * task.max_nodes  # which no feature is read from
        if config.head is not None:
            common = config.latent - self.place_latents
            self.feature_head = FeatureHead(task, common, config.head, config.head_weight)
        if config.targets is not None:
            self.target_head = TargetHead(config.targets, config.latent, config.target_weight)
        self.columns = ColumnPart(task, config.hidden, config.latent, places) if task.schema else None
        names = config.conditions
        self.conditions = None if names is None else Conditions(names, task.schema.properties, config.latent)

    @property
    def device(self) -> torch.device:
        """The device its weights are on."""
        return self.mean.weight.device

    @property
    def static_shapes(self) -> bool:
        """Whether a training step on a CUDA device can be captured as a graph."""
        return has_static_shapes(self.encoder) and self.decoder.static_shapes

    @property
    def any_width(self) -> bool:
        """Whether graphs may be padded to fewer nodes than the task's largest has."""
        if self.feature_head is not None and self.task.features_are_bits:  # most are those of places
            return False
        return all(getattr(part, "any_width", False) for part in (self.encoder, self.decoder))

    def bytes_per_graph(self, nodes: int, edges: int) -> int:
        """About how much memory a training step takes for each graph of this size, padding included."""
        numbers = sum(
            part.numbers_per_graph(nodes, edges) if isinstance(part, Sized) else self.config.hidden * UNKNOWN * nodes
            for part in (self.encoder, self.decoder)
        )
        return numbers * self.mean.weight.element_size() + 2 * nodes * nodes  # and the graph, with a copy

    def num_parameters(self) -> int:
        """How many numbers training moves (those that only align memory are not counted)."""
        return real_size(self)

    def prepare(self, batch: DagBatch, *, progress: bool | None = False) -> DagBatch:
        """The same graphs as this model's parts want to read them, their node order for one.

        To be done once, before graphs are trained on; `encode` and `reconstruction_nll` do it themselves. A decoder
        that has an order of its own has the last word: values in columns belong to the places it writes.
        """
        read = self._preparation()
        if read is None or batch.max_nodes <= LARGE:
            return batch if read is None else read(batch)
        parts = []
        with progress_bar("order of nodes", len(batch), "DAGs", progress) as bar:  # milliseconds for each large graph
            for part in batch.split(PREPARE_AT_ONCE):
                parts.append(read(part))
                bar.update(len(part))
        return DagBatch.cat(parts) if parts else batch

    def _preparation(self) -> Callable[[DagBatch], DagBatch] | None:
        if isinstance(self.decoder, Prepares):
            return self.decoder.prepare
        if isinstance(self.encoder, Prepares):
            return self.encoder.prepare
        return None if self.columns is None else partial(ordered, order=self.task.hints.node_order)

    def posterior(self, batch: DagBatch) -> Posterior:
        """q(z | G) of every graph of a batch."""
        return self.posterior_of(self.states(batch))

    def states(self, batch: DagBatch) -> Tensor:
        """What the encoder, and the reader of columns, know of each graph."""  # batch feature
        states = self.encoder(batch)
        return states if self.columns is None else torch.cat([states, self.columns.encode(batch)], 1)

    def posterior_of(self, states: Tensor) -> Posterior:
        """q(z | G) of the graphs with these states."""
        own = own_latents(self.encoder)
        if self.columns is None:
            return Posterior(*with_moments(self.mean, self.logvar, states, own))
        of_graph, of_columns = states.split([states.shape[1] - self.columns.width, self.columns.width], 1)
        mean, logvar = with_moments(self.mean, self.logvar, of_graph, own)
        mean_moves, logvar_moves = self.columns.moves(of_columns)
        return Posterior(mean + mean_moves, logvar + logvar_moves)

    def nll(self, latents: Tensor, batch: DagBatch) -> Tensor:
        """-log p(G | z), columns included, and given the graphs' own conditions where the model has any."""  # batch
        seen = self.seen(latents, None if self.conditions is None else self.conditions.of(batch))
        nll = self.decoder.nll(seen, batch)
        return nll if self.columns is None else nll + self.columns.nll(seen, batch)

    def seen(self, latents: Tensor, conditions: Tensor | None) -> Tensor:
        """What the decoder sees of latents and conditions."""  # batch latent, batch condition -> batch latent
        return latents if self.conditions is None or conditions is None else latents + self.conditions(conditions)

    def forward(self, batch: DagBatch, noise: Tensor, targets: Tensor | None = None) -> Losses:
        """The losses of each graph at z = mean + noise * deviation; `targets` are numbers for the target head."""
        posterior = self.posterior(batch)
        latents = posterior.moved(noise)
        return Losses(self.nll(latents, batch), posterior.kl(), self._heads(latents, batch, targets))

    def _heads(self, latents: Tensor, batch: DagBatch, targets: Tensor | None) -> Tensor | None:
        """What both heads cost together."""
        losses = []
        if self.feature_head is not None:
            losses.append(self.feature_head(common_latents(latents, self.place_latents), batch))
        if self.target_head is not None and targets is not None:
            losses.append(self.target_head(latents, targets))
        return torch.stack(losses).sum(0) if losses else None

    @torch.no_grad()
    def graph_states(self, dags: Sequence[Dag] | DagBatch) -> Tensor:
        """What the encoder knows of each DAG before the bottleneck: the posterior is linear in it."""  # batch feature
        parts = [self.states(part) for part in self._parts(dags)]
        width = self.mean.weight.shape[1] + 2 * own_latents(self.encoder)
        width += 0 if self.columns is None else self.columns.width
        return torch.cat(parts) if parts else self.mean.weight.new_zeros(0, width)

    @torch.no_grad()
    def encode(self, dags: Sequence[Dag] | DagBatch) -> Posterior:
        """q(z | G) of each DAG."""
        parts = [self.posterior(part) for part in self._parts(dags)]
        if not parts:
            empty = self.mean.weight.new_zeros(0, self.config.latent)
            return Posterior(empty, empty.clone())
        return Posterior(torch.cat([part.mean for part in parts]), torch.cat([part.logvar for part in parts]))

    def decode(
        self,
        latents: Tensor,
        *,
        greedy: bool = False,
        copies: int = 1,
        seed: int | None = None,
        valid: bool = False,
        given: Mapping[str, float] | None = None,
    ) -> list[Dag]:
        """`copies` DAGs for each latent; with `valid`, decisions keep to the task's rules.

        `given` are conditions by name, where the model was trained with any; those that are not given are left open.

        Where rules look at whole graphs (`GrowthRules`), graphs that came out invalid are decoded again, some times;
        rules that contradict each other cannot be kept, so `task.valid` has the last word.
        """
        batch = self.decode_batch(latents, greedy=greedy, copies=copies, seed=seed, valid=valid, given=given)
        return self.task.unbatch(batch)

    @torch.no_grad()
    def decode_batch(
        self,
        latents: Tensor,
        *,
        greedy: bool = False,
        copies: int = 1,
        seed: int | None = None,
        valid: bool = False,
        given: Mapping[str, float] | Tensor | None = None,
    ) -> DagBatch:
        """As `decode`, but the model's DAGs as tensors; `given` may be a row for each latent (`Conditions.of`)."""
        latents = torch.as_tensor(latents, device=self.device, dtype=self.mean.weight.dtype)
        if latents.dim() != 2 or latents.shape[1] != self.config.latent:
            shape = tuple(latents.shape)
            raise DvaeError(f"latents have shape (count, {self.config.latent}) for this model, not {shape}")
        if copies < 1:
            raise DvaeError(f"copies must be at least 1, not {copies}")
        if not latents.isfinite().all():
            raise DvaeError("a latent vector holds a number that is not finite")
        generator = None if greedy else random_numbers(seed, self.device)
        if not len(latents):
            return self.task.batch([]).to(self.device)
        if self.conditions is not None:
            latents = self.seen(latents, self.conditions.rows(given, len(latents)))
        elif given is not None:
            raise DvaeError(NO_CONDITIONS)
        rules = self.task.rules if valid else None
        sampling = Sampling(greedy=greedy, copies=copies, rules=rules, generator=generator)
        batch = self._drawn(latents, sampling)
        if isinstance(rules, GrowthRules):
            again = generator or torch.Generator(self.device).manual_seed(seed or 0)
            batch = self._mended(batch, latents.repeat_interleave(copies, 0), rules, again)
        return batch if self.columns is None else self._with_columns(batch, latents, sampling)

    def _with_columns(self, batch: DagBatch, latents: Tensor, sampling: Sampling) -> DagBatch:
        assert self.columns is not None
        size = self.decoder.rows_at_once(self.device)
        rows = zip(batch.split(size), latents.repeat_interleave(sampling.copies, 0).split(size), strict=True)
        return DagBatch.cat([self.columns.sample(some, part, sampling) for part, some in rows])

    def _drawn(self, latents: Tensor, sampling: Sampling) -> DagBatch:
        size = max(self.decoder.rows_at_once(self.device) // sampling.copies, 64)
        return DagBatch.cat([self.decoder.sample(part, sampling) for part in latents.split(size)])

    def _mended(
        self, batch: DagBatch, latents: Tensor, rules: GrowthRules, generator: torch.Generator
    ) -> DagBatch:  # fmt: skip
        """The graphs, invalid ones drawn again until they are valid or the attempts are used up."""
        types, adjacency, num_nodes = batch.types.clone(), batch.adjacency.clone(), batch.num_nodes.clone()
        broken = (~self.task.valid(batch)).nonzero().squeeze(1)
        for attempt in range(1, ATTEMPTS + 1):
            if not len(broken):
                break
            drawn = self._drawn(latents[broken], Sampling(rules=rules.cautious(attempt), generator=generator))
            valid = self.task.valid(drawn)
            mended, good = broken[valid], drawn.select(valid)
            types[mended], adjacency[mended], num_nodes[mended] = good.types, good.adjacency, good.num_nodes
            broken = broken[~valid]
        return DagBatch(types, adjacency, num_nodes)

    def sample(
        self,
        count: int,
        *,
        seed: int | None = None,
        greedy: bool = False,
        valid: bool = False,
        given: Mapping[str, float] | None = None,
    ) -> list[Dag]:
        """DAGs from the prior, moved to where the training data lie; `given` are conditions (`decode`)."""
        latents = self.prior(count, seed=seed, given=given)
        return self.decode(latents, greedy=greedy, seed=seed, valid=valid, given=given)

    def with_conditions(self, dags: Sequence[Dag], given: Mapping[str, float], **how: Any) -> list[Dag]:
        """What DAGs would be if they met other conditions; `how` is `greedy`, `copies`, `seed` and `valid`.

        Each DAG is encoded, moved as far as latents of the training data move with these conditions, and decoded
        with them; its other properties stay what they are.
        """
        return self.task.unbatch(self.with_conditions_batch(dags, given, **how))

    @torch.no_grad()
    def with_conditions_batch(self, dags: Sequence[Dag], given: Mapping[str, float], **how: Any) -> DagBatch:
        """As `with_conditions`, but the model's DAGs as tensors."""
        if self.conditions is None:
            raise DvaeError(NO_CONDITIONS)
        batch = self.task.batch(dags).to(self.device)
        latents, after = self.conditions.changed(self.encode(batch).mean, self.conditions.of(batch), given)
        return self.decode_batch(latents, given=after, **how)

    def variations(
        self,
        dags: Sequence[Dag],
        change: float,
        *,
        given: Mapping[str, float] | None = None,
        seed: int | None = None,
        **how: Any,
    ) -> list[Dag]:
        """DAGs like these: their latents on the way to others of the training data, `change` of it, from 0 to 1.

        With 0 each DAG is encoded and decoded, with 1 nothing is left of it. Latents between are spread as those of the
        training data are. With `given`, they are moved to where these conditions are met; `how` is `greedy`, `copies`
        and `valid`.
        """
        return self.task.unbatch(self.variations_batch(dags, change, given=given, seed=seed, **how))

    @torch.no_grad()
    def variations_batch(
        self,
        dags: Sequence[Dag],
        change: float,
        *,
        given: Mapping[str, float] | None = None,
        copies: int = 1,
        seed: int | None = None,
        **how: Any,
    ) -> DagBatch:
        """As `variations`, but the model's DAGs as tensors."""
        if not 0 <= change <= 1:
            raise DvaeError(f"change is a share, from 0 to 1, not {change}")
        if given and self.conditions is None:
            raise DvaeError(NO_CONDITIONS)
        batch = self.task.batch([dag for dag in dags for _ in range(copies)]).to(self.device)
        latents, noise = self.encode(batch).mean, self._noise(len(batch), random_numbers(seed)).to(self.device)
        if self.conditions is None:
            kept = math.sqrt(1 - change**2) * (latents - self.latent_mean)
            return self.decode_batch(self.latent_mean + kept + change * noise * self.latent_std, seed=seed, **how)
        before, asked = self.conditions.of(batch), self.conditions.row(given)
        latents = self.conditions.varied(latents, before, asked, noise, change)
        return self.decode_batch(latents, given=torch.where(asked.isnan(), before, asked), seed=seed, **how)

    def _noise(self, count: int, generator: torch.Generator) -> Tensor:
        return torch.randn(count, self.config.latent, generator=generator, dtype=self.latent_std.dtype)

    def prior(self, count: int, *, seed: int | None = None, given: Mapping[str, float] | None = None) -> Tensor:
        """Latents z * std + mean with z from N(0, I) and the training data's statistics.

        With conditions, latents of graphs that meet them: drawn where the training data's latents lie together with
        conditions such as those given.
        """  # count latent
        generator = random_numbers(seed)
        noise = self._noise(count, generator)
        if given:
            if self.conditions is None:
                raise DvaeError(NO_CONDITIONS)
            return self.conditions.conditional(noise.to(self.device), self.conditions.row(given), generator)
        return noise.to(self.device) * self.latent_std + self.latent_mean

    @torch.no_grad()
    def reconstruction_nll(self, dags: Sequence[Dag] | DagBatch, latents: Tensor) -> Tensor:
        """-log p(G | z) of each DAG at its latent."""  # batch
        latents = torch.as_tensor(latents, device=self.device, dtype=self.mean.weight.dtype)
        if len(dags) != latents.shape[0]:
            raise DvaeError(f"{len(dags)} DAGs need as many latents, not {latents.shape[0]}")
        parts, start = [], 0
        for part in self._parts(dags):
            parts.append(self.nll(latents[start : start + len(part)], part))
            start += len(part)
        return torch.cat(parts) if parts else latents.new_zeros(0)

    @torch.no_grad()
    def calibrate(
        self, batch: DagBatch, *, thorough: bool = True, prepared: bool = False, progress: bool | None = False
    ) -> None:
        """Remembers where the latent means of `batch` lie, for `prior`; less well, but at once, if not `thorough`.

        `prepared` says that the graphs are as `prepare` gives them.
        """
        means = []
        with progress_bar("latents", len(batch), "DAGs", progress) as bar:
            for part in self._parts(batch, prepared=prepared):
                means.append(self.posterior(part).mean)
                bar.update(len(part))
        mean = torch.cat(means)
        self.latent_mean.copy_(mean.mean(0))
        self.latent_std.copy_(mean.std(0) if len(mean) > 1 else torch.ones_like(self.latent_std))
        if self.conditions is not None:
            self.conditions.fit_joint(mean, batch, thorough=thorough, progress=progress)

    def save(self, folder: str | Path) -> None:
        """Writes weights and settings, each file atomically; `dvae.load` reads them."""
        storage.save(folder, self, self.config, self.task)

    def _parts(self, dags: Sequence[Dag] | DagBatch, *, prepared: bool = False) -> Iterator[DagBatch]:
        batch = dags if isinstance(dags, DagBatch) else self.task.batch(dags)
        size = ENCODE_AT_ONCE.get(self.device.type, 1024)
        if len(batch):
            edges = int(batch.edge_counts().max())
            size = max(1, min(size, self._room(batch.max_nodes) // self.bytes_per_graph(batch.max_nodes, edges)))
        for part in batch.split(size):
            yield (part if prepared else self.prepare(part)).to(self.device)

    def _room(self, nodes: int) -> int:
        """Bytes that graphs may take together; the same every time on one device, whatever else runs there."""
        if nodes > LARGE:
            return LARGE_BYTES.get(self.device.type, LARGE_BYTES["cpu"])
        if self.device.type != "cuda":
            return SMALL_BYTES
        return torch.cuda.get_device_properties(self.device).total_memory // GPU_SHARE


def random_numbers(seed: int | None, device: torch.device | str = "cpu") -> torch.Generator:
    """A source of random numbers; without a seed, another one every time."""
    generator = torch.Generator(device)
    if seed is None:
        generator.seed()
    else:
        generator.manual_seed(seed)
    return generator
