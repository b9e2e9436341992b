"""Several objectives and constraints: what is asked for, the number that is climbed, the front."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dvae.dag import Dag, DagSet, ScoredDag
from dvae.errors import ConfigError
from dvae.strategies import Archive, Constraint, Objectives, StrategyEntry
from dvae.strategies.many_objectives import for_objectives
from dvae.studies.pareto import hypervolume
from dvae.tasks import GenericTask

BOTH = Objectives(("gain",), ("noise",), (Constraint("pm", ">=", 2.0),), (("gain", (0.0, 10.0)), ("noise", (0.0, 4.0))))
numbers = st.floats(-5, 15)
points = st.fixed_dictionaries({"gain": numbers, "noise": numbers, "pm": st.floats(0, 4)})


@pytest.mark.parametrize(
    ("text", "constraint"),
    [
        ("pm>=2", Constraint("pm", ">=", 2.0)),
        (" phase margin <= -1.5e2 ", Constraint("phase margin", "<=", -150.0)),
    ],
)
def test_constraints_are_read_and_written(text: str, constraint: Constraint) -> None:
    assert Constraint.parse(text) == constraint
    assert Constraint.parse(str(constraint)) == constraint


@pytest.mark.parametrize(
    "text", ["pm", "pm>2", "pm=2", ">=2", "pm>=two", "pm>=nan", "pm>=1e999", "pm>=2>=1", "__import__('os')"]
)
def test_what_is_no_constraint_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not of the form"):
        Constraint.parse(text)


def test_objectives_are_named_once_and_at_least_one() -> None:
    with pytest.raises(ConfigError, match="at least one"):
        Objectives(constraints=(Constraint("pm", ">=", 2.0),))
    with pytest.raises(ConfigError, match="'gain' is named twice"):
        Objectives(("gain",), ("gain",))


def test_plain_values_make_equal_objectives() -> None:
    assert Objectives.from_mapping(BOTH.to_mapping()) == BOTH


def test_ranges_are_those_of_the_data() -> None:
    dags = [Dag(("a",), properties={"gain": value, "pm": 1.0}) for value in (2.0, 5.0)]
    assert dict(Objectives(("gain",), constraints=BOTH.constraints).ranged(DagSet.of(dags)).ranges) == {
        "gain": (2.0, 5.0)
    }


@given(st.lists(points, min_size=1, max_size=12))
def test_the_front_is_what_nothing_feasible_dominates(values: list[dict[str, float]]) -> None:
    front = BOTH.front(values)
    feasible = [place for place, each in enumerate(values) if each["pm"] >= 2]
    assert set(front) <= set(feasible)
    for place in feasible:
        beaten = any(
            values[other]["gain"] >= values[place]["gain"]
            and values[other]["noise"] <= values[place]["noise"]
            and any(values[other][name] != values[place][name] for name in BOTH.names)
            for other in feasible
        )
        assert (place not in front) == beaten


@given(points, points)
def test_what_is_feasible_scores_more_and_what_is_better_no_less(
    one: dict[str, float], other: dict[str, float]
) -> None:
    if BOTH.feasible(one) and not BOTH.feasible(other):
        assert BOTH.score(one) > BOTH.score(other) or min(BOTH.gains(one)) < 0
    if BOTH.feasible(one) and BOTH.feasible(other) and BOTH.dominates(one, other):
        assert BOTH.score(one) >= BOTH.score(other)


def test_a_hypervolume_is_what_points_dominate() -> None:
    pytest.importorskip("botorch")
    assert hypervolume([[1.0, 0.5], [0.5, 1.0]]) == pytest.approx(0.75)
    assert hypervolume([[0.25]]) == 0.25
    assert hypervolume([]) == 0.0


class Recorder:
    """A strategy that remembers what it is told and proposes the DAGs it was made for."""

    told: ClassVar[list[list[ScoredDag]]] = []

    def __init__(self, vae: object, archive: Archive, *, seed: int) -> None:
        self.archive = archive

    def tell(self, evaluations: Iterable[ScoredDag]) -> None:
        self.told.append(list(evaluations))

    def ask(self, count: int) -> list[Dag]:
        return [Dag(("new",) * size) for size in range(1, count + 1)]

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        pass


def test_each_round_tells_all_values_by_weights_of_its_own_the_worst_first() -> None:
    Recorder.told = []
    dags = [Dag(("a",) * (1 + n), properties={"gain": float(n), "noise": float(n % 3), "pm": 3.0}) for n in range(8)]
    archive = Archive(GenericTask.infer("dags", [*dags, *(Dag(("new",) * size) for size in range(1, 9))]))
    entry = for_objectives(StrategyEntry("recorder", Recorder), BOTH)
    strategy = entry.make(None, archive, seed=3)  # type: ignore[arg-type]
    strategy.tell([ScoredDag(dag, BOTH.score(dag.properties)) for dag in dags])
    strategy.tell([ScoredDag(Dag(("a", "new")), None)])  # failed
    first, second = strategy.ask(2), strategy.ask(2)
    assert len(first) == len(second) == 2
    assert not {archive.task.key(dag) for dag in first} & {archive.task.key(dag) for dag in second}
    one, other = ([item.score for item in told] for told in Recorder.told)
    assert len(one) == len(other) == 8
    assert one == sorted(one)
    assert sorted(one) != sorted(other)
    again = entry.make(None, Archive(archive.task), seed=3)  # type: ignore[arg-type]
    again.tell([ScoredDag(dag, 0.0) for dag in dags])
    again.restore({"round": 1})
    again.ask(2)
    assert [item.score for item in Recorder.told[-1]] == other
