"""How many DAGs D-VAE's decoder cannot write with certainty, whatever its weights are.

    python benchmarks/decoder_limit.py FILE.jsonl

Without positions in its messages a decision looks at states alone: the next type at the newest node's state, an edge at
the states of its source and of the new node, which knows its type and the messages received so far. Where one DAG needs
two different answers to the same question, no weights give both. Counts such DAGs among those of the test part that are
not in the training part, and among all training DAGs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Hashable, Sequence

from dvae.dag import Dag, Dataset, load_jsonl
from dvae.tasks import GenericTask


def contradictions(dag: Dag) -> tuple[bool, bool]:
    """Whether a model's DAG needs two answers to one question about types, and about edges."""
    states: list[Hashable] = []
    for label, before in zip(dag.types, dag.predecessors(), strict=True):
        states.append((label, tuple(sorted(map(hash, (states[node] for node in before))))))
    next_type: dict[Hashable, Hashable] = {}
    types = any(
        next_type.setdefault(states[node], dag.types[node + 1]) != dag.types[node + 1] for node in range(len(dag) - 1)
    )
    edges, answers, differ = set(dag.edges), {}, False
    for target in range(1, len(dag) - 1):  # the end node takes all loose ends
        received: list[int] = []
        for source in reversed(range(target)):
            question = (states[source], dag.types[target], tuple(sorted(received)))
            answer = (source, target) in edges
            differ |= answers.setdefault(question, answer) != answer
            if answer:
                received.append(hash(states[source]))
    return types, differ


def share(dags: Sequence[Dag], task: GenericTask) -> dict[str, float]:
    found = [contradictions(task.wrap(dag)) for dag in dags]
    return {
        "count": len(found),
        "types": sum(one for one, _ in found) / len(found),
        "edges": sum(other for _, other in found) / len(found),
        "either": sum(one or other for one, other in found) / len(found),
    }


def main() -> None:
    data = Dataset.split(sys.argv[1], load_jsonl(sys.argv[1]))
    task = GenericTask.infer("file", data.everything.dags)
    known = set(task.keys_of(data.train.dags))
    unseen = [dag for dag, key in zip(data.test.dags, task.keys_of(data.test.dags), strict=True) if key not in known]
    print(json.dumps({"train": share(data.train.dags, task), "unseen": share(unseen, task)}, indent=2))


if __name__ == "__main__":
    main()
