"""A DAG as somebody types or pastes it: any of the text formats, told apart by how it begins."""

from __future__ import annotations

from dvae.dag import Dag, from_dot, from_modelstring, to_modelstring
from dvae.dag.jsonl import format_line, parse_line
from dvae.dag.original import enas_to_rows, parse_bayesnet, parse_enas
from dvae.errors import DagError, FormatError
from dvae.explorer.places import MOST_EDGES, MOST_NODES, RequestError
from dvae.tasks import BayesNetTask, EnasTask, Task

LONGEST_TEXT = 100_000  # characters
WHERE = "your text"


def read_text(text: object, task: Task) -> Dag:
    """The DAG of a JSONL line, a DOT graph, an ENAS string, or a network's rows or model string."""
    if not isinstance(text, str) or not text.strip():
        raise RequestError("type or paste a DAG first")
    if len(text) > LONGEST_TEXT:
        raise RequestError(f"the text is longer than {LONGEST_TEXT:,} characters")
    text = text.strip()
    dag = _read(text, task)
    if len(dag) > MOST_NODES or len(dag.edges) > MOST_EDGES:
        raise RequestError(f"a DAG on this page has at most {MOST_NODES} nodes and {MOST_EDGES:,} edges")
    return dag


def write_text(dag: Dag, task: Task) -> str:
    """The DAG in the shortest notation its task has; JSON where it fits into none."""
    try:
        if isinstance(task, EnasTask):
            return str(enas_to_rows(dag))
        if isinstance(task, BayesNetTask):
            return to_modelstring(dag)
    except DagError:
        pass  # an invalid decoding, say: JSON holds any DAG
    return format_line(dag)


def notations(task: Task) -> str:
    """What may be typed, in words."""
    if isinstance(task, EnasTask):
        return "an ENAS string such as [[4], [0, 1], ...], a JSONL line or DOT"
    if isinstance(task, BayesNetTask):
        return "a model string such as [A][B|A], a JSONL line or DOT"
    return "a JSONL line or DOT"


def _read(text: str, task: Task) -> Dag:
    if text.startswith("{"):
        return parse_line(" ".join(text.splitlines()), WHERE).dag
    if text.startswith("[["):
        line = " ".join(text.splitlines())
        if isinstance(task, EnasTask):
            return parse_enas(line, WHERE).dag
        if isinstance(task, BayesNetTask):
            return parse_bayesnet(line, WHERE, task.variables).dag
        raise FormatError(
            f"{WHERE}: rows of numbers mean something for ENAS and Bayesian networks, not for {task.name}"
        )
    if text.startswith("["):
        return from_modelstring("".join(text.split()))
    if text.split("{")[0].split()[:1] in (["digraph"], ["strict"], ["graph"]):
        return from_dot(text)
    raise FormatError(f"{WHERE}: this is no DAG in a notation known here; type {notations(task)}")
