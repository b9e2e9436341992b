"""`dvae score`: how well Bayesian networks explain a table of data, or how good DAGs are by another task's score."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import inputs, options, output
from dvae.errors import FormatError, TaskError

if TYPE_CHECKING:
    from dvae.bayesnet.scores import NetworkScores
    from dvae.dag import Dag


def score(
    dags: Annotated[
        Path, typer.Argument(metavar="DAGS", help="Networks over the columns of the table, or DAGs of the task: JSONL.")
    ],
    task: Annotated[
        str, typer.Option("--task", metavar="TASK", help="bn:FILE.csv, asia, nasbench201, or another task with scores.")
    ],
    iss: Annotated[float, typer.Option("--iss", metavar="X", help="The imaginary sample size of BDe.")] = 1.0,
    json: options.Json = False,
) -> None:
    """Score Bayesian networks on discrete data: BIC, AIC, log-likelihood, K2 and BDe, higher is better.

    DAGs of a benchmark (nasbench201, nasbench-graph:cora, enas6-surrogate) get its score.

    With --json, one object a network and line. Try: dvae score --task bn:my.csv networks.jsonl --json
    """
    from dvae.bayesnet.scores import SCORE_NAMES
    from dvae.bayesnet.tables import table_of

    if table_of(task) is None:
        _score_by_task(dags, task, json)
        return
    scores = _scores(task, iss)
    networks = _networks(dags, scores, task)
    columns = [scores.score_many(name, networks).tolist() for name in SCORE_NAMES]
    rows = zip(*columns, strict=True)
    if json:
        for row in rows:
            print(json_format.dumps(dict(zip(SCORE_NAMES, row, strict=True)), allow_nan=False))
        return
    rows_of_data = output.counted(scores.data.num_rows, "row")
    output.print_table(
        [(str(number), *(f"{value:.6f}" for value in row)) for number, row in enumerate(rows, start=1)],
        title=f"{output.counted(len(networks), 'network')} on {rows_of_data} of {task}",
        header=("network", *SCORE_NAMES),
    )


def _score_by_task(path: Path, name: str, as_json: bool) -> None:
    """Scores of a task that is not about Bayesian networks, if it has any."""
    from dvae.tasks import read_dags

    task = inputs.get_task(inputs.task_name(name))
    try:
        task.scores([])
    except TaskError as error:
        raise TaskError(f"{name!r} scores nothing: {error}") from None
    items = read_dags(task, path)
    scores = task.scores([item.dag for item in items])
    if as_json:
        for value in scores:
            print(json_format.dumps({"score": value}, allow_nan=False))
        return
    output.print_table(
        [(str(number), f"{value:.6g}") for number, value in enumerate(scores, start=1)],
        title=f"{output.counted(len(items), 'DAG')} of {task.name}",
        header=("DAG", "score"),
    )


def _scores(task: str, iss: float) -> NetworkScores:
    from dvae.bayesnet.scores import NetworkScores
    from dvae.bayesnet.tables import load_table, table_of

    table = table_of(task)
    if table is None:
        raise TaskError(f"{task!r} has no data to score networks on: give --task asia, asia-bnlearn or bn:FILE.csv")
    return NetworkScores(load_table(table), iss)


def _networks(path: Path, scores: NetworkScores, task: str) -> list[Dag]:
    """The networks of a file; the error names the line of the first that has other variables."""
    from dvae.bayesnet.structure import checked_order
    from dvae.bayesnet.tables import split_order
    from dvae.dag.lines import line_of
    from dvae.tasks import BayesNetTask

    order = checked_order(split_order(task)[1] or scores.names, scores.names)
    items = BayesNetTask(task, order).read(path)
    for place, item in enumerate(items):
        problem = scores.problem(item.dag)
        if problem is not None:
            raise FormatError.at(path, line_of(path, place), problem)
    return [item.dag for item in items]
