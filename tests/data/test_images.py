from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from dvae.data import images
from dvae.data.images import Images, load_cifar10, load_digits, load_images
from dvae.errors import ConfigError, FormatError, MissingError


def test_the_digits_are_those_of_scikit_learn() -> None:
    from sklearn.datasets import load_digits as original

    data, known = load_digits(), original()
    ours = np.concatenate([data.train.pixels, data.test.pixels]).reshape(-1, 64)
    labels = np.concatenate([data.train.labels, data.test.labels])
    assert (len(data.train), len(data.test), data.side, data.channels) == (1297, 500, 8, 1)
    ours_sorted = sorted(
        (tuple(np.round(row / 255 * 16).astype(int)), int(label)) for row, label in zip(ours, labels, strict=True)
    )
    known_rows = zip(known.data.astype(int), known.target, strict=True)
    assert ours_sorted == sorted((tuple(row), int(label)) for row, label in known_rows)
    assert set(data.test.labels) == set(range(10))


def test_a_validation_set_is_taken_from_the_end() -> None:
    data = load_digits()
    train, validation = data.without_test(300)
    assert (len(train), len(validation)) == (997, 300)
    assert (validation.pixels == data.train.pixels[997:]).all()
    with pytest.raises(ConfigError, match="1 to 1296"):
        data.without_test(1297)


@pytest.fixture
def binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CIFAR-10's six files with four images each; pixel bytes tell image, plane, row and column."""
    monkeypatch.setattr(images, "CIFAR_IMAGES", 4)
    folder = tmp_path / "cifar10" / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    for number, name in enumerate((*images.CIFAR_TRAIN, images.CIFAR_TEST)):
        rows = []
        for image in range(4):
            planes = np.full((3, 32, 32), number * 4 + image, np.uint8)
            planes[1] += 100
            planes[2, 0] += 200
            rows.append(bytes([(number + image) % 10]) + planes.tobytes())
        (folder / name).write_bytes(b"".join(rows))
    return folder


def test_the_binary_files_are_read(binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVAE_DATA", str(binary.parent.parent))
    for data in (load_images("cifar10"), load_images(str(binary)), load_images(str(binary.parent))):
        assert (len(data.train), len(data.test), data.side, data.channels) == (20, 4, 32, 3)
        assert data.train.labels[:6].tolist() == [0, 1, 2, 3, 1, 2]
        assert data.train.pixels[5, 3, 4].tolist() == [5, 105, 5]
        assert data.train.pixels[5, 0, 4].tolist() == [5, 105, 205]
        assert data.note == ""


def test_a_file_that_is_not_whole_is_named(binary: Path) -> None:
    path = binary / "data_batch_3.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FormatError, match=r"data_batch_3\.bin.*not whole"):
        load_cifar10(binary)
    path.unlink()
    with pytest.raises(MissingError, match=r"data_batch_3\.bin is not there.*fetch cifar10"):
        load_cifar10(binary)


def packed(path: Path, count: int = 5) -> np.ndarray:
    from PIL import Image

    colours = np.random.Generator(np.random.PCG64(0)).integers(256, size=(count, 1, 1, 3))
    originals = np.broadcast_to(colours, (count, 32, 32, 3)).astype(np.uint8)
    files = []
    for original in originals:
        stream = io.BytesIO()
        Image.fromarray(original).save(stream, "JPEG", quality=90)
        files.append(stream.getvalue())
    header = files[0][:20]
    assert all(file.startswith(header) for file in files)
    body = b"".join(file[20:] for file in files)
    arrays = {
        "header": np.frombuffer(header, np.uint8),
        "body": np.frombuffer(body, np.uint8),
        "length": np.array([len(file) - 20 for file in files]),
        "label": np.arange(count, dtype=np.uint8),
        "n_train": np.array(3),
    }
    np.savez(path, **arrays)
    return originals


def test_a_packed_file_is_decoded_and_says_that_it_is_jpeg(tmp_path: Path) -> None:
    originals = packed(tmp_path / "some.npz")
    data = load_cifar10(tmp_path / "some.npz")
    assert (len(data.train), len(data.test)) == (3, 2)
    assert data.test.labels.tolist() == [3, 4]
    assert np.abs(data.train.pixels.astype(int) - originals[:3]).max() < 12
    assert "JPEG" in data.note


def test_a_bad_packed_file_is_refused(tmp_path: Path) -> None:
    packed(tmp_path / "some.npz")
    with np.load(tmp_path / "some.npz") as file:
        arrays = dict(file)
    np.savez(tmp_path / "short.npz", **{**arrays, "body": arrays["body"][:-5]})
    np.savez(tmp_path / "none.npz", x=np.zeros(3))
    np.savez(tmp_path / "labels.npz", **{**arrays, "label": arrays["label"] + 9})
    (tmp_path / "text.npz").write_text("no")
    for name in ("short", "none", "labels", "text"):
        with pytest.raises(FormatError, match=rf"{name}\.npz"):
            load_cifar10(tmp_path / f"{name}.npz")


def test_images_that_are_nowhere_are_told_how_to_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVAE_DATA", str(tmp_path))
    with pytest.raises(MissingError, match="dvae data fetch cifar10"):
        load_images("cifar10")
    with pytest.raises(MissingError, match="choose digits, cifar10"):
        load_images("mnist")


def test_images_check_themselves() -> None:
    with pytest.raises(FormatError, match="four axes"):
        Images(np.zeros((3, 8, 8), np.uint8), np.zeros(3, np.int64))
    with pytest.raises(FormatError, match="3 images have 2 labels"):
        Images(np.zeros((3, 8, 8, 1), np.uint8), np.zeros(2, np.int64))


@pytest.mark.shared
@pytest.mark.slow
def test_the_packed_cifar10_is_whole(shared_data: Path) -> None:
    data = load_cifar10(shared_data / "cifar10" / images.CIFAR_PACKED)
    assert (len(data.train), len(data.test)) == (50_000, 10_000)
    assert np.bincount(data.train.labels).tolist() == [5000] * 10
    assert np.bincount(data.test.labels).tolist() == [1000] * 10
    known_mean = np.array([125.3, 123.0, 113.9])
    assert np.abs(data.train.pixels.mean((0, 1, 2)) - known_mean).max() < 0.5
