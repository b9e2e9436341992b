from __future__ import annotations

import ast
import io
import re
import zipfile
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from dvae.dag import Dag, ScoredDag, from_dot
from dvae.dag.jsonl import parse_line
from dvae.explorer import RequestError, Space
from dvae.explorer.exports import MAX_DAGS, export, formats_of
from dvae.tasks import BayesNetTask


def items_of(space: Space, count: int) -> list[ScoredDag]:
    known = space.known
    return [ScoredDag(dag, score) for dag, score in zip(known.dags[:count], known.scores[:count], strict=True)]


def test_every_task_offers_what_fits_it(asia: Space, enas: Space, pipelines: Space) -> None:
    general = ["jsonl", "dot", "svg"]
    assert [kind.key for kind in formats_of(asia.task)] == [*general, "pgmpy", "bif"]
    assert [kind.key for kind in formats_of(enas.task)] == [*general, "pytorch"]
    assert [kind.key for kind in formats_of(pipelines.task)] == general
    without_table = BayesNetTask("bn:A,B", ["A", "B"])
    assert [kind.key for kind in formats_of(without_table)] == [*general, "pgmpy"]


def test_jsonl_and_dot_hold_the_same_dags_again(any_space: Space) -> None:
    items = items_of(any_space, 4)
    made = export(items, "jsonl", any_space.task)
    assert [parse_line(line, "x") for line in made.text.splitlines()] == items
    assert made.name.endswith("-4-dags.jsonl")
    one = export(items[:1], "dot", any_space.task)
    assert any_space.task.key(from_dot(one.text)) == any_space.task.key(items[0].dag)


def test_svg_is_a_picture(any_space: Space) -> None:
    ElementTree.fromstring(export(items_of(any_space, 3), "svg", any_space.task).text)


def test_the_python_source_of_a_network_names_its_variables_and_edges(asia: Space) -> None:
    dag = asia.known.dags[0]
    tree = ast.parse(export([ScoredDag(dag)], "pgmpy", asia.task).text)
    lists = [ast.literal_eval(call.args[0]) for call in ast.walk(tree) if isinstance(call, ast.Call) and call.args]
    assert lists == [list(dag.types), [(dag.types[u], dag.types[v]) for u, v in dag.edges]]


def test_bif_holds_the_frequencies_of_the_table(asia: Space) -> None:
    dag = Dag(("A", "S", "T", "L", "B", "E", "X", "D"), ((0, 2), (2, 5), (3, 5)))
    text = export([ScoredDag(dag)], "bif", asia.task).text
    tables = re.findall(r"probability \( (\w+)(?: \| ([\w, ]+))? \) \{\n(.*?)\n\}", text, re.S)
    assert [(name, given) for name, given, _ in tables] == [
        ("A", ""), ("S", ""), ("T", "A"), ("L", ""), ("B", ""), ("E", "T, L"), ("X", ""), ("D", ""),
    ]  # fmt: skip
    for _, _, body in tables:
        for line in body.splitlines():
            shares = [float(part) for part in re.sub(r"\(.*?\)|table|;", "", line).split(",")]
            assert sum(shares) == pytest.approx(1, abs=1e-6)
    assert isinstance(asia.task, BayesNetTask)
    data = asia.task.network_scores.data
    codes = {name: data.codes[:, data.names.index(name)] for name in "TLE"}
    rows = (codes["T"] == 1) & (codes["L"] == 0)
    truth = (np.sum(rows & (codes["E"] == 1)) + 0.5) / (rows.sum() + 1)
    found = re.search(r"\(yes, no\) ([\d.e-]+), ([\d.e-]+);", {name: body for name, _, body in tables}["E"])
    assert found is not None
    assert float(found[2]) == pytest.approx(truth, rel=1e-6)


def test_the_source_of_an_architecture_makes_its_network(enas: Space) -> None:
    from dvae.nas import FULL, Architecture, fixed_network

    images = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    for dag in enas.known.dags[:2]:
        names: dict[str, Any] = {}
        exec(export([ScoredDag(dag)], "pytorch", enas.task).text, names)
        made, wanted = names["make_network"](seed=4), fixed_network(Architecture.from_dag(dag), FULL, seed=4)
        assert str(made) == str(wanted)
        weights = wanted.state_dict()
        assert made.state_dict().keys() == weights.keys()
        assert all(torch.equal(value, weights[name]) for name, value in made.state_dict().items())
        with torch.no_grad():
            assert torch.equal(made.eval()(images), wanted.eval()(images))


def test_several_dags_of_a_format_for_one_are_a_zip_of_files(asia: Space) -> None:
    items = items_of(asia, 3)
    made = export(items, "pgmpy", asia.task)
    assert made.name == "asia-3-dags.zip"
    with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
        assert archive.namelist() == ["asia-dag-1.py", "asia-dag-2.py", "asia-dag-3.py"]
        texts = [archive.read(name).decode() for name in archive.namelist()]
    assert texts == [export([item], "pgmpy", asia.task).text for item in items]


def test_what_cannot_be_exported_is_refused_in_words(asia: Space, enas: Space) -> None:
    items = items_of(asia, 1)
    for key in ("pytorch", "exe", None, 3, ["jsonl"]):
        with pytest.raises(RequestError, match="no such format"):
            export(items, key, asia.task)
    with pytest.raises(RequestError, match="at least one"):
        export([], "jsonl", asia.task)
    with pytest.raises(RequestError, match="at most"):
        export(items * (MAX_DAGS + 1), "jsonl", asia.task)
    with pytest.raises(RequestError, match="at most 100"):
        export(items * 101, "svg", asia.task)
    with pytest.raises(RequestError, match="no valid Bayesian network"):
        export([ScoredDag(Dag(("A",)))], "bif", asia.task)
    with pytest.raises(RequestError, match="no architecture"):
        export([ScoredDag(Dag(("input", "output")))], "pytorch", enas.task)
    with pytest.raises(RequestError, match="no architecture"):
        export([ScoredDag(Dag(("input", "output"), ((0, 1),)))], "pytorch", enas.task)


def test_the_name_of_a_file_is_a_plain_word(pipelines: Space) -> None:
    task = BayesNetTask("bn:/etc/../passwd?order=A,B", ["A", "B"])
    name = export([ScoredDag(Dag(("A", "B")))], "jsonl", task).name
    assert re.fullmatch(r"[a-z0-9-]+\.jsonl", name)
