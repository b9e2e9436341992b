from __future__ import annotations

import numpy as np
import pytest
import torch

from dvae.data.images import ImageData, Images
from dvae.errors import ConfigError
from dvae.nas.batches import NO_AUGMENTATION, Augmentation, DeviceImages, batches_generator

CPU = torch.device("cpu")


def numbered(mirrored: bool = True) -> ImageData:
    """Twenty images whose pixels are all different."""
    pixels = np.arange(20 * 8 * 8 * 3).reshape(20, 8, 8, 3) % 251
    images = Images(pixels.astype(np.uint8), np.arange(20, dtype=np.int64) % 10)
    return ImageData("numbered", images, images, 10, mirrored)


def on_device(augmentation: Augmentation, mirrored: bool = True) -> DeviceImages:
    data = numbered(mirrored)
    return DeviceImages(data.train, data, CPU, augmentation)


def test_plain_images_are_normalised_and_channels_last() -> None:
    images = on_device(Augmentation()).plain(0, 20)
    assert images.shape == (20, 3, 8, 8)
    assert images.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(images.mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(images.std((0, 2, 3)), torch.ones(3), atol=1e-3, rtol=0)


def test_without_augmentation_an_image_is_itself() -> None:
    images = on_device(NO_AUGMENTATION)
    places = torch.tensor([3, 0, 7])
    drawn = images.augmented(places, torch.Generator().manual_seed(0))
    torch.testing.assert_close(drawn, images.plain(0, 20)[places])


def test_a_crop_is_a_part_of_the_padded_image() -> None:
    images = on_device(Augmentation(crop=1 / 4, flip=False, cutout=0))
    blank = ((0 - images.mean) / images.std)[:, None, None]
    padded = torch.ones(3, 12, 12) * blank
    padded[:, 2:10, 2:10] = images.plain(5, 6)[0]
    windows = [padded[:, row : row + 8, column : column + 8] for row in range(5) for column in range(5)]
    drawn = images.augmented(torch.full((200,), 5), torch.Generator().manual_seed(0))
    found = {next(place for place, window in enumerate(windows) if torch.allclose(window, one)) for one in drawn}
    assert found == set(range(25))


def test_images_are_flipped_only_where_classes_allow_it() -> None:
    flip = Augmentation(crop=0, flip=True, cutout=0)
    for mirrored, expected in ((True, {False, True}), (False, {False})):
        images = on_device(flip, mirrored)
        drawn = images.augmented(torch.full((50,), 4), torch.Generator().manual_seed(0))
        original = images.plain(4, 5)[0]
        assert all(torch.equal(one, original) or torch.equal(one, original.flip(2)) for one in drawn)
        assert {not torch.equal(one, original) for one in drawn} == expected


def test_a_cut_out_is_a_blank_square() -> None:
    images = on_device(Augmentation(crop=0, flip=False, cutout=1 / 2))
    drawn = images.augmented(torch.arange(20), torch.Generator().manual_seed(0))
    blank = (drawn == 0).all(1)  # batch row column
    for one in blank:
        rows, columns = one.any(1).sum(), one.any(0).sum()
        assert one.sum() == rows * columns
        assert 2 <= rows <= 4
        assert 2 <= columns <= 4


def test_mixed_images_share_their_labels_by_area() -> None:
    """Pixels of image k are all k, so that each pixel says whose it is."""
    pixels = np.broadcast_to(np.arange(20, dtype=np.uint8)[:, None, None, None], (20, 8, 8, 3)).copy()
    images = Images(pixels, np.arange(20, dtype=np.int64))
    data = ImageData("flat", images, images, 20, mirrored=True)
    shuffled = DeviceImages(data.train, data, CPU, Augmentation(0.0, False, 0.0, mixing=0.5))
    batch, labels = next(shuffled.shuffled(20, batches_generator(0, 0, CPU)))
    assert batch.is_contiguous(memory_format=torch.channels_last)
    owners = (batch * shuffled.std[:, None, None] + shuffled.mean[:, None, None]).round()[:, 0].long()
    counted = torch.stack([torch.bincount(one.flatten(), minlength=20) / 64 for one in owners])
    torch.testing.assert_close(labels, counted)
    mixed = int((labels.amax(1) < 1).sum())
    assert 3 <= mixed <= 17


def test_squares_of_other_images_have_uniform_areas() -> None:
    """The mean share that the rim leaves of them is that of all areas and places, each as likely as the others."""
    count = 2_000
    images = Images(np.zeros((count, 8, 8, 1), np.uint8), np.arange(count, dtype=np.int64))
    data = ImageData("many", images, images, count, mirrored=True)
    shuffled = DeviceImages(data.train, data, CPU, Augmentation(0.0, False, 0.0, mixing=1.0))
    _, labels = next(shuffled.shuffled(count, batches_generator(0, 0, CPU)))
    own = torch.randperm(count, generator=batches_generator(0, 0, CPU))  # an epoch's first draw
    theirs = 1 - labels[torch.arange(count), own]

    def left(side: int) -> float:
        return float(np.mean([min(at - side // 2 + side, 8) - max(at - side // 2, 0) for at in range(8)])) / 8

    expected = np.mean([left(round(8 * (area / 1_000) ** 0.5)) ** 2 for area in range(1_000)])
    assert abs(float(theirs.mean()) - expected) < 0.02


def test_distorted_images_stay_normalised_and_channels_last() -> None:
    images = on_device(Augmentation(crop=0, flip=False, cutout=0, distortion=1.0))
    drawn = images.augmented(torch.arange(20), torch.Generator().manual_seed(0))
    assert drawn.is_contiguous(memory_format=torch.channels_last)
    lowest, highest = -images.mean / images.std, (255 - images.mean) / images.std
    assert (drawn >= lowest[:, None, None] - 1e-4).all()
    assert (drawn <= highest[:, None, None] + 1e-4).all()
    plain = images.plain(0, 20)
    assert 0 < sum(torch.allclose(one, other, atol=1e-4) for one, other in zip(drawn, plain, strict=True)) < 20


def test_an_epoch_sees_every_image_once_and_parts_are_equal() -> None:
    images = on_device(NO_AUGMENTATION)
    batches = list(images.shuffled(6, batches_generator(0, 0, CPU)))
    assert [len(labels) for _, labels in batches] == [6, 6, 6]
    seen = torch.cat([part for part, _ in batches]).flatten(1)
    assert len(seen.unique(dim=0)) == 18
    assert [len(labels) for _, labels in images.parts(8)] == [6, 7, 7]


def test_shares_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match="shares"):
        Augmentation(crop=1.0)
    with pytest.raises(ConfigError, match="distortion"):
        Augmentation(distortion=1.5)
    with pytest.raises(ConfigError, match="mixing"):
        Augmentation(mixing=-0.1)
