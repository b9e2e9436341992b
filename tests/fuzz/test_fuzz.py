"""Files that were changed at random are read or refused with one sentence: a part of what `make fuzz` does in full."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.campaign import CRASHES, bounded, campaign, problem_of
from fuzz.target import Target, all_targets

INPUTS = 3_000


def test_every_changed_file_is_read_or_refused(tmp_path: Path) -> None:
    found = campaign(INPUTS, 2026, tmp_path, keep=False)
    assert found.crashes == {}
    assert found.values > INPUTS / 20
    assert found.refused > INPUTS / 2


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Target]:
    return {target.name.replace(" ", "_"): target for target in all_targets(tmp_path_factory.mktemp("examples"))}


@pytest.mark.parametrize("kept", [path.name for path in sorted(CRASHES.glob("*"))])
def test_what_once_went_wrong_does_not_again(kept: str, targets: dict[str, Target], tmp_path: Path) -> None:
    target = targets[kept.rpartition("-")[0]]
    target.prepare(tmp_path)
    with bounded():
        assert problem_of(target, (CRASHES / kept).read_bytes(), tmp_path)[0] is None
