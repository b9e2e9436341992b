"""A training as it was at the end of its last good epoch, to go back to when it diverges."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from dvae.models.storage import distinct_state
from dvae.training.job import Job, Place


class Snapshot:
    """Copies of everything that training changes; `put_back` writes in place, as recorded steps need it."""

    def __init__(self, job: Job, place: Place) -> None:
        self.job = job
        self.tensors: dict[str, Tensor] = {}
        self.take(place)

    def take(self, place: Place) -> None:
        """Remembers the training at `place`."""
        found = dict(_tensors(self.job))
        self.tensors = {name: _copied(value, self.tensors.get(name)) for name, value in found.items()}
        self.generators = {name: generator.get_state() for name, generator in self.job.generators.items()}
        self.state: dict[str, Any] = copy.deepcopy(self.job.state())
        self.epoch, self.step, self.seconds, self.rows = place.epoch, place.step, place.seconds, len(place.history)

    @torch.no_grad()
    def put_back(self, place: Place) -> None:
        """Makes the job and its place what they were."""
        for name, value in _tensors(self.job):
            if name in self.tensors:
                value.copy_(self.tensors[name])
        _forget_newer(self.job, self.tensors.keys())
        for name, generator in self.job.generators.items():
            generator.set_state(self.generators[name])
        self.job.restore(self.state)
        place.epoch, place.step, place.seconds = self.epoch, self.step, self.seconds
        del place.history[self.rows :]


def _tensors(job: Job) -> Iterator[tuple[str, Tensor]]:
    for part, (module, optimizer) in job.parts.items():
        for name, value in distinct_state(module).items():
            yield f"{part}.model.{name}", value
        for name, parameter in module.named_parameters():
            state = {} if optimizer is None else optimizer.state.get(parameter, {})
            for key, value in state.items():
                if isinstance(value, Tensor):
                    yield f"{part}.optimizer.{key}.{name}", value


def _copied(value: Tensor, room: Tensor | None) -> Tensor:
    """A copy, in the room of an earlier one where that fits."""
    if room is None or room.shape != value.shape:
        return value.detach().clone()
    return room.copy_(value.detach())


def _forget_newer(job: Job, known: Iterable[str]) -> None:
    """Removes what optimizers have gathered since about weights that they had not seen."""
    names = set(known)
    for part, (module, optimizer) in job.parts.items():
        for name, parameter in module.named_parameters():
            state = {} if optimizer is None else optimizer.state.get(parameter, {})
            for key in [key for key in state if f"{part}.optimizer.{key}.{name}" not in names]:
                del state[key]
