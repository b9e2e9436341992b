"""The joint distribution of the continuous variables of a network, for many configurations of the discrete ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dvae.bayesnet.network import Array, Floats, LinearGaussian, Network


@dataclass(frozen=True, eq=False)
class JointGaussians:
    """One Gaussian over `names` for each configuration."""

    names: tuple[str, ...]
    mean: Floats  # configuration variable
    covariance: Floats  # configuration variable variable

    def given(self, values: Mapping[str, float]) -> tuple[JointGaussians, Floats]:
        """The Gaussians of the other variables when some have these values, and the log-densities of the values."""
        seen = [place for place, name in enumerate(self.names) if name in values]
        rest = [place for place, name in enumerate(self.names) if name not in values]
        error = np.array([values[self.names[place]] for place in seen]) - self.mean[:, seen]
        inside = self.covariance[np.ix_(range(len(self.mean)), seen, seen)]
        across = self.covariance[np.ix_(range(len(self.mean)), rest, seen)]
        gain = np.linalg.solve(inside, across.swapaxes(1, 2)).swapaxes(1, 2)  # inside is symmetric
        mean = self.mean[:, rest] + np.einsum("crs,cs->cr", gain, error)
        covariance = self.covariance[np.ix_(range(len(self.mean)), rest, rest)] - gain @ across.swapaxes(1, 2)
        distance = np.einsum("cs,cs->c", error, np.linalg.solve(inside, error[..., None])[..., 0])
        logs = -0.5 * (distance + np.linalg.slogdet(inside)[1] + len(seen) * math.log(2 * math.pi))
        return JointGaussians(tuple(self.names[place] for place in rest), mean, covariance), logs


def joint_gaussians(network: Network, names: Sequence[str], codes: Mapping[str, Array], count: int) -> JointGaussians:
    """The Gaussians of continuous variables, ancestors among them, for `count` configurations of discrete ones.

    `codes` has the state of each discrete variable in every configuration.
    """
    order = [name for name in network.order if name in set(names)]
    place = {name: number for number, name in enumerate(order)}
    mean, covariance = np.zeros((count, len(order))), np.zeros((count, len(order), len(order)))
    for here, name in enumerate(order):
        variable = network[name]
        line = variable.parameters
        assert isinstance(line, LinearGaussian)
        which = tuple(codes[parent] for parent in network.discrete_parents(variable))
        above = [place[parent] for parent in network.continuous_parents(variable)]
        slopes = np.broadcast_to(line.coefficients[which], (count, len(above)))
        mean[:, here] = line.intercept[which] + np.einsum("cp,cp->c", slopes, mean[:, above])
        across = np.einsum("cp,cpv->cv", slopes, covariance[:, above, :])
        covariance[:, here, :] = across
        covariance[:, :, here] = across
        covariance[:, here, here] = line.deviation[which] ** 2 + np.einsum("cp,cp->c", slopes, across[:, above])
    return JointGaussians(tuple(order), mean, covariance)
