"""Training of a network on augmented images, as a job of the resumable loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from dvae.config import check
from dvae.nas.batches import DeviceImages, batches_generator, dropout_from, epoch_seed
from dvae.nas.network import MacroNetwork
from dvae.nas.recipes import Recipe
from dvae.nas.supernet_config import SupernetConfig
from dvae.training.job import Clock, Job, Place


class ImageJob(Job):
    """Each step takes a batch of images; a job says what scores its network gives them."""

    label_smoothing = 0.0

    def __init__(
        self, network: MacroNetwork, train: DeviceImages, config: Recipe | SupernetConfig, clock: Clock
    ) -> None:
        super().__init__(clock)
        check(len(train) >= config.batch, f"{len(train)} training images do not fill a batch of {config.batch}")
        self.network, self.train, self.plan = network, train, config
        self.epochs, self.steps, self.device = config.epochs, len(train) // config.batch, train.device
        self.optimizer = torch.optim.SGD(
            network.parameters(), lr=config.schedule.highest, momentum=config.momentum, nesterov=True,
            weight_decay=config.weight_decay,
        )  # fmt: skip
        self.generators = {"batches": torch.Generator(self.device), "dropout": torch.Generator(self.device)}
        self.batches: Iterator[tuple[Tensor, Tensor]] = iter(())
        self.taken = 0  # steps of the unfinished epoch
        self.losses = torch.zeros((), device=self.device)
        self.correct = torch.zeros((), device=self.device)

    def scores(self, images: Tensor) -> Tensor:
        """What the network says of a batch of images."""  # batch class
        raise NotImplementedError

    def position(self, place: Place) -> float:
        """How many epochs are done."""
        return place.epoch + place.step / self.steps

    def share(self, place: Place) -> float:
        """How much of training is done."""
        return self.position(place) / self.epochs

    def begin_epoch(self, place: Place) -> None:
        drawing = self.generators["batches"]
        state = drawing.get_state() if place.step else None
        drawing.manual_seed(epoch_seed(self.plan.seed, place.epoch))
        self.batches = self.train.shuffled(self.plan.batch, drawing, place.step, state)
        self.taken = place.step
        if place.step == 0:
            self.generators["dropout"].manual_seed(epoch_seed(self.plan.seed, place.epoch))
            self.losses.zero_()
            self.correct.zero_()
        self.network.train()

    def step(self, place: Place) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = self.plan.schedule.rate(self.position(place), self.share(place)) * place.rate_share
        images, labels = next(self.batches)
        with dropout_from(self.generators["dropout"]), self.autocast():
            scores = self.scores(images)
        loss = F.cross_entropy(scores.float(), labels, label_smoothing=self.label_smoothing)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self.plan.gradient_norm > 0:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.plan.gradient_norm)
        self.optimizer.step()
        self.losses += loss.detach()
        if labels.dim() == 1:
            self.correct += (scores.argmax(1) == labels).sum()
        self.taken += 1

    def mean_loss(self) -> float:
        """Over the steps of the epoch."""
        return float(self.losses) / self.taken

    def state(self) -> dict[str, Any]:
        return {"loss": float(self.losses), "correct": float(self.correct)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.losses.fill_(state.get("loss", 0.0))
        self.correct.fill_(state.get("correct", 0.0))

    def autocast(self) -> torch.autocast:
        """On CUDA, products in bfloat16."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda")

    def generator(self, place: Place, offset: int) -> torch.Generator:
        """Random numbers of this epoch for another purpose than batches and dropout."""
        return batches_generator(self.plan.seed + offset, place.epoch, self.device)
