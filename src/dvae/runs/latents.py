"""Latent vectors in files: .npz (never with pickles), .csv and .jsonl."""

from __future__ import annotations

import csv
import json
import math
import reprlib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dvae.dag.lines import numbered_lines, write_lines
from dvae.errors import ConfigError, DvaeError, FormatError, MissingError
from dvae.files import atomic_path, write_text

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

ENDINGS = (".npz", ".jsonl", ".csv")
MAX_ARRAY_BYTES = 2**30
NAMES = ("mean", "latent")  # what the array, the key or the columns may be called


def write(path: Path, mean: NDArray[numpy.float64], logvar: NDArray[numpy.float64]) -> None:
    """Both halves of each posterior, in the format of the ending."""
    import numpy

    if path.suffix == ".npz":
        with atomic_path(path) as temporary:
            numpy.savez(temporary, mean=mean, logvar=logvar)
    elif path.suffix == ".jsonl":
        write_lines(path, lines(mean, logvar))
    else:
        width = mean.shape[1]
        header = [f"{name}_{index}" for name in ("mean", "logvar") for index in range(width)]
        rows = [",".join(map(repr, [*m, *v])) for m, v in zip(mean.tolist(), logvar.tolist(), strict=True)]
        write_text(path, "\n".join([",".join(header), *rows]) + "\n")


def lines(mean: NDArray[numpy.float64], logvar: NDArray[numpy.float64]) -> list[str]:
    """One JSON object a posterior."""
    pairs = zip(mean.tolist(), logvar.tolist(), strict=True)
    return [json.dumps({"mean": m, "logvar": v}) for m, v in pairs]


def read(path: Path, width: int) -> NDArray[numpy.float64]:
    """The latent vectors of a file, each of `width` finite numbers."""  # count latent
    import numpy

    readers = {".npz": _read_npz, ".jsonl": _read_jsonl, ".csv": _read_csv}
    if path.suffix not in readers:
        raise ConfigError(f"{path}: latents come from a file that ends in {' or '.join(ENDINGS)}")
    if not path.is_file():
        raise MissingError(f"the file {path} does not exist")
    latents = readers[path.suffix](path, width)
    if latents.ndim != 2 or latents.shape[1] != width:
        shape = "x".join(map(str, latents.shape))
        raise FormatError(f"{path}: the latents are {shape} numbers; this model needs rows of {width}")
    if len(latents) == 0:
        raise FormatError(f"{path}: the file holds no latent vector")
    finite = numpy.isfinite(latents).all(1)
    if not finite.all():
        raise FormatError(f"{path}: latent vector {int(finite.argmin()) + 1} holds a number that is not finite")
    return latents


def _read_npz(path: Path, width: int) -> NDArray[numpy.float64]:
    import numpy

    try:
        with numpy.load(path, allow_pickle=False) as arrays:
            name = next((name for name in NAMES if name in arrays), None)
            if name is None:
                raise FormatError(f"{path}: none of its arrays is called {' or '.join(NAMES)}")
            member = arrays.zip.getinfo(f"{name}.npy") if f"{name}.npy" in arrays.zip.namelist() else None
            if member is None or member.file_size > MAX_ARRAY_BYTES or member.flag_bits & 1:
                raise FormatError(f"{path}: its array {name} is longer than {MAX_ARRAY_BYTES:,} bytes, or locked")
            _check_shape(arrays.zip, member)
            return numpy.asarray(arrays[name], dtype=numpy.float64)
    except DvaeError:
        raise
    except Exception:  # whatever zip files, their compression and the headers of arrays raise when they are damaged
        raise FormatError(f"{path}: not a readable .npz file of numbers") from None


def _check_shape(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Refuses an array whose header promises more numbers than the file holds, before there is room for them."""
    from numpy.lib import format as npy

    with archive.open(member) as file:
        version = npy.read_magic(file)
        reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = reader(file)
    if math.prod(shape) * dtype.itemsize > member.file_size or any(side < 0 for side in shape):
        raise ValueError("more numbers than bytes")


def _read_jsonl(path: Path, width: int) -> NDArray[numpy.float64]:
    import numpy

    from dvae.dag.jsonl import parse_json

    rows = []
    for number, text in numbered_lines(path):
        record = parse_json(text, f"{path}:{number}")
        if isinstance(record, dict):
            record = next((record[name] for name in NAMES if name in record), None)
        rows.append(_row(path, number, record, width))
    return numpy.array(rows, dtype=numpy.float64).reshape(len(rows), width)


def _read_csv(path: Path, width: int) -> NDArray[numpy.float64]:
    import numpy

    rows: list[list[float]] = []
    columns: list[int] | None = None
    for number, text in numbered_lines(path):
        try:
            cells = next(csv.reader([text], strict=True))
        except csv.Error as error:
            raise FormatError.at(path, number, f"not CSV ({error})") from None
        if columns is None:
            columns = [place for place, name in enumerate(cells) if name.strip().startswith(NAMES)]
            if columns:
                continue
            columns = list(range(len(cells)))
        values = [_number(cells[place]) for place in columns if place < len(cells)]
        rows.append(_row(path, number, values, width))
    return numpy.array(rows, dtype=numpy.float64).reshape(len(rows), width)


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def _row(path: Path, number: int, values: object, width: int) -> list[float]:
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise FormatError.at(path, number, 'a latent vector is a list of numbers, or an object with "mean"')
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise FormatError.at(path, number, f"{reprlib.repr(value)} is not a number")
    if len(values) != width:
        raise FormatError.at(path, number, f"the vector has {len(values)} numbers; this model needs {width}")
    try:
        return list(map(float, values))
    except OverflowError:
        raise FormatError.at(path, number, "the vector holds an integer that is too large for a number") from None
