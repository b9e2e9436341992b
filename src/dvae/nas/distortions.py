"""One random change of shape or colour for each image of a batch, after TrivialAugment (Mueller and Hutter, ICCV 2021).

The changes and their ranges are those of its "wide" space. Different here: amounts are continuous instead of 31 levels,
shears are about the middle instead of a corner (milder), pixels between others are mixed of them instead of the
nearest, values are equalised by the share of pixels not above them (Pillow: below them), and images come already
cropped.

Every change is computed for all images, and each image keeps its own: that needs no copy to the host, and images are
small beside the activations of a network. Images have values in [0, 1], `batch channel row column`; an amount lies in
[-1, 1] and is one number per image, `batch 1 1 1`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

# The widest changes, at amounts of -1 and 1.
WIDEST_ANGLE = 0.75 * math.pi
WIDEST_SHEAR = 0.99
WIDEST_SHIFT = 2.0  # the whole side, in coordinates from -1 to 1
WIDEST_BLEND = 0.99
MIN_BITS, BITS = 2, 8
LUMINANCE = (0.299, 0.587, 0.114)  # ITU-R BT.601

Change = Callable[[Tensor, Tensor], Tensor]


def distorted(images: Tensor, strength: float, generator: torch.Generator) -> Tensor:
    """Each image after a change of its own, drawn uniformly, by an amount drawn uniformly up to `strength`."""
    shape = (len(images), 1, 1, 1)
    chosen = torch.randint(len(CHANGES), shape, generator=generator, device=images.device)
    amounts = strength * (2 * torch.rand(shape, generator=generator, device=images.device) - 1)
    result = images
    for place, change in enumerate(CHANGES.values()):
        result = torch.where(chosen == place, change(images, amounts), result)
    return result


def _same(images: Tensor, amounts: Tensor) -> Tensor:
    return images


def _sheared_along_rows(images: Tensor, amounts: Tensor) -> Tensor:
    return _moved(images, 1.0, WIDEST_SHEAR * amounts, 0.0, 0.0, 1.0, 0.0)


def _sheared_along_columns(images: Tensor, amounts: Tensor) -> Tensor:
    return _moved(images, 1.0, 0.0, 0.0, WIDEST_SHEAR * amounts, 1.0, 0.0)


def _shifted_along_rows(images: Tensor, amounts: Tensor) -> Tensor:
    return _moved(images, 1.0, 0.0, WIDEST_SHIFT * amounts, 0.0, 1.0, 0.0)


def _shifted_along_columns(images: Tensor, amounts: Tensor) -> Tensor:
    return _moved(images, 1.0, 0.0, 0.0, 0.0, 1.0, WIDEST_SHIFT * amounts)


def _rotated(images: Tensor, amounts: Tensor) -> Tensor:
    cosine, sine = torch.cos(WIDEST_ANGLE * amounts), torch.sin(WIDEST_ANGLE * amounts)
    return _moved(images, cosine, -sine, 0.0, sine, cosine, 0.0)


def _moved(images: Tensor, *coefficients: Tensor | float) -> Tensor:
    """Where each pixel comes from: the two rows of an affine map; what comes from outside is black."""
    count = len(images)
    # Filled where they lie: a number sent to a GPU would make it wait.
    columns = [
        value.reshape(count) if isinstance(value, Tensor) else images.new_full((count,), value)
        for value in coefficients
    ]
    maps = torch.stack(columns, dim=1).reshape(count, 2, 3)
    grid = F.affine_grid(maps, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def _brighter(images: Tensor, amounts: Tensor) -> Tensor:
    return _blended(torch.zeros_like(images), images, amounts)


def _more_coloured(images: Tensor, amounts: Tensor) -> Tensor:
    return _blended(_grey(images), images, amounts)


def _more_contrast(images: Tensor, amounts: Tensor) -> Tensor:
    return _blended(_grey(images).mean(dim=(2, 3), keepdim=True), images, amounts)


def _sharper(images: Tensor, amounts: Tensor) -> Tensor:
    """The other end is a mean of the 3x3 pixels around, the middle one weighing five; the rim stays as it is."""
    inner = (9 * F.avg_pool2d(images, 3, stride=1) + 4 * images[:, :, 1:-1, 1:-1]) / 13
    smooth = images.clone()
    smooth[:, :, 1:-1, 1:-1] = inner
    return _blended(smooth, images, amounts)


def _blended(other_end: Tensor, images: Tensor, amounts: Tensor) -> Tensor:
    """From `other_end` (-1) over the images (0) to as far on the other side (1)."""
    return (other_end + (1 + WIDEST_BLEND * amounts) * (images - other_end)).clamp(0, 1)


def _grey(images: Tensor) -> Tensor:
    if images.shape[1] != len(LUMINANCE):
        return images.mean(dim=1, keepdim=True)
    red, green, blue = (weight * images[:, channel, None] for channel, weight in enumerate(LUMINANCE))
    return red + green + blue


def _solarised(images: Tensor, amounts: Tensor) -> Tensor:
    """Values above a threshold are turned to their negatives."""
    return torch.where(images > 1 - amounts.abs(), 1 - images, images)


def _posterised(images: Tensor, amounts: Tensor) -> Tensor:
    """Fewer bits a value."""
    step = 2 ** torch.round((BITS - MIN_BITS) * amounts.abs())
    return torch.floor(images * 255 / step) * step / 255


def _full_range(images: Tensor, amounts: Tensor) -> Tensor:
    """Each channel from 0 to 1."""
    least, most = images.amin(dim=(2, 3), keepdim=True), images.amax(dim=(2, 3), keepdim=True)
    return torch.where(most > least, (images - least) / (most - least).clamp(min=1e-6), images)


def _equalised(images: Tensor, amounts: Tensor) -> Tensor:
    """Each value by the share of its channel's pixels that are not above it, stretched from 0 to 1."""
    levels = (images * 255).round().long().flatten(2)  # batch channel pixel
    counts = images.new_zeros(*levels.shape[:2], 256)
    counts.scatter_add_(2, levels, torch.ones_like(levels, dtype=images.dtype))
    below = counts.cumsum(2).gather(2, levels)
    least = below.amin(dim=2, keepdim=True)
    equal = (below - least) / (levels.shape[2] - least).clamp(min=1)
    return torch.where(least < levels.shape[2], equal, images.flatten(2)).reshape(images.shape)


CHANGES: dict[str, Change] = {
    "same": _same,
    "sheared along rows": _sheared_along_rows,
    "sheared along columns": _sheared_along_columns,
    "shifted along rows": _shifted_along_rows,
    "shifted along columns": _shifted_along_columns,
    "rotated": _rotated,
    "brighter": _brighter,
    "more coloured": _more_coloured,
    "more contrast": _more_contrast,
    "sharper": _sharper,
    "solarised": _solarised,
    "posterised": _posterised,
    "full range": _full_range,
    "equalised": _equalised,
}
