"""Searches in a report: together only where they search the same thing, each with its own start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dvae.dag import Dag
from dvae.reports.document import Block, Figure, Heading, Items, Table
from dvae.reports.study_section import StudyFacts, arrival, search_groups, search_table, study_section
from dvae.studies import MemoryLedger, Outcome, Study
from dvae.studies.study import ABOUT
from dvae.tasks import get

DAGS = [Dag(("a",) * size, tuple((node, node + 1) for node in range(size - 1))) for size in range(1, 5)]


def study(name: str, scores: list[float | None], **about: Any) -> Study:
    ledger = MemoryLedger(name)
    ledger.describe(ABOUT, {"task": "file:x", "strategy": name, "direction": "maximize", "score": None, **about})
    for dag, score in zip(DAGS, scores, strict=False):
        ledger.propose(dag, {})
        taken = ledger.take("w")
        assert taken is not None
        ledger.finish(taken.number, Outcome(score, None if score is not None else "ValueError: too deep"), {})
    return Study(ledger)


ACCURACY = study("evolution", [0.5, 0.7, None], warm=20, score="mine:accuracy",
                 known_before={"types": ["a"], "edges": [], "score": 0.6})  # fmt: skip
BETTER = study("random", [0.9], warm=0, score="mine:accuracy")
LATENCY = study("slow", [30.0, 10.0, 20.0], score="mine:latency", direction="minimize")


def groups(*studies: Study) -> list[list[str]]:
    found = search_groups(StudyFacts.of(one) for one in studies)
    return [[one.name for one in group.studies] for group in found]


def test_only_searches_for_the_same_thing_stand_together_the_best_first() -> None:
    assert groups(ACCURACY, LATENCY, BETTER) == [["random", "evolution"], ["slow"]]
    worse = study("worse", [50.0], score="mine:latency", direction="minimize")
    assert groups(worse, LATENCY) == [["slow", "worse"]]
    assert groups(LATENCY, study("max", [1.0], score="mine:latency")) == [["slow"], ["max"]]
    assert groups(study("own", [1.0]), study("other", [1.0], task="file:y")) == [["own"], ["other"]]
    assert groups(study("empty", [])) == []


def test_each_search_says_what_it_began_with() -> None:
    (group,) = search_groups(map(StudyFacts.of, (ACCURACY, BETTER)))
    table = search_table(group)
    assert table.header[1:3] == ("known before", "best known")
    assert [row[:5] for row in table.rows] == [
        ("random", "0", "–", "1", "0.900"),
        ("evolution", "20", "0.600", "3", "0.700"),
    ]
    assert "mine:accuracy; higher is better" in table.note


def test_the_best_of_a_minimised_score_is_the_lowest(tmp_path: Path) -> None:
    blocks = study_section([LATENCY], tmp_path)
    (table,) = [block for block in blocks if isinstance(block, Table)]
    assert table.rows == (("slow", "0", "–", "3", "10.000", "2"),)
    assert "lower is better" in table.note
    figures = [block for block in blocks if isinstance(block, Figure)]
    assert "lower is better" in figures[1].caption
    assert (tmp_path / "best.svg").read_text().index("10.000") < (tmp_path / "best.svg").read_text().index("30.000")


def test_every_thing_searched_has_its_own_section(tmp_path: Path) -> None:
    blocks = study_section([ACCURACY, LATENCY], tmp_path)
    titles = [block.text for block in blocks if isinstance(block, Heading)]
    assert titles == ["Search: mine:accuracy, higher is better", "Search: mine:latency, lower is better"]
    assert {path.name for path in tmp_path.glob("*.svg")} == {
        "best.svg", "searches.svg", "best-2.svg", "searches-2.svg",
    }  # fmt: skip
    assert study_section([], tmp_path) == []


def words(blocks: list[Block]) -> list[str]:
    return [line for block in blocks if isinstance(block, Items) for line in block.lines]


def test_why_candidates_failed_is_said(tmp_path: Path) -> None:
    assert words(study_section([ACCURACY], tmp_path)) == ["evolution: 1 of 3 failed: ValueError: too deep (1)"]
    nothing = study_section([study("all failed", [None, None])], tmp_path / "none")
    assert words(nothing) == ["all failed: 2 of 2 failed: ValueError: too deep (2)"]
    assert not any(isinstance(block, Figure) for block in nothing)


def test_strategies_that_ran_twice_are_told_apart() -> None:
    twice = [study(name, [1.0], strategy="random") for name in ("one", "two")]
    (group,) = search_groups(map(StudyFacts.of, twice))
    assert [row[0] for row in search_table(group).rows] == ["random (one)", "random (two)"]


@pytest.mark.parametrize(
    ("about", "known"), [({}, True), ({"score": "mine:x"}, False), ({"direction": "minimize"}, False)]
)
def test_the_exact_optimum_stands_beside_the_tasks_own_score_alone(about: dict[str, Any], known: bool) -> None:
    (group,) = search_groups([StudyFacts.of(study("random", [-12_000.0], task="asia", **about))])
    assert (group.optimum is not None) == known
    if known:
        assert group.optimum == pytest.approx(get("asia").known_optimum())
        assert search_table(group).rows[0][-1] == "not reached"


def test_a_task_that_is_gone_leaves_the_optimum_out(tmp_path: Path) -> None:
    (group,) = search_groups([StudyFacts.of(study("random", [1.0], task="bn:/no/such/file.csv"))])
    assert group.optimum is None


def test_arrival_counts_evaluations() -> None:
    assert arrival(ACCURACY.trials, 0.7) == "2"
    assert arrival(LATENCY.trials, 20.0, higher_is_better=False) == "2"
    assert arrival(LATENCY.trials, 5.0, higher_is_better=False) == "not reached"
