"""CIFAR-10's binary files from PNG sheets.

    python benchmarks/cifar10_from_sheets.py SHEETS DATA/cifar10/cifar-10-batches-bin

A sheet (data_batch_1.png to data_batch_5.png, test_batch.png) has 10,000 rows of 1,024 pixels, an image a row;
train_lables.json and test_lables.json (spelt so) list the classes. Lossless CIFAR-10 is found in this form where its
authors' archive is out of reach.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from PIL import Image

IMAGES, PIXELS = 10_000, 32 * 32
NAMES = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]


def records(sheet: Path, labels: list[int]) -> bytes:
    """A label and the red, green and blue planes, image by image."""
    pixels = np.asarray(Image.open(sheet).convert("RGB"))  # image pixel channel
    if pixels.shape != (IMAGES, PIXELS, 3) or len(labels) != IMAGES:
        raise SystemExit(f"{sheet}: {pixels.shape} pixels and {len(labels)} labels are not a sheet of {IMAGES} images")
    planes = pixels.transpose(0, 2, 1).reshape(IMAGES, 3 * PIXELS)
    return np.concatenate([np.array(labels, np.uint8)[:, None], planes], axis=1).tobytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sheets", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    labels = [label for part in ("train", "test") for label in _read(options.sheets / f"{part}_lables.json")]
    options.out.mkdir(parents=True, exist_ok=True)
    for place, name in enumerate(NAMES):
        own = labels[place * IMAGES : (place + 1) * IMAGES]
        (options.out / f"{name}.bin").write_bytes(records(options.sheets / f"{name}.png", own))


def _read(path: Path) -> list[int]:
    values: list[int] = json.loads(path.read_text())
    return values


if __name__ == "__main__":
    main()
