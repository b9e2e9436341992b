"""DAGs as files to take away."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from dvae.bayesnet.discrete import DiscreteData
from dvae.dag import Dag, ScoredDag, to_dot
from dvae.dag.jsonl import format_line
from dvae.errors import DagError
from dvae.explorer.graph_view import style_for
from dvae.explorer.places import RequestError
from dvae.figures import to_svg
from dvae.tasks import BayesNetTask, EnasTask, Task

MOST_DAGS = 1_000  # in one file
MOST_DRAWN = 100
PRIOR_COUNT = 1.0  # imaginary samples a row of a probability table, spread evenly: no zero, no undefined row
MOST_ROWS = 100_000  # of one probability table


@dataclass(frozen=True)
class Export:
    """A file: its name and its text."""

    name: str
    text: str


@dataclass(frozen=True)
class Format:
    """A kind of file; `many` says whether one file holds several DAGs."""

    key: str
    label: str
    ending: str
    write: Callable[[Sequence[ScoredDag], Task], str]
    many: bool = True


def formats_of(task: Task) -> tuple[Format, ...]:
    """The kinds of file that DAGs of `task` can become."""
    formats = [JSONL, DOT, SVG]
    if isinstance(task, EnasTask):
        formats.append(PYTORCH)
    if isinstance(task, BayesNetTask):
        formats.append(PGMPY)
        if task.can_score:
            formats.append(BIF)
    return tuple(formats)


def export(items: Sequence[ScoredDag], key: object, task: Task) -> Export:
    """The file of these DAGs in a format; where it holds one DAG only, of the first."""
    formats = formats_of(task)
    chosen = next((format for format in formats if format.key == key), None)
    if chosen is None:
        raise RequestError(f"{task.name} has no such format; choose one of {', '.join(f.key for f in formats)}")
    if not items:
        raise RequestError("choose at least one DAG to export")
    if len(items) > MOST_DAGS:
        raise RequestError(f"one file holds at most {MOST_DAGS:,} DAGs, not {len(items):,}")
    kept = items if chosen.many else items[:1]
    plural = "dag" if len(kept) == 1 else f"{len(kept)}-dags"
    stem = re.sub(r"[^A-Za-z0-9]+", "-", task.name.split("/")[-1]).strip("-").lower() or "dvae"
    return Export(f"{stem}-{plural}{chosen.ending}", chosen.write(kept, task))


def _jsonl(items: Sequence[ScoredDag], task: Task) -> str:
    return "".join(format_line(item) + "\n" for item in items)


def _dot(items: Sequence[ScoredDag], task: Task) -> str:
    return "\n".join(to_dot(item.dag) for item in items)


def _svg(items: Sequence[ScoredDag], task: Task) -> str:
    if len(items) > MOST_DRAWN:
        raise RequestError(f"one picture holds at most {MOST_DRAWN} DAGs, not {len(items)}")
    titles = ["" if item.score is None else f"{item.score:,.4f}" for item in items]
    style = replace(style_for(task), background="#ffffff")
    return to_svg([item.dag for item in items], titles=titles if any(titles) else None, style=style)


def _pgmpy(items: Sequence[ScoredDag], task: Task) -> str:
    """Python source that makes the network's structure, ready to be fitted."""
    (item,) = items
    variables, edges = _network(item.dag, task)
    lines = [
        '"""A Bayesian network found by dvae: its structure. `network.fit(table)` learns its probabilities."""',
        "",
        "from pgmpy.models import DiscreteBayesianNetwork",
        "",
        "network = DiscreteBayesianNetwork()",
        f"network.add_nodes_from({list(variables)!r})",
        f"network.add_edges_from({edges!r})",
    ]
    return "\n".join(lines) + "\n"


def _bif(items: Sequence[ScoredDag], task: Task) -> str:
    """The network with probabilities from the task's table, in the interchange format pgmpy and bnlearn read."""
    (item,) = items
    variables, _ = _network(item.dag, task)
    if not isinstance(task, BayesNetTask):
        raise RequestError("only Bayesian networks can be written as BIF")
    data = task.network_scores.data
    parents = {
        str(item.dag.types[node]): [str(item.dag.types[parent]) for parent in above]
        for node, above in enumerate(item.dag.predecessors())
    }
    lines = [f"network {_word(task.name)} {{", "}"]
    for variable in variables:
        levels = [_word(level) for level in _levels(data, variable)]
        lines += [
            f"variable {_word(variable)} {{",
            f"  type discrete [ {len(levels)} ] {{ {', '.join(levels)} }};",
            "}",
        ]
    for variable in variables:
        lines += _probabilities(data, variable, parents[variable])
    return "\n".join(lines) + "\n"


def _probabilities(data: DiscreteData, variable: str, parents: Sequence[str]) -> list[str]:
    columns = [data.names.index(name) for name in (*parents, variable)]
    sizes = [data.num_levels[column] for column in columns]
    if np.prod(sizes[:-1], dtype=float) > MOST_ROWS:
        raise RequestError(f"{variable!r} has too many combinations of parents to write them all down")
    counts = np.zeros(sizes)
    rows, times = data.distinct
    np.add.at(counts, tuple(rows[:, column] for column in columns), times)
    shares = counts + PRIOR_COUNT / sizes[-1]
    shares /= shares.sum(-1, keepdims=True)
    if not parents:
        return [f"probability ( {_word(variable)} ) {{", f"  table {_numbers(shares)};", "}"]
    lines = [f"probability ( {_word(variable)} | {', '.join(map(_word, parents))} ) {{"]
    for codes in product(*(range(size) for size in sizes[:-1])):
        given = ", ".join(_word(_levels(data, name)[code]) for name, code in zip(parents, codes, strict=True))
        lines.append(f"  ({given}) {_numbers(shares[codes])};")
    return [*lines, "}"]


def _network(dag: Dag, task: Task) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    if not isinstance(task, BayesNetTask) or not task.is_valid(dag):
        raise RequestError("this DAG is no valid Bayesian network: every variable must come exactly once")
    edges = [(str(dag.types[source]), str(dag.types[target])) for source, target in dag.edges]
    return tuple(map(str, dag.types)), edges


def _levels(data: DiscreteData, variable: str) -> tuple[str, ...]:
    return data.levels[data.names.index(variable)]


def _word(text: str) -> str:
    """A name as BIF has it: letters, digits and underscores."""
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "_"


def _numbers(shares: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    return ", ".join(f"{share:.8g}" for share in shares)


def _pytorch(items: Sequence[ScoredDag], task: Task) -> str:
    """Python source of the network, as full training builds it."""
    from dvae.nas.architecture import Architecture

    (item,) = items
    try:
        found = Architecture.from_dag(item.dag)
    except DagError as error:
        raise RequestError(f"this DAG is no architecture: {error}") from None
    lines = [
        '"""A neural architecture found by dvae, as a PyTorch module: images in, class scores out."""',
        "",
        "from torch import nn",
        "",
        "from dvae.nas import FULL, Architecture, fixed_network",
        "",
        "ARCHITECTURE = Architecture(",
        f"    operations={found.operations!r},",
        f"    skips={found.skips!r},  # vertices that join each layer's output; 0 is the stem",
        f"    outputs={found.outputs!r},",
        ")",
        "",
        "",
        "def make_network(seed: int = 0) -> nn.Module:",
        "    return fixed_network(ARCHITECTURE, FULL, seed=seed)",
    ]
    return "\n".join(lines) + "\n"


JSONL = Format("jsonl", "JSONL", ".jsonl", _jsonl)
DOT = Format("dot", "DOT (Graphviz)", ".dot", _dot)
SVG = Format("svg", "SVG picture", ".svg", _svg)
PGMPY = Format("pgmpy", "pgmpy model (Python)", ".py", _pgmpy, many=False)
BIF = Format("bif", "BIF with probabilities", ".bif", _bif, many=False)
PYTORCH = Format("pytorch", "PyTorch module", ".py", _pytorch, many=False)
