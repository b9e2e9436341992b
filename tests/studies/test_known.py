"""Known scores: all of them, or a stated sample; the worst first, the best of all beside them."""

from __future__ import annotations

import dvae
from dvae.dag import DagSet, ScoredDag
from dvae.studies import known_scores
from dvae.studies.known import MAX_KNOWN, scored_by

TASK = dvae.tasks.get("asia")
ITEMS = [ScoredDag(dag, float(place)) for place, dag in enumerate(TASK.sample(40, seed=0))]


def scores(items: list[ScoredDag]) -> list[float | None]:
    return [item.score for item in items]


def test_all_are_told_worst_first() -> None:
    known = known_scores([*ITEMS, ScoredDag(ITEMS[0].dag)])
    assert scores(known.told) == [float(place) for place in range(40)]
    assert known.best == ITEMS[-1]
    assert known.words == "40 known scores"
    assert known_scores(ITEMS, higher_is_better=False).best == ITEMS[0]


def test_a_sample_is_random_seeded_and_stated() -> None:
    known = known_scores(ITEMS, 10, seed=1)
    assert len(known.told) == 10
    assert scores(known.told) != scores(ITEMS)[:10]
    assert known == known_scores(ITEMS, 10, seed=1)
    assert known != known_scores(ITEMS, 10, seed=2)
    assert known.words == "10 of 40 known scores"
    assert known.best == ITEMS[-1]  # known, whether told or not
    assert known_scores(ITEMS, 0).told == []
    assert len(known_scores(ITEMS, 100).told) == 40


def test_of_very_many_the_best_half_and_some_others_are_told() -> None:
    many = [ScoredDag(ITEMS[0].dag, float(place)) for place in range(3 * MAX_KNOWN)]
    known = known_scores(many)
    assert known.words == "5,000 of 15,000 known scores"
    assert scores(known.told)[-MAX_KNOWN // 2 :] == scores(many)[-MAX_KNOWN // 2 :]
    assert len(set(scores(known.told))) == MAX_KNOWN


def test_a_task_scores_its_data_itself() -> None:
    data = DagSet.of([item.dag for item in ITEMS], [1.0] * 40)  # some other quantity
    assert scores(scored_by(TASK, data)) == TASK.scores(data.dags)
