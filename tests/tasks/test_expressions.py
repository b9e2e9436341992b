"""Arithmetic expressions: text, DAGs with shared subterms, and scores equal to the published ones."""

from __future__ import annotations

import csv
import gzip
import math
from itertools import islice
from pathlib import Path

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dvae.dag import Dag
from dvae.errors import FormatError, TaskError
from dvae.models import build
from dvae.tasks import ExpressionsTask, get
from dvae.tasks.expression_sampler import random_expressions
from dvae.tasks.expression_scores import WORST, points, values
from dvae.tasks.expression_terms import is_expression, merged
from dvae.tasks.expressions import FILE, MAX_NODES

TASK = ExpressionsTask()
TARGET = "1 / 3 + x + sin(x * x)"


def value(text: str) -> numpy.ndarray:
    return values(TASK.parse(text))


def dag(text: str) -> Dag:
    return TASK.parse(text)


def test_every_subterm_is_one_node() -> None:
    found = dag("sin(x * x) + exp(x * x)")
    assert sorted(map(str, found.types)) == ["*", "+", "exp", "sin", "x"]
    assert sorted(map(str, dag(TARGET).types)) == ["*", "+", "+", "1/", "3", "sin", "x"]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1 + x", "x + 1"),
        ("( x )", "x"),
        ("2 + x * 3", "(3 * x) + 2"),
        ("x / 3", "1 / 3 * x"),
        ("x/2/3", "(x / 2) / 3"),
        ("sin( x )+exp( 1 )", "exp(1) + sin(x)"),
    ],
)
def test_texts_of_one_dag(text: str, same: str) -> None:
    assert dag(text) == dag(same)
    assert TASK.key(dag(text)) == TASK.key(dag(same))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("x / 3", "3 / x"),
        ("x + 2 * 3", "(x + 2) * 3"),
        ("x / (2 * 3)", "x / 2 * 3"),
        ("x + x", "x * x"),
        ("1 * x", "x"),
    ],
)
def test_texts_of_different_dags(text: str, other: str) -> None:
    assert TASK.key(dag(text)) != TASK.key(dag(other))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7.0),
        ("1 / 2 / 2", 0.25),
        ("2 / (1 / 3)", 6.0),
        ("3 / 3 * 2", 2.0),
        ("(1 + 1) / (1 + 1)", 1.0),
        ("1 * (1 / 2)", 0.5),
        ("exp(1) / exp(1 + 1)", math.exp(-1)),
    ],
)
def test_values_follow_the_usual_precedence(text: str, expected: float) -> None:
    assert value(text) == pytest.approx(numpy.full(1000, expected), rel=1e-15)
    assert value(TASK.format(dag(text))) == pytest.approx(numpy.full(1000, expected), rel=1e-15)


def test_the_target_is_the_optimum() -> None:
    assert TASK.log_errors([dag(TARGET)]) == [0.0]
    assert TASK.scores([dag(TARGET)]) == [0.0] == [TASK.known_optimum()]
    assert value(TARGET) == pytest.approx(1 / 3 + points() + numpy.sin(points() ** 2))


@pytest.mark.parametrize(
    "text", ["exp(exp(exp(3)))", "exp(exp(x * x))", "exp(exp(exp(3))) / exp(exp(exp(3)))", "exp(x*x)"]
)
def test_what_overflows_scores_the_worst(text: str) -> None:
    assert TASK.log_errors([dag(text)]) == [WORST]


def test_published_scores_are_reproduced_to_their_last_digit(shared_data: Path) -> None:
    """On every hundredth row here; on all 100,000 in the slow test."""
    _compare(shared_data, 100)


@pytest.mark.slow
def test_all_published_scores_are_reproduced(shared_data: Path) -> None:
    _compare(shared_data, 1)


def _compare(folder: Path, step: int) -> None:
    with gzip.open(folder / FILE, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))[::step]
    dags = [dag(row["expression"]) for row in rows]
    for row, error in zip(rows, TASK.log_errors(dags), strict=True):
        assert float(f"{error:.9g}") == float(row["log1p_mse"]), row["expression"]


def test_the_published_data_are_read_once_each(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVAE_DATA", str(shared_data))
    data = TASK.dataset(size=300)
    assert len(set(data.everything.dags)) == len(data) == 300
    assert list(data.everything.scores) == pytest.approx(TASK.scores(data.everything.dags), abs=5e-9)


def test_without_the_data_random_expressions_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVAE_DATA", str(tmp_path))
    data = TASK.dataset(size=50, seed=1)
    assert len(data) == 50
    assert data.everything.scored
    assert data.everything.dags != TASK.dataset(size=50, seed=2).everything.dags


@given(st.integers(0, 10**6))
def test_text_and_dag_are_two_forms_of_one_thing(seed: int) -> None:
    for found in islice(random_expressions(seed, MAX_NODES), 5):
        assert merged(found) == found
        text = TASK.format(found)
        assert dag(text) == found
        assert TASK.unwrap(TASK.wrap(found)) == found
        numpy.testing.assert_allclose(values(dag(text)), values(found), rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the expression ends"),
        ("x +", "the expression ends where x"),
        ("x y", "'y' is no part"),
        ("4 * x", "'4 \\* x' is no part"),
        ("sin x", "part 2 is 'x' where \\( after sin"),
        ("(x + 1", "the expression ends where \\)"),
        ("x 2", "part 2 is '2' where the end"),
        ("x - 1", "'- 1' is no part"),
        ("__import__('os')", "is no part of an expression"),
        ("(" * 200 + "x" + ")" * 200, "brackets are open at once"),
        ("x+" * 20_000 + "x", "more than 10,000 parts"),
    ],
)
def test_what_is_no_expression_is_refused(text: str, problem: str) -> None:
    with pytest.raises(FormatError, match=f"here: .*{problem}"):
        TASK.parse(text, "here")


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (Dag(("x", "1")), "2 nodes are used by no other"),
        (Dag(("x", "1", "sin"), ((0, 2), (1, 2))), "'sin' has 2 operands, and 1 are allowed"),
        (Dag(("+",)), "'\\+' has 0 operands, and 1 or 2 are"),
        (Dag(("x", "2"), ((0, 1),)), "'2' has 1 operands, and 0 are"),
        (Dag(("x", "tan"), ((0, 1),)), "'tan' is no part"),
    ],
)
def test_invalid_dags_have_a_reason_and_no_score(bad: Dag, why: str) -> None:
    assert not TASK.is_valid(bad)
    with pytest.raises(TaskError, match=f"DAG 0 is no expression: .*{why}"):
        TASK.scores([bad])


def test_larger_expressions_than_a_model_has_room_for_are_refused() -> None:
    long = " + ".join(["sin(sin(x))", "exp(exp(x))", "sin(exp(1))", "exp(sin(2))", "sin(3)", "exp(exp(exp(2)))"])
    assert is_expression(dag(long))
    assert "allows 14" in (TASK.why_invalid(dag(long)) or "")


def test_nodes_that_mean_the_same_are_merged() -> None:
    twice = Dag(("x", "x", "sin", "sin", "+"), ((0, 2), (1, 3), (2, 4), (3, 4)))
    assert TASK.is_valid(twice)
    assert TASK.key(twice) == TASK.key(dag("sin(x) + sin(x)"))
    assert TASK.format(twice) == "sin(x) + sin(x)"


@pytest.mark.parametrize("model", ["dvae", "pace", "svae"])
def test_decoding_within_the_rules_gives_expressions(model: str) -> None:
    vae = build(model, TASK, hidden=12, latent=4, seed=0)  # untrained: every decision is a guess
    latents = 3 * torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
    decoded = vae.decode(latents, seed=1, valid=True)
    assert all(TASK.is_valid(found) for found in decoded)
    assert len(set(decoded)) > 10


def test_files_of_expressions(tmp_path: Path) -> None:
    table, lines = tmp_path / "mine.csv", tmp_path / "mine.txt"
    table.write_text("expression,log1p_mse\nx + 1,0.5\nsin( x ),\n")
    lines.write_text("x + 1\n\nsin(x)\n")
    assert [item.score for item in TASK.read(table)] == [-0.5, None]
    assert [item.dag for item in TASK.read(table)] == [item.dag for item in TASK.read(lines)]
    for text, problem in (
        ("name\nx\n", "mine.csv:1: there is no column 'expression'"),
        ("expression,log1p_mse\nx\n", "mine.csv:2: there are 1 cells"),
        ("expression,log1p_mse\nx,high\n", "mine.csv:2: 'high' is not a finite number"),
        ("expression,log1p_mse\nx,nan\n", "mine.csv:2: 'nan' is not"),
        ("expression\nx + y\n", "mine.csv:2: 'y' is no part"),
    ):
        table.write_text(text)
        with pytest.raises(FormatError, match=problem):
            TASK.read(table)


def test_the_name_finds_it() -> None:
    assert isinstance(get("expressions"), ExpressionsTask)
