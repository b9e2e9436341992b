"""Virtual start and end nodes: the paper's device for graphs with several sources or sinks (section 3.1)."""

from __future__ import annotations

from dvae.dag import Dag
from dvae.tasks.vocabulary import Vocabulary


def add_virtual_ends(dag: Dag, vocabulary: Vocabulary, *, start: bool = True, end: bool = True) -> Dag:
    """A start node that feeds every source, an end node that every sink feeds."""
    shift = int(start)
    types = list(dag.types)
    edges = [(source + shift, target + shift) for source, target in dag.edges]
    if start:
        types.insert(0, vocabulary.start)
        edges += [(0, source + shift) for source in dag.sources()]
    if end:
        edges += [(sink + shift, len(types)) for sink in dag.sinks()]
        types.append(vocabulary.end)
    nodes = [*[None] * shift, *range(len(dag)), *[None] * int(end)]
    return dag.rebuilt(nodes, types, edges)


def drop_virtual_ends(dag: Dag, vocabulary: Vocabulary, *, start: bool = True, end: bool = True) -> Dag:
    """The DAG between its virtual ends; as it is, if they are not where they belong or nothing is between."""
    first, last = int(start), len(dag) - int(end)
    framed = (
        dag.types[0] == vocabulary.start
        and dag.types[-1] == vocabulary.end
        and vocabulary.start not in dag.types[1:]
        and vocabulary.end not in dag.types[:-1]
    )
    if not framed or last <= first:
        return dag
    edges = [(u - first, v - first) for u, v in dag.edges if u >= first and v < last]
    return dag.rebuilt(range(first, last), dag.types[first:last], edges)
