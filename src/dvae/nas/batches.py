"""Images on the device: normalised, and augmented where they lie, a whole batch in one gather."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.config import check
from dvae.data.images import ImageData, Images
from dvae.nas.distortions import distorted


@dataclass(frozen=True)
class Augmentation:
    """Lengths are shares of the side, so that they mean the same for images of every size; 0 is none.

    The defaults are 4 pixels of 32 to crop from, and a cut-out square of 8 (DeVries and Taylor, 2017).
    """

    crop: float = 1 / 8  # how far images are padded with zeros, then cropped at random
    flip: bool = True  # left and right, where the classes allow it
    cutout: float = 1 / 4  # side of a square that is blanked
    distortion: float = 0.0  # strength of one random change of shape or colour per image (`dvae.nas.distortions`)
    mixing: float = 0.0  # share of images that get a square of another, and its share of the label (CutMix)

    def __post_init__(self) -> None:
        check(0 <= self.crop < 1 and 0 <= self.cutout < 1, "crop and cutout are shares of the side, in [0, 1)")
        check(0 <= self.distortion <= 1, f"distortion must lie in [0, 1]: {self.distortion}")
        check(0 <= self.mixing <= 1, f"mixing must lie in [0, 1]: {self.mixing}")


NO_AUGMENTATION = Augmentation(0.0, False, 0.0)


class DeviceImages:
    """Images kept on a device as bytes, padded once; batches come out normalised, in channels-last memory."""

    def __init__(self, images: Images, data: ImageData, device: torch.device, augmentation: Augmentation) -> None:
        self.side, self.augmentation, self.mirrored = data.side, augmentation, data.mirrored
        self.classes = data.classes
        pixels = torch.from_numpy(data.train.pixels).double()
        mean = pixels.mean(dim=(0, 1, 2))
        std = pixels.std(dim=(0, 1, 2)).clamp(min=1.0)
        self.mean, self.std = mean.float().to(device), std.float().to(device)  # channel
        self.margin = round(augmentation.crop * self.side)
        edge = (0, 0, self.margin, self.margin, self.margin, self.margin)
        self.pixels = torch.nn.functional.pad(torch.from_numpy(images.pixels).to(device), edge)
        self.labels = torch.from_numpy(images.labels).to(device)
        self.device = device

    def __len__(self) -> int:
        return len(self.labels)

    def plain(self, first: int, last: int) -> Tensor:
        """The images as they are."""  # batch channel row column
        inner = slice(self.margin, self.margin + self.side)
        return self._normalised(self.pixels[first:last, inner, inner])

    def augmented(self, places: Tensor, generator: torch.Generator) -> Tensor:
        """The images at `places`, each changed by chance."""  # batch -> batch channel row column
        count, steps = len(places), torch.arange(self.side, device=self.device)
        shift = torch.randint(2 * self.margin + 1, (2, count, 1), generator=generator, device=self.device)
        rows, columns = (steps + part for part in shift)  # batch row, batch column
        if self.augmentation.flip and self.mirrored:
            turned = torch.rand(count, 1, generator=generator, device=self.device) < 0.5
            columns = torch.where(turned, columns.flip(1), columns)
        chosen = self.pixels[places[:, None, None], rows[:, :, None], columns[:, None, :]]
        if self.augmentation.distortion:
            shares = chosen.permute(0, 3, 1, 2) / 255
            chosen = 255 * distorted(shares, self.augmentation.distortion, generator).permute(0, 2, 3, 1)
        return self._cut_out(self._normalised(chosen), generator)

    def shuffled(
        self, size: int, generator: torch.Generator, first: int = 0, state: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """One epoch: augmented batches of exactly `size` images, what is left over dropped.

        Labels are classes; with mixing, shares of all classes (batch class). To resume an epoch, `first` is the
        batch to begin with, and `state` that of the generator after those before.
        """
        order = torch.randperm(len(self), generator=generator, device=self.device)
        if state is not None:
            generator.set_state(state)
        for start in range(first * size, len(self) - size + 1, size):
            places = order[start : start + size]
            images, labels = self.augmented(places, generator), self.labels[places]
            yield self._mixed(images, labels, generator) if self.augmentation.mixing else (images, labels)

    def parts(self, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """All images in order, in as few equal parts as keep to `size`; equal, since batch statistics see a part."""
        count = -(-len(self) // size)
        for part in range(count):
            first, last = part * len(self) // count, (part + 1) * len(self) // count
            yield self.plain(first, last), self.labels[first:last]

    def _normalised(self, pixels: Tensor) -> Tensor:
        normal = ((pixels.float() - self.mean) / self.std).permute(0, 3, 1, 2)
        return normal.contiguous(memory_format=torch.channels_last)

    def _cut_out(self, images: Tensor, generator: torch.Generator) -> Tensor:
        length = round(self.augmentation.cutout * self.side)
        if not length:
            return images
        lengths = torch.full((len(images), 1), length, device=self.device)
        return images.masked_fill(self._squares(lengths, generator), 0.0)

    def _mixed(self, images: Tensor, labels: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """In the share `mixing` of all images a square of the one before, of uniform area until the rim cuts it off
        (Yun et al., CutMix, ICCV 2019; there all images of a batch or none)."""
        drawn = torch.rand(2, len(images), 1, generator=generator, device=self.device)
        lengths = (self.side * drawn[0].sqrt()).round().long() * (drawn[1] < self.augmentation.mixing)
        squares = self._squares(lengths, generator)  # batch 1 row column
        theirs = squares.float().mean(dim=(1, 2, 3))[:, None]
        classes = images.new_zeros(len(labels), self.classes).scatter_(1, labels[:, None], 1.0)
        mixed = torch.where(squares, images.roll(1, dims=0), images).contiguous(memory_format=torch.channels_last)
        return mixed, (1 - theirs) * classes + theirs * classes.roll(1, dims=0)

    def _squares(self, lengths: Tensor, generator: torch.Generator) -> Tensor:
        """A square at a random place of each image, cut off at the rim."""  # batch 1 -> batch 1 row column
        centre = torch.randint(self.side, (2, len(lengths), 1), generator=generator, device=self.device)
        steps = torch.arange(self.side, device=self.device)
        rows, columns = ((steps >= at - lengths // 2) & (steps < at - lengths // 2 + lengths) for at in centre)
        squares: Tensor = (rows[:, :, None] & columns[:, None, :])[:, None]
        return squares


@contextlib.contextmanager
def dropout_from(generator: torch.Generator) -> Iterator[None]:
    """Dropout knows no generator but the global one: it is lent the state of `generator`, and given back as it was."""
    on_cuda = generator.device.type == "cuda"
    own = torch.cuda.default_generators[torch.cuda.current_device()] if on_cuda else torch.default_generator
    before = own.get_state()
    own.set_state(generator.get_state())
    try:
        yield
        generator.set_state(own.get_state())
    finally:
        own.set_state(before)


def epoch_seed(seed: int, epoch: int) -> int:
    """The seed of one epoch, the same whether the training was interrupted before it or not."""
    return seed * 1_000_003 + epoch


def batches_generator(seed: int, epoch: int, device: torch.device) -> torch.Generator:
    """The random numbers of one epoch."""
    return torch.Generator(device).manual_seed(epoch_seed(seed, epoch))
