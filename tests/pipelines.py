"""A user's own DAGs: pipelines of a few steps, with several sources and sinks."""

from __future__ import annotations

import json
import random


def pipeline_lines(count: int, most_nodes: int, *, scored: bool) -> str:
    """A file of `count` pipelines."""
    chance, lines = random.Random(0), []
    for _ in range(count):
        nodes = chance.randint(2, most_nodes)
        edges = [[u, v] for v in range(nodes) for u in range(v) if chance.random() < 0.5]
        types = [chance.choice(["load", "clean", "join"]) for _ in range(nodes)]
        score = {"score": chance.random()} if scored else {}
        lines.append(json.dumps({"types": types, "edges": edges, **score}))
    return "\n".join(lines) + "\n"
