"""Decoding many graphs, computing equal beginnings once.

While a latent vector is decoded several times, its copies stay equal until a decision separates them. `Rows` keeps
one row of working tensors for every distinct beginning and remembers which row each decoding (a particle) is on. A
decision that splits a row copies it; without splits nothing is copied.
"""

from __future__ import annotations

import torch
from torch import Tensor


class RowTensor:
    """A working tensor of `Rows`, one row for every row in use; to be declared in the class."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, rows: Rows, owner: type) -> Tensor:
        return rows.tensors[self.name][: rows.count]

    def __set__(self, rows: Rows, values: Tensor) -> None:
        """Replaces the tensor; there may be room for more rows than are in use."""
        if rows.capacity > values.shape[0]:
            room = values.new_zeros(rows.capacity - values.shape[0], *values.shape[1:])
            values = torch.cat([values, room])
        rows.tensors[self.name] = values


class Rows:
    """Working tensors whose axis 0 is the row. `row_of` maps each particle to its row."""

    def __init__(self, num_rows: int, copies: int, device: torch.device) -> None:
        self.count = num_rows
        self.capacity = num_rows
        self.shared = copies > 1
        self.row_of = torch.arange(num_rows, device=device).repeat_interleave(copies)
        self.tensors: dict[str, Tensor] = {}

    def branch(self, outcome: Tensor) -> Tensor:
        """Separates particles of one row that had different outcomes; returns the outcome of every row."""
        if not self.shared:
            return outcome
        base = int(outcome.max()) + 1 if len(outcome) else 1
        kinds, which = (self.row_of * base + outcome).unique(return_inverse=True)
        origin, kind_outcome = kinds // base, kinds % base  # sorted by origin
        is_first = torch.ones_like(origin, dtype=torch.bool)
        is_first[1:] = origin[1:] != origin[:-1]
        new_rows = torch.where(is_first, origin, 0)
        extra = int((~is_first).sum())
        if extra:
            new_rows[~is_first] = torch.arange(self.count, self.count + extra, device=origin.device)
            self._copy(origin[~is_first], extra)
        self.row_of = new_rows[which]
        result = outcome.new_zeros(self.count)
        result[new_rows] = kind_outcome
        return result

    def _copy(self, origin: Tensor, extra: int) -> None:
        needed = self.count + extra
        if needed > self.capacity:
            capacity = min(max(needed, 2 * self.capacity), max(needed, len(self.row_of)))
            for name, values in self.tensors.items():
                room = values.new_zeros(capacity - self.capacity, *values.shape[1:])
                self.tensors[name] = torch.cat([values, room])
            self.capacity = capacity
        for values in self.tensors.values():
            values[self.count : needed] = values[origin]
        self.count = needed
