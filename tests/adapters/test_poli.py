"""Black boxes of poli."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy
import pytest

from dvae.dag import Dag
from dvae.errors import DagError, MissingError, TaskError
from dvae.poli import black_box
from dvae.tasks import get
from dvae.tasks.codes import code_of

needs_poli = pytest.mark.skipif(find_spec("poli") is None, reason="poli-core is not installed")


@pytest.mark.parametrize("name", ["nasbench201", "enas6-surrogate", "asia"])
def test_a_sequence_is_a_dag(name: str, shared_data: Path) -> None:
    task = get(name)
    code = code_of(task)
    for dag in task.sample(10, seed=2):
        assert task.key(code.dag(code.numbers(dag))) == task.key(dag)
        again = code.from_symbols(code.symbols(dag))
        assert again is not None
        assert task.key(again) == task.key(dag)
    assert code.from_symbols(["?"] * len(code)) is None
    assert code.from_symbols([]) is None
    with pytest.raises(DagError, match="a sequence has"):
        code.dag([99] * len(code))


def test_a_network_against_the_order_is_no_sequence() -> None:
    with pytest.raises(DagError, match="b -> a runs against"):
        code_of(get("bn:a,b")).numbers(Dag(("b", "a"), ((0, 1),)))


SLOW = pytest.param("enas6-surrogate", marks=pytest.mark.slow)  # its forest is fitted first


@needs_poli
@pytest.mark.parametrize("name", ["nasbench201", SLOW, "asia"])
def test_a_black_box_scores_as_its_task(name: str, shared_data: Path) -> None:
    box = black_box(name, start=3)
    scores = box(box.x0)
    assert scores.shape == (3, 1)
    task = get(name)
    assert scores[:, 0].tolist() == pytest.approx(task.scores(task.sample(3, seed=0)), rel=1e-6)
    assert box.info.alphabet == code_of(task).alphabet
    wrong = numpy.array([["?"] * box.x0.shape[1]])
    assert box(wrong)[0, 0] == -numpy.inf


@needs_poli
def test_poli_counts_evaluations(shared_data: Path) -> None:
    from poli.core.exceptions import BudgetExhaustedException

    box = black_box("nasbench201", evaluation_budget=2)
    box(box.x0)
    box(box.x0)
    with pytest.raises(BudgetExhaustedException):
        box(box.x0)


def test_what_cannot_be_a_black_box_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TaskError, match="enas6-surrogate has one"):
        black_box("enas6")
    if find_spec("poli") is None:
        with pytest.raises(MissingError, match="a black box of poli needs the package poli-core: pip install"):
            black_box("asia")
