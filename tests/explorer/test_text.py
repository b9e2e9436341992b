from __future__ import annotations

import pytest

from dvae.dag import Dag, to_dot, to_modelstring
from dvae.dag.jsonl import format_line
from dvae.errors import DvaeError
from dvae.explorer.cards import dag_text
from dvae.explorer.places import MAX_TEXT, from_text
from dvae.explorer.space import Space
from dvae.tasks import GenericTask


def test_what_is_written_is_read_back(any_space: Space) -> None:
    for dag in any_space.known.dags[:20]:
        for text in (any_space.task.format(dag), format_line(dag), to_dot(dag)):
            assert any_space.task.key(from_text(text, any_space.task).dag) == any_space.task.key(dag)


def test_each_task_has_its_own_notation(asia: Space, enas: Space, pipelines: Space) -> None:
    assert asia.task.format(asia.known.dags[0]).startswith("[A]")
    assert enas.task.format(enas.known.dags[0]).startswith("[[")
    assert pipelines.task.format(pipelines.known.dags[0]).startswith("{")


def test_letters_of_all_languages_are_shown_as_they_are_and_read_back() -> None:
    dags = [Dag(("Größe µ", "日本語"), ((0, 1),)), Dag(("x\ud800", "ö"), ((0, 1),))]
    task = GenericTask.infer("letters", dags)
    assert '"Größe µ", "日本語"' in dag_text(dags[0], task)
    assert "\\ud800" in dag_text(dags[1], task)  # half a character stays an escape
    for dag in dags:
        assert from_text(dag_text(dag, task), task).dag == dag


def test_a_dag_that_fits_no_notation_is_written_as_json(enas: Space) -> None:
    broken = Dag(("input", "output", "conv3"), ((0, 1),))
    assert enas.task.format(broken).startswith("{")


def test_scores_space_and_line_ends_do_not_matter(asia: Space, enas: Space) -> None:
    text = "[[1],\n [2, 1],\n [0, 0, 1]], 0.73 "
    assert from_text(text, enas.task).dag.types == ("input", "sep3", "conv5", "conv3", "output")
    dag = asia.known.dags[4]
    assert asia.task.key(from_text("  " + to_modelstring(dag).replace("][", "]\n["), asia.task).dag) == asia.task.key(
        dag
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "first"),
        ("   ", "first"),
        (7, "first"),
        ("hello", "no DAG in a notation"),
        ("{", "not valid JSON"),
        ('{"types": ["A"], "edges": [[0, 0]]}', "edge to itself"),
        ('{"types": ["A", "B"], "edges": [[0, 1], [1, 0]]}', "cycle"),
        ("[[9]]", "row 0"),
        ("[A][B|C]", "no variable"),
        ("[A][A]", "twice"),
        ("digraph { a -> a }", "itself"),
        ("graph { a -- b }", "DOT"),
        ("x" * (MAX_TEXT + 1), "longer"),
        ('{"types": [' + ", ".join(['"A"'] * 1501) + '], "edges": []}', "at most 1,500"),
        ("[" * 5000, "nested"),
    ],
)
def test_a_malformed_text_gets_words(asia: Space, text: object, words: str) -> None:
    with pytest.raises(DvaeError, match=words):
        from_text(text, asia.task)


def test_rows_mean_nothing_to_generic_tasks(pipelines: Space) -> None:
    with pytest.raises(DvaeError, match="rows of numbers"):
        from_text("[[1]]", pipelines.task)
