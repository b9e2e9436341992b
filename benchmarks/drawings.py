"""Drawings of DAGs beside those of Graphviz dot: crossings, size, length of edges, processor seconds.

    python benchmarks/drawings.py --json > benchmarks/results/drawings.json
    python benchmarks/drawings.py --sizes 20x30,60x90 --seeds 3

Both draw the same random DAGs with the same boxes and the same least distances. Crossings are counted in the finished
drawing, between the curves as they are drawn, so that neither program's own way to count matters; where two edges
meet at a node that they share is no crossing. Without `dot` (apt-get install graphviz) only our own are measured, and
the answer says so.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from dvae import provenance
from dvae.dag import Dag
from dvae.figures import Box, layered
from dvae.figures.layout import BAND_GAP, NODE_GAP

INCH = 72.0
STEPS = 12  # straight pieces of a cubic
MEETING = 14.0  # pixels around the box of a shared node within which its edges may meet
SIZES = "10x15,20x30,40x60,60x90,100x150,200x280"
BOX = Box(64.0, 30.0)
MISSING = "Graphviz dot is not installed (apt-get install graphviz): only the drawings of dvae are measured"

Curve = np.ndarray  # point 2


@dataclass(frozen=True)
class Drawing:
    """Where the nodes are and how the edges run, whoever drew it."""

    width: float
    height: float
    centres: np.ndarray  # node 2
    curves: tuple[Curve, ...]
    seconds: float


def random_dag(nodes: int, edges: int, seed: int) -> Dag:
    """Any two nodes may be linked."""
    chance = random.Random(seed)
    found: set[tuple[int, int]] = set()
    while len(found) < edges:
        source, target = sorted(chance.sample(range(nodes), 2))
        found.add((source, target))
    return Dag(("n",) * nodes, tuple(found))


def ours(dag: Dag) -> Drawing:
    start = time.process_time()
    layout = layered(dag, [BOX] * len(dag))
    seconds = time.process_time() - start
    curves = tuple(_sampled(np.array(route)) for route in layout.routes)
    return Drawing(layout.width, layout.height, np.array(layout.centres), curves, seconds)


def dots(dag: Dag) -> Drawing:
    """The drawing of Graphviz, from its plain output (inches, y up)."""
    lines = [f"digraph {{ graph [nodesep={NODE_GAP / INCH}, ranksep={BAND_GAP / INCH}];"]
    lines.append(f'node [shape=box, fixedsize=true, width={BOX.width / INCH}, height={BOX.height / INCH}, label=""];')
    lines += [f"{node};" for node in range(len(dag))] + [f"{u} -> {v};" for u, v in dag.edges] + ["}"]
    start = _children()
    answer = subprocess.run(["dot", "-Tplain"], input="\n".join(lines), capture_output=True, text=True, check=True)
    seconds = _children() - start
    rows = [line.split() for line in answer.stdout.splitlines()]
    centres = {int(row[1]): (float(row[2]) * INCH, float(row[3]) * INCH) for row in rows if row[0] == "node"}
    curves = {}
    for row in rows:
        if row[0] == "edge":
            numbers = [float(text) * INCH for text in row[4 : 4 + 2 * int(row[3])]]
            points = np.array(numbers).reshape(-1, 2)
            end = np.array(centres[int(row[2])])
            curves[int(row[1]), int(row[2])] = np.vstack([_sampled(points), _at_box(points[-1], end)])
    graph = next(row for row in rows if row[0] == "graph")
    places = np.array([centres[node] for node in range(len(dag))])
    return Drawing(
        float(graph[2]) * INCH, float(graph[3]) * INCH, places, tuple(curves[edge] for edge in dag.edges), seconds
    )


def _children() -> float:
    """Processor seconds of the programs that were called."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def crossings(drawing: Drawing, dag: Dag) -> int:
    """How often two edges cross."""
    total = 0
    frames = np.array([[*curve.min(0), *curve.max(0)] for curve in drawing.curves])
    for first in range(len(dag.edges)):
        later = np.arange(first + 1, len(dag.edges))
        a, b = frames[first], frames[later]
        near = later[(b[:, 0] <= a[2]) & (b[:, 2] >= a[0]) & (b[:, 1] <= a[3]) & (b[:, 3] >= a[1])]
        for second in near:
            points = _meetings(drawing.curves[first], drawing.curves[second])
            for shared in set(dag.edges[first]) & set(dag.edges[second]):
                away = np.abs(points - drawing.centres[shared]) - (BOX.width / 2, BOX.height / 2)
                points = points[(away > MEETING).any(1)]
            total += len(points)
    return total


def measure(dag: Dag, draw: Any) -> dict[str, float]:
    drawing = draw(dag)
    length = sum(float(np.linalg.norm(np.diff(curve, axis=0), axis=1).sum()) for curve in drawing.curves)
    return {
        "crossings": crossings(drawing, dag),
        "megapixels": drawing.width * drawing.height / 1e6,
        "length": length / max(1, len(dag.edges)),
        "seconds": drawing.seconds,
    }


def _sampled(points: np.ndarray) -> Curve:
    """A chain of cubics as straight pieces."""
    shares = np.linspace(0, 1, STEPS + 1)[1:, None]
    pieces = [points[:1]]
    for k in range(0, len(points) - 1, 3):
        a, b, c, d = points[k : k + 4]
        rest = 1 - shares
        pieces.append(rest**3 * a + 3 * shares * rest**2 * b + 3 * shares**2 * rest * c + shares**3 * d)
    return np.vstack(pieces)


def _at_box(point: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Where the straight line of an arrow head meets the box."""
    way = centre - point
    reach = np.maximum(np.abs(way) - (BOX.width / 2, BOX.height / 2), 0).max() / max(np.abs(way).max(), 1e-9)
    return (point + way * min(1.0, reach))[None]


def _meetings(one: Curve, other: Curve) -> np.ndarray:
    """The points at which two chains of straight pieces cross."""  # meeting 2
    p, r = one[:-1, None], np.diff(one, axis=0)[:, None]
    q, s = other[None, :-1], np.diff(other, axis=0)[None]
    cross = r[..., 0] * s[..., 1] - r[..., 1] * s[..., 0]
    away = q - p
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (away[..., 0] * s[..., 1] - away[..., 1] * s[..., 0]) / cross
        u = (away[..., 0] * r[..., 1] - away[..., 1] * r[..., 0]) / cross
    hit = (np.abs(cross) > 1e-9) & (t > 0) & (t <= 1) & (u > 0) & (u <= 1)
    rows, columns = np.nonzero(hit)
    return one[rows] + t[rows, columns, None] * np.diff(one, axis=0)[rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=SIZES, help="NODESxEDGES, with commas between")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    programs = {"dvae": ours} | ({"dot": dots} if shutil.which("dot") else {})
    if len(programs) == 1:
        print(MISSING, file=sys.stderr)
    rows = []
    for size in options.sizes.split(","):
        nodes, edges = map(int, size.split("x"))
        dags = [random_dag(nodes, edges, seed) for seed in range(options.seeds)]
        for name, draw in programs.items():
            found = [measure(dag, draw) for dag in dags]
            means = {key: statistics.fmean(one[key] for one in found) for key in found[0]}
            rows.append({"nodes": nodes, "edges": edges, "program": name, "seeds": options.seeds, **means})
            if not options.json:
                print(
                    "  ".join(
                        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
                        for key, value in rows[-1].items()
                    ),
                    flush=True,
                )
    if options.json:
        answer = {
            "rows": rows,
            "note": "" if len(programs) > 1 else MISSING,
            "dot": _version(),
            "record": provenance.record(0),
        }
        print(json.dumps(answer, indent=2))


def _version() -> str | None:
    if not shutil.which("dot"):
        return None
    return subprocess.run(["dot", "-V"], capture_output=True, text=True, check=True).stderr.strip()


if __name__ == "__main__":
    main()
