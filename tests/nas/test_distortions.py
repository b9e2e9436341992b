"""Changes of shape and colour: known results on small images."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dvae.nas.distortions import CHANGES, MIN_BITS, WIDEST_ANGLE, distorted

SIDE = 8


def images(count: int = 4, channels: int = 3) -> Tensor:
    """Values are whole 255ths, as those of real images."""
    drawn = torch.randint(256, (count, channels, SIDE, SIDE), generator=torch.Generator().manual_seed(0))
    return drawn / 255


def amount(value: float, count: int = 4) -> Tensor:
    return torch.full((count, 1, 1, 1), value)


@pytest.mark.parametrize("name", [name for name in CHANGES if name not in ("full range", "equalised")])
def test_an_amount_of_zero_changes_nothing(name: str) -> None:
    torch.testing.assert_close(CHANGES[name](images(), amount(0.0)), images())


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", CHANGES)
def test_values_and_shapes_stay_in_range(name: str, channels: int) -> None:
    before = images(channels=channels)
    for value in (-1.0, 0.3, 1.0):
        after = CHANGES[name](before, amount(value))
        assert after.shape == before.shape
        assert float(after.min()) >= 0
        assert float(after.max()) <= 1 + 1e-6


def test_a_shift_by_whole_pixels_moves_them() -> None:
    before = images()
    along_rows = CHANGES["shifted along rows"](before, amount(2 / SIDE))
    torch.testing.assert_close(along_rows[:, :, :, :-2], before[:, :, :, 2:])
    assert not along_rows[:, :, :, -2:].any()
    along_columns = CHANGES["shifted along columns"](before, amount(-2 / SIDE))
    torch.testing.assert_close(along_columns[:, :, 2:], before[:, :, :-2])
    assert not CHANGES["shifted along rows"](before, amount(1.0)).any()


def test_a_quarter_turn_is_one() -> None:
    before = images()
    turned = CHANGES["rotated"](before, amount(0.5 * torch.pi / WIDEST_ANGLE))
    expected = [before.rot90(turns, (2, 3)) for turns in (1, 3)]
    assert any(torch.allclose(turned, one, atol=1e-4) for one in expected)


def test_a_shear_leaves_the_middle_and_moves_the_rim() -> None:
    """Rows are moved by an amount that grows with their distance from the middle."""
    rows = torch.linspace(0, 1, SIDE).expand(1, 1, SIDE, SIDE)  # values grow along a row
    sheared = CHANGES["sheared along rows"](rows, amount(0.5, 1))
    change = (sheared - rows)[0, 0, :, SIDE // 2]
    assert (change.diff() > 0).all()
    columns = rows.transpose(2, 3)
    other = CHANGES["sheared along columns"](columns, amount(0.5, 1))
    torch.testing.assert_close(other, sheared.transpose(2, 3))


def test_blends_end_where_they_should() -> None:
    before = images()
    nearly = amount(-1 / 0.99)  # the other end itself
    dark = CHANGES["brighter"](before, nearly)
    torch.testing.assert_close(dark, torch.zeros_like(dark))
    grey = CHANGES["more coloured"](before, nearly)
    torch.testing.assert_close(grey[:, 0], grey[:, 2])
    luminance = 0.299 * before[:, 0] + 0.587 * before[:, 1] + 0.114 * before[:, 2]
    torch.testing.assert_close(grey[:, 0], luminance)
    flat = CHANGES["more contrast"](before, nearly)
    torch.testing.assert_close(flat, luminance.mean((1, 2))[:, None, None, None].expand_as(flat))
    smooth = CHANGES["sharper"](before, nearly)
    around = before[:, :, 1:4, 1:4].sum((2, 3)) + 4 * before[:, :, 2, 2]
    torch.testing.assert_close(smooth[:, :, 2, 2], around / 13)
    torch.testing.assert_close(smooth[:, :, 0], before[:, :, 0])


def test_blends_go_beyond_the_image() -> None:
    before = 0.25 + images() / 4
    factor = 1 + 0.99 * 0.5
    torch.testing.assert_close(CHANGES["brighter"](before, amount(0.5)), before * factor)
    grey = CHANGES["more coloured"](before, amount(-1 / 0.99))
    expected = (grey + factor * (before - grey)).clamp(0, 1)
    torch.testing.assert_close(CHANGES["more coloured"](before, amount(0.5)), expected)
    torch.testing.assert_close(CHANGES["brighter"](before, amount(-0.5)), before * (1 - 0.99 * 0.5))


def test_solarised_values_lie_below_the_threshold_or_are_negatives() -> None:
    before = images()
    after = CHANGES["solarised"](before, amount(-0.25))
    torch.testing.assert_close(after, torch.where(before > 0.75, 1 - before, before))


def test_posterised_values_have_few_levels() -> None:
    levels = (CHANGES["posterised"](images(), amount(1.0)) * 255).round().unique()
    assert set(levels.tolist()) == {64.0 * level for level in range(2**MIN_BITS)}
    every = torch.arange(256.0).reshape(1, 1, 16, 16) / 255
    for value, step in ((0.5, 8), (-1 / 6, 2)):
        found = CHANGES["posterised"](every, amount(value, 1)) * 255
        torch.testing.assert_close(found, torch.arange(256).reshape(1, 1, 16, 16) // step * step * 1.0)


def test_the_full_range_is_used() -> None:
    before = 0.25 + 0.5 * images()
    after = CHANGES["full range"](before, amount(0.0))
    torch.testing.assert_close(after.amin((2, 3)), torch.zeros(4, 3))
    torch.testing.assert_close(after.amax((2, 3)), torch.ones(4, 3))
    flat = torch.full((4, 3, SIDE, SIDE), 0.3)
    torch.testing.assert_close(CHANGES["full range"](flat, amount(0.0)), flat)
    torch.testing.assert_close(CHANGES["equalised"](flat, amount(0.0)), flat)


def test_equalised_values_are_ranks() -> None:
    distinct = torch.randperm(SIDE * SIDE, generator=torch.Generator().manual_seed(1)).reshape(1, 1, SIDE, SIDE)
    after = CHANGES["equalised"](distinct * 3 / 255, amount(0.0, 1))
    torch.testing.assert_close(after, distinct / (SIDE * SIDE - 1))


def test_equal_values_stay_equal_and_the_lowest_is_black() -> None:
    """Of 64 pixels half have the lowest value, a quarter each the next two."""
    values = torch.tensor([10.0] * 32 + [20.0] * 16 + [200.0] * 16).reshape(1, 1, SIDE, SIDE) / 255
    after = CHANGES["equalised"](values, amount(0.0, 1)).flatten()
    torch.testing.assert_close(after, torch.tensor([0.0] * 32 + [0.5] * 16 + [1.0] * 16))


def test_amounts_have_both_signs_and_keep_to_the_strength(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every change is replaced by one that tells which it is, and by how much."""
    for place, name in enumerate(CHANGES):
        monkeypatch.setitem(CHANGES, name, lambda images, amounts, place=place: images * 0 + 10 * place + amounts)
    told = distorted(torch.zeros(4_000, 1, 1, 1), 0.25, torch.Generator().manual_seed(0)).flatten()
    chosen = (told / 10).round()
    amounts = told - 10 * chosen
    assert float(amounts.abs().max()) <= 0.25 + 1e-4
    assert float(amounts.min()) < -0.24
    assert float(amounts.max()) > 0.24
    counts = torch.bincount(chosen.long(), minlength=len(CHANGES))
    assert len(counts) == len(CHANGES)
    assert (counts > 4_000 / len(CHANGES) / 2).all()


def test_each_image_gets_a_change_of_its_own() -> None:
    before = images(1).expand(400, -1, -1, -1)
    after = distorted(before, 1.0, torch.Generator().manual_seed(0))
    same = (after == before).all((1, 2, 3)).sum()
    assert 400 / len(CHANGES) / 3 < same < 400 * 3 / len(CHANGES)
    assert len(after.flatten(1).unique(dim=0)) > 250
    again = distorted(before, 1.0, torch.Generator().manual_seed(0))
    assert torch.equal(after, again)
