from __future__ import annotations

import pytest

from dvae.errors import ConfigError
from dvae.nas.schedules import Schedule


def test_restarts_come_after_periods_that_double() -> None:
    schedule = Schedule("restarts", 0.05, 0.001, first_period=10, factor=2)
    for restart in (0, 10, 30, 70, 150):
        assert schedule.rate(restart, 0.5) == pytest.approx(0.05)
    assert schedule.rate(5, 0.0) == pytest.approx((0.05 + 0.001) / 2)
    assert schedule.rate(309.999, 1.0) == pytest.approx(0.001, abs=1e-6)  # five periods are the paper's 310 epochs


def test_one_cosine_falls_over_all_training() -> None:
    schedule = Schedule("cosine", 1.0, 0.1)
    assert [round(schedule.rate(0, share), 3) for share in (0, 0.5, 1, 1.2)] == [1.0, 0.55, 0.1, 0.1]


def test_one_cycle_rises_and_falls() -> None:
    schedule = Schedule("one-cycle", 1.0, 0.0, warmup=0.25)
    assert [schedule.rate(0, share) for share in (0, 0.125, 0.25, 1)] == [0, 0.5, 1, 0]
    assert schedule.rate(0, 1.1) == 0


@pytest.mark.parametrize(
    "wrong", [{"highest": 0.0, "lowest": 0.0}, {"lowest": 1.0}, {"first_period": 0}, {"warmup": 1.0}]
)
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        Schedule(**wrong)  # type: ignore[arg-type]
