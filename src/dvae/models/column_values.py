"""One column inside a model: its values as vectors, and a distribution over its values.

Every column is a choice among codes (`dvae.dag.column_tensors`): absent, and its categories or the options of its grid
of numbers - single values that come often, and bins between quantiles, inside which numbers are equally likely. So
a density of numbers may have any number of peaks, each as sharp as a single value. The logits of options are a free
part and a parabola around a predicted number, so that neighbouring options learn from each other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dvae.dag import ColumnSchema
from dvae.dag.column_tensors import num_codes
from dvae.models.kernels.aligned import uniform
from dvae.models.kernels.gru import rows_of
from dvae.models.kernels.precision import linear
from dvae.models.transformer import plain_linear
from dvae.tasks.column_rules import ColumnRules

MAX_DEVIATIONS = 10.0  # standardised numbers are cut off here
DISCOURAGED = -30.0  # logit of what the data never have: a likelihood stays finite, a sample never has it
FIRST_SHARPNESS = 1.0  # of the parabola, a logarithm, before training


class Draws(NamedTuple):
    """Codes drawn for one column, and the numbers they mean (NaN where they mean none)."""

    codes: Tensor
    numbers: Tensor


class ColumnEmbedding(nn.Module):
    """The values of one column as vectors that can be added; absent and unknown values are vectors of their own."""

    def __init__(self, column: ColumnSchema, width: int) -> None:
        super().__init__()
        self.is_number = column.kind == "number"
        self.centre, self.scale = column.grid.centre, column.grid.scale
        kinds = 2 if self.is_number else num_codes(column)  # of a number: whether it is there
        self.table = nn.Parameter(torch.randn(kinds + 1, width) / math.sqrt(width))
        if self.is_number:
            self.slope = nn.Parameter(torch.randn(width) / math.sqrt(width))

    def forward(self, codes: Tensor, numbers: Tensor) -> Tensor:
        """Vectors of values, any number of leading axes."""  # ... -> ... width
        rows = codes.clamp(max=1) if self.is_number else codes
        vectors = rows_of(self.table, rows + 1)  # the first row is that of unknown values
        if not self.is_number:
            return vectors
        return vectors + self.standardised(codes, numbers)[..., None] * self.slope

    def standardised(self, codes: Tensor, numbers: Tensor) -> Tensor:
        """Numbers in robust deviations from the median; 0 where there is none."""
        values = torch.where(codes > 0, (numbers - self.centre) / self.scale, 0.0)
        return values.clamp(-MAX_DEVIATIONS, MAX_DEVIATIONS).to(self.table.dtype)


class ColumnHead(nn.Module):
    """p(value | context, owner): the owner, a type or two, says which codes there can be."""

    allowed: Tensor  # owner code, bool: whether values may be there or absent, as in the data
    known: Tensor  # owner code, bool: as `allowed`, and only categories that the owner has in the data
    middle: Tensor  # code; standardised
    low: Tensor  # code
    high: Tensor  # code

    def __init__(self, column: ColumnSchema, rules: ColumnRules, width: int) -> None:
        super().__init__()
        self.is_number = column.kind == "number"
        self.integer = column.grid.integer
        self.centre, self.scale = column.grid.centre, column.grid.scale
        self.inner = plain_linear(width, width)
        self.free = plain_linear(width, num_codes(column))
        self.register_buffer("allowed", rules.allowed, persistent=False)
        self.register_buffer("known", rules.known, persistent=False)
        if self.is_number:
            self.guess = plain_linear(width, 2)  # the number, and how sure it is
            self.straight = nn.Parameter(uniform(1, width, bound=1 / math.sqrt(width)))
            spans = torch.tensor([(0.0, 0.0), *column.grid.spans()], dtype=torch.float64)
            middle = ((spans.mean(1) - self.centre) / self.scale).clamp(-MAX_DEVIATIONS, MAX_DEVIATIONS)
            self.register_buffer("middle", middle, persistent=False)
            self.register_buffer("low", spans[:, 0].contiguous(), persistent=False)
            self.register_buffer("high", spans[:, 1].contiguous(), persistent=False)

    def nll(self, context: Tensor, owners: Tensor, codes: Tensor) -> Tensor:
        """-log p of values, densities for binned numbers; 0 for those that are unknown."""  # ... -> ...
        logits = self.logits(context)[0] + torch.where(self.allowed[owners], 0.0, DISCOURAGED)
        seen = codes.clamp(min=0)
        nll = -logits.log_softmax(-1).gather(-1, seen[..., None]).squeeze(-1)
        if self.is_number:
            width = (self.high - self.low)[seen]
            nll = nll + torch.where(width > 0, width, 1.0).log().to(nll.dtype)
        return torch.where(codes < 0, 0.0, nll)

    def draw(
        self, context: Tensor, owners: Tensor, *, greedy: bool, valid: bool, generator: torch.Generator | None
    ) -> Draws:
        """One value for each context; with `valid`, only categories that the owner has in the data."""
        logits, guess = self.logits(context)
        masked = logits.masked_fill(~(self.known if valid else self.allowed)[owners], -torch.inf)
        if greedy:
            codes = masked.argmax(-1)
        else:
            flat = masked.softmax(-1).flatten(0, -2)
            drawn = torch.multinomial(flat, 1, generator=generator) if len(flat) else flat.new_zeros(0, 1).long()
            codes = drawn.view(masked.shape[:-1])
        if not self.is_number:
            return Draws(codes, torch.full(codes.shape, math.nan, dtype=torch.float64, device=codes.device))
        return Draws(codes, self._numbers(codes, guess, greedy, generator))

    def _numbers(self, codes: Tensor, guess: Tensor, greedy: bool, generator: torch.Generator | None) -> Tensor:
        """The number of a code: its value, or one inside its bin - for greedy decoding the most likely by the guess."""
        low, high = self.low[codes], self.high[codes]
        if greedy:
            numbers = (guess.double() * self.scale + self.centre).clamp(low, high)
        else:
            share = torch.rand(codes.shape, generator=generator, dtype=torch.float64, device=codes.device)
            numbers = low + share * (high - low)
        if self.integer:
            numbers = numbers.round()
        return torch.where(codes > 0, numbers, math.nan)

    def logits(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """The logits of all codes, and the predicted number (0 for categories)."""  # ... code, ...
        hidden = torch.relu(self.inner(context))
        free: Tensor = self.free(hidden)
        if not self.is_number:
            return free, free[..., 0]
        guess, sharpness = self.guess(hidden).unbind(-1)
        guess = guess + linear(context, self.straight).squeeze(-1)
        distance = (self.middle.to(free.dtype) - guess[..., None]).square()
        parabola = -0.5 * (sharpness + FIRST_SHARPNESS).exp()[..., None] * distance
        there = torch.arange(free.shape[-1], device=free.device) > 0
        return free + torch.where(there, parabola, 0.0), guess
