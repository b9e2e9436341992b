"""Tables of numbers out of a pickle, and nothing else: the one place that opens one.

NAS-Bench-Graph ships its tables as pickles of dicts of numbers. Of all that a pickle may name, this loader knows
numpy's numbers; any other name ends the reading before it is looked up, so that nothing is imported or called.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from dvae.errors import FormatError, MissingError

# A numpy number is pickled as a call of `scalar` with a dtype and its bytes. Both are ours to give.
SCALAR_HOMES = ("numpy.core.multiarray", "numpy._core.multiarray")


class _TableUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module in SCALAR_HOMES and name == "scalar":
            return _number
        if (module, name) == ("numpy", "dtype"):
            return _Float64
        raise pickle.UnpicklingError(f"it names {module}.{name}, which is no number")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it refers to something outside the file")


class _Float64:
    """Stands for numpy's float64 type; any other type is refused."""

    def __init__(self, code: str, *flags: object) -> None:
        if code != "f8":
            raise pickle.UnpicklingError(f"it holds numbers of type {code!r}, not of eight bytes")

    def __setstate__(self, state: tuple[object, ...]) -> None:
        if state[1] != "<":
            raise pickle.UnpicklingError("its numbers are not little-endian")


def _number(kind: _Float64, raw: bytes) -> float:
    if not isinstance(kind, _Float64) or len(raw) != 8:
        raise pickle.UnpicklingError("a number is not made of eight bytes")
    return float(np.frombuffer(raw, "<f8")[0])


def read_table(path: str | Path) -> dict[int, dict[str, float]]:
    """A dict of dicts of numbers."""
    try:
        with Path(path).open("rb") as file:
            table = _TableUnpickler(file).load()
    except FileNotFoundError:
        raise MissingError(f"{path} is not there") from None
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
        raise FormatError(f"{path}: not a table of numbers ({error})") from None
    if not isinstance(table, dict) or not all(_is_row(key, row) for key, row in table.items()):
        raise FormatError(f"{path}: not a table of numbers (it holds something else)")
    return table


def _is_row(key: object, row: object) -> bool:
    return isinstance(key, int) and isinstance(row, dict) and all(isinstance(value, float) for value in row.values())
