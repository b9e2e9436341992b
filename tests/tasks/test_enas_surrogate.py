from __future__ import annotations

from pathlib import Path

import pytest

from dvae.errors import DagError
from dvae.tasks import EnasSurrogateTask, EnasTask, from_spec, get, to_spec


def test_it_is_the_enas_space_and_says_that_it_is_a_stand_in() -> None:
    task = get("enas6-surrogate")
    assert isinstance(task, EnasSurrogateTask)
    assert task.name == "enas6-surrogate"
    assert task.max_nodes == 8
    assert isinstance(from_spec(to_spec(task)), EnasSurrogateTask)
    assert task.scores([]) == []


@pytest.mark.slow
@pytest.mark.shared
def test_it_speaks_of_six_layers_alone() -> None:
    with pytest.raises(DagError, match="6 layers, not of 4"):
        EnasSurrogateTask().scores(EnasTask(4).sample(1, seed=0))


def test_it_predicts_what_it_has_not_seen(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVAE_DATA", str(shared_data))
    task = get("enas6-surrogate")
    assert isinstance(task, EnasSurrogateTask)
    assert task.held_out.r > 0.985
    assert (task.held_out.train, task.held_out.test) == (17_118, 1_902)
    assert max(task.scores(task.dataset().test.dags)) > 0.7
