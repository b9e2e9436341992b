"""How close decoded DAGs come: each number by hand, and right in all where the task says that DAGs are the same."""

from __future__ import annotations

import pytest
import torch

from dag_strategies import renumbered
from dvae.dag import Dag
from dvae.evaluation import mean_estimate, reconstruction
from dvae.evaluation.closeness import Comparison, compare, compared
from dvae.tasks import BayesNetTask, EnasTask, GenericTask
from evaluation.scripted import ScriptedVae

CHAIN = Dag(("input", "conv3", "sep3", "output"), ((0, 1), (1, 2), (2, 3)))


def test_a_dag_is_wholly_close_to_itself() -> None:
    assert compare(CHAIN, CHAIN) == Comparison(1.0, 1.0, 1.0, 0)


def test_a_wrong_type_and_a_missing_edge() -> None:
    other = Dag(("input", "conv5", "sep3", "output"), ((0, 1), (2, 3)))
    # Right: the types of nodes 0, 2 and 3; of those, the predecessors of 0 and 3; two of the three edges.
    assert compare(CHAIN, other) == Comparison(2 / 4, 3 / 4, 2 / 3, 2)


def test_nodes_of_the_larger_dag_count() -> None:
    longer = Dag(("input", "conv3", "sep3", "conv3", "output"), ((0, 1), (1, 2), (2, 3), (3, 4)))
    assert compare(CHAIN, longer) == Comparison(3 / 5, 3 / 5, 3 / 4, 3)
    assert compare(longer, CHAIN) == compare(CHAIN, longer)


def test_dags_without_edges_agree_on_them() -> None:
    assert compare(Dag(("a", "b")), Dag(("a", "c"))) == Comparison(0.5, 0.5, 1.0, 1)


def test_networks_are_compared_by_variable() -> None:
    one, other = Dag(("A", "B", "C"), ((0, 1), (1, 2))), Dag(("B", "A", "C"), ((0, 2), (1, 2)))
    assert compare(one, other) == Comparison(1 / 3, 1.0, 1 / 3, 2)


def test_what_the_task_calls_the_same_is_wholly_right() -> None:
    dag = Dag(("in", "a", "b", "b", "out"), ((0, 1), (0, 2), (1, 3), (2, 4), (3, 4)))
    relabelled = renumbered(dag, [0, 2, 1, 3, 4])
    task = GenericTask.infer("two", [dag, relabelled])
    batches = task.batch([dag, dag]), task.batch([relabelled, relabelled])
    same, not_same = compared(task, *batches, [True, False])
    assert same == Comparison()
    assert not_same.edits > 0


def test_virtual_nodes_do_not_count_unless_they_are_in_the_wrong_place() -> None:
    task = BayesNetTask("bn:A,B", ("A", "B"))
    truth, decoded = task.batch([Dag(("A", "B"), ((0, 1),))]), task.batch([Dag(("A", "B"))])
    assert compared(task, truth, decoded, [False]) == [Comparison(1 / 2, 1.0, 0.0, 1)]
    decoded.types[0, -1] = 2  # no end node
    (broken,) = compared(task, truth, decoded, [False])
    assert broken.types == 3 / 4


def test_greedy_reconstruction_tells_how_close_it_came_and_others_do_not() -> None:
    task = EnasTask(3)
    dags = task.sample(6, seed=0)
    wrong = Dag(dags[0].types, dags[0].edges[:-1])

    def script(latents: torch.Tensor, _: torch.Generator) -> list[Dag]:
        return [wrong if int(place) == 0 else dags[int(place)] for place in latents[:, 0].tolist()]

    vae = ScriptedVae(task, dags, torch.arange(6.0)[:, None], 1e-9, script)
    result = reconstruction(vae, dags, mode="mean", greedy=True)
    assert result.share.value == pytest.approx(5 / 6)
    assert result.closeness is not None
    assert result.closeness.edits == mean_estimate([1, 0, 0, 0, 0, 0])
    assert result.closeness.types.value == 1.0
    assert result.closeness.edges.value == pytest.approx((5 + 1 - 1 / len(dags[0].edges)) / 6)
    assert reconstruction(vae, dags, mode="mean", decodings=2).closeness is None
