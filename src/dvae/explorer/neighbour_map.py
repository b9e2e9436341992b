"""A map that keeps neighbours together (t-SNE, van der Maaten and Hinton 2008), and a way back from it.

Two straight axes show little of a space of many dimensions. This map bends: some DAGs, the landmarks, are laid out so
that near ones stay near, and all others take the mean place of their nearest landmarks. Back from the map, a spot
stands for the mean latent of the landmarks around it, so that what is decoded lies where DAGs are.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field

import torch
from torch import Tensor

from dvae.extras import missing

NAME = "Neighbours"
MIN_DAGS = 10  # that make such a map
LANDMARKS = 2000
NEAREST = 5
PERPLEXITY = 30.0
CHUNK = 2048  # points whose distances are computed at once
FEW = 64  # up to which the spots of one request are remembered
REMEMBERED = 1024


@dataclass(frozen=True, eq=False)
class NeighbourMap:
    """Used like a `FlatMap`, but it has no straight axes."""

    latents: Tensor  # landmark latent
    places: Tensor  # landmark 2
    centre: Tensor  # latent
    name: str = NAME
    labels: tuple[str, str] = ("neighbours stay together; distances mean little", "")
    variance: tuple[None, None] = (None, None)
    lifted: dict[bytes, Tensor] = field(default_factory=dict, repr=False)  # spots by the latents they were lifted to

    @classmethod
    def of(cls, latents: Tensor, seed: int = 0) -> NeighbourMap:
        try:
            from sklearn.manifold import TSNE
        except ImportError:
            raise missing("scikit-learn", "search", "this map") from None
        order = torch.randperm(len(latents), generator=torch.Generator().manual_seed(seed))
        chosen = latents[order[:LANDMARKS]].unique(dim=0)
        perplexity = min(PERPLEXITY, max(1.0, (len(chosen) - 1) / 3))
        found = TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(chosen.double().numpy())
        return cls(chosen, torch.from_numpy(found).float(), latents.mean(0))

    def project(self, latents: Tensor) -> Tensor:
        """Where latents lie on the map; one that came from a spot of it lies on that spot."""  # -> count 2
        places = _mean_of_nearest(latents, self.latents, self.places)
        if len(latents) <= FEW:
            for row, latent in enumerate(latents):
                places[row] = self.lifted.get(_bytes(latent), places[row])
        return places

    def lift(self, places: Tensor, anchor: Tensor) -> Tensor:
        """Latents at spots of the map; they have all dimensions, so the anchor adds nothing."""  # -> count latent
        latents = _mean_of_nearest(places, self.places, self.latents)
        if len(places) <= FEW:
            for place, latent in zip(places, latents, strict=True):
                while len(self.lifted) >= REMEMBERED:
                    del self.lifted[next(iter(self.lifted))]
                self.lifted[_bytes(latent)] = place.to(self.places)
        return latents


def _bytes(latent: Tensor) -> bytes:
    return latent.float().contiguous().numpy().tobytes()


def is_possible() -> bool:
    """Whether the package that computes such maps is installed."""
    return importlib.util.find_spec("sklearn") is not None


def _mean_of_nearest(points: Tensor, known: Tensor, values: Tensor) -> Tensor:
    """The mean value of the nearest known points, nearer ones counting more; a known point has its own value."""
    parts = []
    for part in points.double().split(CHUNK):
        distances, nearest = torch.cdist(part, known.double()).topk(min(NEAREST, len(known)), largest=False)
        weights = 1 / (distances.square() + 1e-9 * distances[:, -1:].square() + 1e-30)
        means = (weights[..., None] * values[nearest]).sum(1) / weights.sum(1, keepdim=True)
        parts.append(means.to(values))
    return torch.cat(parts) if parts else values.new_empty(0, values.shape[1])
