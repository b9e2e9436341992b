from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from dvae.dag import Dag
from dvae.errors import FormatError, MissingError, TaskError
from dvae.tasks import NasBench201Task, from_spec, get, to_spec
from dvae.tasks.nasbench201 import CELL_EDGES, OPERATIONS, WIRING, cell_dag

CELL = "|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|nor_conv_1x1~0|skip_connect~1|none~2|"


def written(operations: tuple[str, ...]) -> str:
    a, b, c, d, e, f = operations
    return f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of all cells of two operations, whose score counts the skips."""
    lines = ["arch,cellstr,acc"]
    for number, cell in enumerate(product(("none", "skip_connect"), repeat=6)):
        lines.append(f"{number},{written(cell)},{cell.count('skip_connect')}.5")
    path = tmp_path / "cells.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_operations_are_wired_as_the_edges_of_the_cell() -> None:
    """Two operations are joined exactly when one edge of the cell ends where the other begins."""
    joined = {(u, v) for u, v in WIRING if u > 0 and v <= 6}
    for u, first in enumerate(CELL_EDGES, start=1):
        for v, second in enumerate(CELL_EDGES, start=1):
            assert ((u, v) in joined) == (first[1] == second[0])
    assert {v for u, v in WIRING if u == 0} == {1, 2, 4}
    assert {u for u, v in WIRING if v == 7} == {4, 5, 6}


def test_a_cell_is_read() -> None:
    dag = cell_dag(CELL)
    assert dag.types == (
        "input", "avg_pool_3x3", "nor_conv_1x1", "skip_connect", "nor_conv_1x1", "skip_connect", "none", "output",
    )  # fmt: skip
    assert get("nasbench201").is_valid(dag)


@pytest.mark.parametrize(
    "text",
    ["", "|none~0|", CELL[:-1], CELL.replace("none", "conv"), CELL.replace("skip_connect~1|+", "skip_connect~0|+")],
)
def test_what_is_no_cell_is_refused(text: str) -> None:
    with pytest.raises(TaskError, match="is not a cell"):
        cell_dag(text)


def test_scores_are_those_of_the_table(table: Path) -> None:
    task = get(f"nasbench201:acc@{table}")
    assert isinstance(task, NasBench201Task)
    data = task.dataset()
    assert (len(data), len(data.train)) == (64, 57)
    for dag, score in zip(data.everything.dags, data.everything.scores, strict=True):
        assert score == dag.types.count("skip_connect") + 0.5
        assert task.score(dag) == score
    assert task.best(1 / 64) == 6.5
    assert len(task.dataset(size=20)) == 20
    drawn = task.sample(10, seed=1)
    assert drawn == task.sample(10, seed=1)
    assert all(map(task.is_valid, drawn))
    assert task.scores([]) == []


def test_a_cell_that_is_not_in_the_table_has_no_score(table: Path) -> None:
    with pytest.raises(TaskError, match="not in the tables"):
        get(f"nasbench201:acc@{table}").score(cell_dag(CELL))


def test_names_and_specs_make_the_same_task(table: Path) -> None:
    for name in ("nasbench201", "nasbench201:cifar100-test_12ep", f"nasbench201:acc@{table}"):
        task = get(name)
        assert task.name == name
        assert from_spec(to_spec(task)).spec() == task.spec()


def test_the_edges_of_a_model_s_cell_mean_nothing() -> None:
    task = get("nasbench201")
    right = cell_dag(CELL)
    odd = Dag(right.types, ((0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 7), (6, 7)))
    assert not task.is_valid(odd), "a user's cell must be wired rightly"
    assert task.unwrap(odd) == right
    short = Dag(("input", "none", "output"), ((0, 1), (1, 2)))
    assert task.unwrap(short) == short
    assert not task.is_valid(short)


def test_what_is_wrong_with_a_table_is_said_with_its_line(table: Path, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"cells\.csv:1: there is no column 'loss'; there are arch, cellstr, acc"):
        _ = get(f"nasbench201:loss@{table}").dataset()
    lines = table.read_text().splitlines()
    for line, problem in (
        (lines[2].rsplit(",", 1)[0] + ",much", "'much' is not a number"),
        ("1,|x~0|,2", "not a cell"),
    ):
        table.write_text("\n".join([*lines[:2], line]) + "\n")
        with pytest.raises(FormatError, match=rf"cells\.csv:3: .*{problem}"):
            _ = get(f"nasbench201:acc@{table}").dataset()
    with pytest.raises(MissingError, match=r"nasbench201:COLUMN@FILE\.csv"):
        _ = get(f"nasbench201:acc@{tmp_path / 'none.csv'}").dataset()


@pytest.mark.shared
def test_the_whole_benchmark(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVAE_DATA", str(shared_data))
    task = get("nasbench201")
    assert isinstance(task, NasBench201Task)
    assert len(task.entries) == len(OPERATIONS) ** 6
    assert len({entry.dag for entry in task.entries}) == 15_625
    assert task.best(1 / 15_625) == max(score for score in task.dataset().everything.scores if score is not None)
    assert 94 < task.best(0.001) < 95
    assert task.score(cell_dag(CELL.replace("none~2", "skip_connect~2"))) == 85.8633
