"""Labelled images: the digits of the package, and CIFAR-10 from its binary files or a packed file of JPEGs.

Images are bytes, `image row column channel`. Nothing here is ever unpickled.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dvae.data.cache import data_folder
from dvae.errors import ConfigError, FormatError, MissingError

Bytes: TypeAlias = npt.NDArray[np.uint8]
Integers: TypeAlias = npt.NDArray[np.int64]

DIGITS = "digits"
CIFAR10 = "cifar10"
DIGITS_TEST = 500
DIGIT_LEVELS = "0123456789abcdefg"  # grey levels 0 to 16, one character per pixel
CIFAR_FOLDER = "cifar-10-batches-bin"
CIFAR_TRAIN = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
CIFAR_TEST = "test_batch.bin"
CIFAR_PACKED = "cifar10_q90_packed.npz"
CIFAR_IMAGES = 10_000  # in each of the six files
CIFAR_SIDE = 32
DECODERS = 8  # threads; Pillow decodes without holding the interpreter's lock


@dataclass(frozen=True)
class Images:
    """Images with their classes, from 0."""

    pixels: Bytes  # image row column channel
    labels: Integers  # image

    def __post_init__(self) -> None:
        if self.pixels.ndim != 4 or self.pixels.dtype != np.uint8:
            raise FormatError(f"images are bytes with four axes, not {self.pixels.dtype} {self.pixels.shape}")
        if len(self.labels) != len(self.pixels):
            raise FormatError(f"{len(self.pixels)} images have {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.pixels)

    def part(self, first: int, last: int) -> Images:
        """The images from `first` up to, not including, `last`."""
        return Images(self.pixels[first:last], self.labels[first:last])


@dataclass(frozen=True)
class ImageData:
    """A data set split into train and test. `mirrored`: an image and its mirror image are of the same class."""

    name: str
    train: Images
    test: Images
    classes: int
    mirrored: bool
    note: str = ""  # to be said beside every number measured on these images

    @property
    def side(self) -> int:
        """The height and width of an image, in pixels."""
        return int(self.train.pixels.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """Other images, other letters; a copy of the same ones has the same."""
        digest = hashlib.blake2b(digest_size=8)
        for part in (self.train, self.test):
            digest.update(np.ascontiguousarray(part.pixels).data)
            digest.update(np.ascontiguousarray(part.labels).data)
        return digest.hexdigest()

    @property
    def channels(self) -> int:
        """The number of colour channels."""
        return int(self.train.pixels.shape[3])

    def without_test(self, validation: int) -> tuple[Images, Images]:
        """The training images but the last `validation`, and those: for choices that must not see the test set."""
        count = len(self.train)
        if not 0 < validation < count:
            raise ConfigError(f"the validation set takes 1 to {count - 1} of the {count} images, not {validation}")
        return self.train.part(0, count - validation), self.train.part(count - validation, count)

    def limited(self, train: int | None, test: int | None) -> ImageData:
        """The first images of either part."""
        return ImageData(
            self.name, self.train.part(0, train or len(self.train)), self.test.part(0, test or len(self.test)),
            self.classes, self.mirrored, self.note,
        )  # fmt: skip


def load_images(name: str) -> ImageData:
    """`digits`, `cifar10`, or the path of CIFAR-10's binary folder or packed file."""
    if name == DIGITS:
        return load_digits()
    if name == CIFAR10:
        return load_cifar10(_cifar_place())
    path = Path(name)
    if path.exists():
        return load_cifar10(path)
    raise MissingError(f"there are no images {name!r}: choose digits, cifar10, or a folder or file of CIFAR-10")


def load_digits() -> ImageData:
    """1,797 handwritten digits of 8x8 pixels (Alpaydin and Kaynak, UCI, 1998), in a fixed shuffled order."""
    text = resources.files("dvae.data").joinpath("digits.csv").read_text(encoding="ascii")
    rows = [line.split(",") for line in text.splitlines()[1:]]
    level_of = {level: round(255 * place / 16) for place, level in enumerate(DIGIT_LEVELS)}
    pixels = np.array([[level_of[level] for level in row[0]] for row in rows], np.uint8).reshape(-1, 8, 8, 1)
    whole = Images(pixels, np.array([int(row[1]) for row in rows], np.int64))
    train = len(whole) - DIGITS_TEST
    return ImageData(DIGITS, whole.part(0, train), whole.part(train, len(whole)), 10, mirrored=False)


def load_cifar10(path: Path) -> ImageData:
    """CIFAR-10 from the folder of its binary files, or from a packed file of JPEGs."""
    if path.is_dir():
        inner = path / CIFAR_FOLDER
        return _binary_cifar10(inner if inner.is_dir() else path)
    if path.suffix == ".npz":
        return _packed_cifar10(path)
    raise FormatError(f"{path}: expected the folder of CIFAR-10's .bin files, or a packed .npz file")


def _cifar_place() -> Path:
    folder = data_folder() / CIFAR10
    for place in (folder / CIFAR_FOLDER, folder / CIFAR_PACKED):
        if place.exists():
            return place
    raise MissingError(
        f"CIFAR-10 is not in {folder}: get it with `dvae data fetch cifar10`, or set DVAE_DATA to the folder that "
        f"holds cifar10/{CIFAR_FOLDER}"
    )


def _binary_cifar10(folder: Path) -> ImageData:
    parts = [_read_binary(folder / name) for name in CIFAR_TRAIN]
    pixels, labels = [part.pixels for part in parts], [part.labels for part in parts]
    train = Images(np.concatenate(pixels), np.concatenate(labels))
    return ImageData(CIFAR10, train, _read_binary(folder / CIFAR_TEST), 10, mirrored=True)


def _read_binary(path: Path) -> Images:
    """Records of a label and 3,072 bytes: the red plane, the green, the blue."""
    if not path.is_file():
        raise MissingError(f"{path} is not there: get CIFAR-10 with `dvae data fetch cifar10`")
    raw = np.fromfile(path, np.uint8)
    record = 1 + 3 * CIFAR_SIDE**2
    if len(raw) != CIFAR_IMAGES * record:
        raise FormatError(f"{path}: {len(raw):,} bytes, not {CIFAR_IMAGES * record:,}: the file is not whole")
    rows = raw.reshape(CIFAR_IMAGES, record)
    pixels = rows[:, 1:].reshape(-1, 3, CIFAR_SIDE, CIFAR_SIDE).transpose(0, 2, 3, 1)
    return Images(np.ascontiguousarray(pixels), _classes(rows[:, 0], path))


def _packed_cifar10(path: Path) -> ImageData:
    """JPEGs that share their header; lossy, and the data set says so."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingError("a packed file of JPEGs needs the package Pillow") from None
    try:
        with np.load(path, allow_pickle=False) as file:
            header, body = file["header"].tobytes(), file["body"].tobytes()
            lengths, labels = file["length"].astype(np.int64), _classes(file["label"], path)
            n_train = int(file["n_train"])
    except (KeyError, ValueError, OSError) as error:
        raise FormatError(f"{path}: not a packed file of images ({error})") from None
    ends = np.cumsum(lengths)
    if len(ends) == 0 or ends[-1] != len(body) or len(labels) != len(lengths) or not 0 < n_train < len(labels):
        raise FormatError(f"{path}: the lengths of the images do not add up")

    def decoded(places: Sequence[int]) -> Bytes:
        some = np.empty((len(places), CIFAR_SIDE, CIFAR_SIDE, 3), np.uint8)
        for row, place in enumerate(places):
            with Image.open(io.BytesIO(header + body[ends[place] - lengths[place] : ends[place]])) as image:
                some[row] = np.asarray(image.convert("RGB"))
        return some

    chunks = [range(first, min(first + 1000, len(ends))) for first in range(0, len(ends), 1000)]
    try:
        with ThreadPoolExecutor(DECODERS) as pool:
            pixels = np.concatenate(list(pool.map(decoded, chunks)))
    except (OSError, ValueError) as error:
        raise FormatError(f"{path}: an image cannot be decoded ({error})") from None
    whole = Images(pixels, labels)
    note = "images are JPEG (quality 90), not the lossless originals"
    train, test = whole.part(0, n_train), whole.part(n_train, len(whole))
    return ImageData(CIFAR10, train, test, 10, mirrored=True, note=note)


def _classes(labels: npt.NDArray[np.generic], path: Path) -> Integers:
    classes = labels.astype(np.int64)
    if len(classes) and not (classes.min() >= 0 and classes.max() < 10):
        raise FormatError(f"{path}: labels run from {classes.min()} to {classes.max()}, not from 0 to 9")
    return classes
