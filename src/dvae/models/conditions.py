"""p(G | z, c): properties of DAGs that decoding is given, all, some or none of them.

Training drops each condition of each graph at random; a property that a graph does not have counts as dropped. What
the decoder sees is z + W [c, which of c there are], with c in standard deviations of the training data, so every
decoder can be given conditions.

The encoder sees the whole graph, so its latents tell much of c, and z from the prior would contradict the c it comes
with. So samples are drawn where the training data with such a c lie: from a mixture of Gaussians of latents and
conditions together (`Mixture`), given c, in closed form and for any subset of the conditions. Where there are too few
graphs or too many latents for a mixture, one Gaussian takes its place; it also says how far the latent of a known graph
moves when its conditions change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from dvae.dag import DagBatch
from dvae.dag.columns import finite
from dvae.dag.schema import PropertyRange
from dvae.errors import ConfigError, DvaeError
from dvae.models.kernels.precision import linear
from dvae.models.mixture import MAX_WIDTH, Mixture
from dvae.registry import suggestion

DROPPED = 0.3  # the share of conditions that a training step leaves out
RIDGE = 1e-4  # added to covariances, of standardised conditions and of latents relative to their variance


class Conditions(nn.Module):
    """The conditions of a model: where training put them, and how latents depend on them."""

    places: Tensor  # condition: its place among the properties of a batch
    centre: Tensor  # condition
    scale: Tensor  # condition
    joint_mean: Tensor  # latent+condition: of the training data, conditions standardised
    joint_covariance: Tensor  # latent+condition latent+condition

    def __init__(self, names: Sequence[str], known: Sequence[PropertyRange], latent: int) -> None:
        super().__init__()
        all_names = [one.name for one in known]
        for name in names:
            if name not in all_names:
                advice = suggestion(name, all_names) if all_names else "they have none"
                raise ConfigError(f"the DAGs have no property {name!r} to be a condition; {advice}")
        self.names = tuple(names)
        self.ranges = tuple(known[all_names.index(name)] for name in names)
        places = torch.tensor([all_names.index(name) for name in names])
        # On the device, so that a recorded step needs nothing from the host.
        self.register_buffer("places", places, persistent=False)
        self.latent = latent
        bound = 1 / math.sqrt(2 * len(names))
        self.weight = nn.Parameter(torch.empty(latent, 2 * len(names)).uniform_(-bound, bound))
        size = latent + len(names)
        self.register_buffer("centre", torch.zeros(len(names)))
        self.register_buffer("scale", torch.ones(len(names)))
        self.register_buffer("joint_mean", torch.zeros(size))
        self.register_buffer("joint_covariance", torch.eye(size))
        self.mixture = Mixture(size) if size <= MAX_WIDTH else None

    def forward(self, conditions: Tensor) -> Tensor:
        """What is added to latents; conditions are standardised, NaN where there are none."""  # batch latent
        there = ~conditions.isnan()
        known = torch.cat([conditions.nan_to_num(0.0), there.to(conditions.dtype)], 1)
        return linear(known.to(self.weight.dtype), self.weight)

    def of(self, batch: DagBatch) -> Tensor:
        """The graphs' own conditions, standardised; NaN where a graph has none."""  # batch condition
        if batch.properties is None:
            return self.weight.new_full((len(batch), len(self.names)), torch.nan)
        return (batch.properties.index_select(1, self.places).to(self.weight.dtype) - self.centre) / self.scale

    def rows(self, given: Mapping[str, float] | Tensor | None, count: int) -> Tensor:
        """Conditions for each of `count` latents; a tensor is taken as it is."""  # count condition
        return given if isinstance(given, Tensor) else self.row(given).expand(count, -1)

    def row(self, given: Mapping[str, float] | None) -> Tensor:
        """Conditions by name, standardised, as one row; NaN where one is not given."""  # condition
        given = given or {}
        for name, value in given.items():
            if name not in self.names:
                raise DvaeError(f"this model has no condition {name!r}; it has {', '.join(self.names)}")
            if finite(value) is None:
                raise DvaeError(f"the condition {name} is {value!r}; it must be a finite number")
        values = [float(given.get(name, math.nan)) for name in self.names]
        row = (torch.tensor(values, dtype=torch.float64).to(self.centre) - self.centre) / self.scale
        for name, number in zip(self.names, row.tolist(), strict=True):
            if math.isinf(number):
                raise DvaeError(f"the condition {name} is {given[name]!r}, which is too large for this model")
        return row

    def dropped(self, batch: DagBatch, generator: torch.Generator) -> Tensor | None:
        """The properties of graphs with each condition left out at random; shapes do not depend on the data."""
        if batch.properties is None:
            return None
        shape = batch.properties.shape
        keep = torch.rand(shape, generator=generator, device=generator.device).to(batch.device) >= DROPPED
        return torch.where(keep, batch.properties, math.nan)

    @torch.no_grad()
    def fit(self, batch: DagBatch) -> None:
        """Standardises by the training data."""
        if batch.properties is None:
            raise ConfigError(f"the training DAGs have no properties, and {self.names[0]!r} is to be a condition")
        for place, (name, column) in enumerate(zip(self.names, self.places.tolist(), strict=True)):
            values = batch.properties[:, column]
            values = values[~values.isnan()]
            if not len(values):
                raise ConfigError(f"no training DAG has the property {name!r}, which is to be a condition")
            self.centre[place] = values.mean()
            deviation = float(values.std()) if len(values) > 1 else 0.0
            self.scale[place] = deviation or 1.0

    @torch.no_grad()
    def fit_joint(
        self, latents: Tensor, batch: DagBatch, *, thorough: bool = True, progress: bool | None = False
    ) -> None:
        """Remembers how the latents of `batch` and its conditions vary together; graphs that lack one do not count.

        The mixture takes a while (seconds, or a minute with many latents): it is only fitted where that is `thorough`.
        """
        both = torch.cat([latents, self.of(batch.to(latents.device))], 1).double()
        both = both[both.isfinite().all(1)]
        if self.mixture is not None:
            self.mixture.forget()
        if len(both) < 2:
            return
        self.joint_mean.copy_(both.mean(0))
        self.joint_covariance.copy_(torch.cov(both.T))
        if self.mixture is not None and thorough:
            self.mixture.fit(both, progress)

    @torch.no_grad()
    def conditional(self, noise: Tensor, row: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Latents of graphs with these conditions: `noise` made a draw from p(z | c).

        `row` may be one for each latent, if all of them have the same conditions. The `generator` (on the CPU) chooses
        among the mixture's components.
        """  # count latent
        if self.mixture is not None and self.mixture.fitted:
            return self.mixture.draw(noise.to(self.weight), row, generator)
        mean, spread = self._conditional(row)
        return (mean + noise.to(spread) @ spread.T).to(self.weight.dtype)

    @torch.no_grad()
    def changed(self, latents: Tensor, before: Tensor, given: Mapping[str, float]) -> tuple[Tensor, Tensor]:
        """Latents of graphs with conditions `before`, moved to where those `given` are met, and all conditions then.

        They move as the latents of the training data do with these conditions. What is not known before is taken
        from the latents.
        """  # batch latent, batch condition
        asked = self.row(given)
        return self._moved(latents, before, asked), torch.where(~asked.isnan(), asked, before)

    @torch.no_grad()
    def varied(self, latents: Tensor, before: Tensor, asked: Tensor, noise: Tensor, change: float) -> Tensor:
        """Latents of graphs with conditions `before`, moved to where those asked for are met, and then to others there.

        `noise` becomes a draw from p(z | c); `change` is its share, from 0 (none) to 1 (nothing but the draw). What is
        between has the mean and the covariance of p(z | c), too, where the graphs have them.
        """  # count latent
        mean, spread = self._conditional(asked)
        moved = self._moved(latents, before, asked).double()
        mixed = mean + math.sqrt(1 - change**2) * (moved - mean) + change * (noise.to(spread) @ spread.T)
        return mixed.to(self.weight.dtype)

    def _moved(self, latents: Tensor, before: Tensor, asked: Tensor) -> Tensor:
        there = ~asked.view(-1, asked.shape[-1])[0].isnan()
        known = torch.where(before.isnan(), self.expected(latents), before)
        change = torch.where(there, asked - known, 0.0).double()
        return latents + (change[:, there] @ self._gain(there).T).to(latents.dtype)

    @torch.no_grad()
    def expected(self, latents: Tensor) -> Tensor:
        """The conditions to expect of graphs with these latents, by linear regression."""  # batch condition
        covariance, mean = self.joint_covariance.double(), self.joint_mean.double()
        own = covariance[: self.latent, : self.latent]
        own = own + RIDGE * own.diagonal().mean() * torch.eye(self.latent, dtype=own.dtype, device=own.device)
        solved = torch.linalg.solve(own, covariance[: self.latent, self.latent :])
        found: Tensor = mean[self.latent :] + (latents.double() - mean[: self.latent]) @ solved
        return found.to(self.weight.dtype)

    def _gain(self, there: Tensor) -> Tensor:
        """The regression of latents on some of the conditions."""  # latent condition
        covariance = self.joint_covariance.double()
        cross = covariance[: self.latent, self.latent :][:, there]
        own = covariance[self.latent :, self.latent :][there][:, there]
        own = own + RIDGE * torch.eye(len(own), dtype=own.dtype, device=own.device)
        gain: Tensor = torch.linalg.solve(own, cross.T).T
        return gain

    def _conditional(self, row: Tensor) -> tuple[Tensor, Tensor]:
        """The mean of p(z | c), and a factor of its covariance."""
        there = ~row.view(-1, row.shape[-1])[0].isnan()
        covariance, mean = self.joint_covariance.double(), self.joint_mean.double()
        gain = self._gain(there)
        moved = mean[: self.latent] + (row.double()[..., there] - mean[self.latent :][there]) @ gain.T
        rest = covariance[: self.latent, : self.latent] - gain @ covariance[self.latent :, : self.latent][there]
        values, vectors = torch.linalg.eigh((rest + rest.T) / 2)  # never negative but for rounding
        return moved, vectors * values.clamp(min=0).sqrt()
