"""How fast the layerwise model trains and decodes on this machine's CPU, by the number of nodes; one thread.

    python benchmarks/layerwise_speed.py --out benchmarks/results/2026-11-16-large/layerwise_speed.json

Graphs are random: 1.2 edges a node, depth about half the nodes. Seconds are CPU seconds of the process, so that a busy
machine changes them little; the best of three steps counts.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from dvae import Dag, provenance
from dvae.models import build
from dvae.tasks import GenericTask

STEPS = 3


def random_dag(nodes: int, seed: int) -> Dag:
    """A chain through half of the nodes, the others hung to it, and some edges more."""
    chance = random.Random(seed)
    edges = {(node - 1 if chance.random() < 0.5 else chance.randrange(max(0, node - 8), node), node)
             for node in range(1, nodes)}  # fmt: skip
    while len(edges) < 1.2 * nodes - 1:
        target = chance.randrange(1, nodes)
        edges.add((chance.randrange(max(0, target - 20), target), target))
    return Dag(tuple(chance.choice("abcdefgh") for _ in range(nodes)), tuple(edges))


def row(nodes: int, batch_size: int, width: int) -> dict[str, float]:
    """Graphs a CPU second."""
    dags = [random_dag(nodes, seed) for seed in range(batch_size)]
    vae = build("layerwise", GenericTask.infer("random", dags), hidden=64, latent=64, token_width=width, seed=0)
    batch = vae.prepare(vae.task.batch(dags))
    optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3, fused=True)
    spent = []
    for _ in range(STEPS):
        started = time.process_time()
        losses = vae(batch, torch.zeros(len(batch), 64))
        optimizer.zero_grad()
        (losses.nll.sum() + losses.kl.sum()).backward()
        optimizer.step()
        spent.append(time.process_time() - started)
    started = time.process_time()
    vae.decode_batch(torch.randn(len(batch), 64), seed=0)
    decoding = time.process_time() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "nodes": nodes, "batch": batch_size, "training": batch_size / min(spent), "decoding": batch_size / decoding,
        "peak_gigabytes": memory,
    }  # fmt: skip


def main() -> None:
    """Prints one row for every size, and writes them down."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--nodes", default="64,128,256,512,1000")
    words.add_argument("--batch", type=int, default=8)
    words.add_argument("--width", type=int, default=64)
    words.add_argument("--out", type=Path)
    options = words.parse_args()
    torch.set_num_threads(1)
    rows = [row(int(nodes), options.batch, options.width) for nodes in options.nodes.split(",")]
    found = {"rows": rows, "provenance": provenance.record(0, vars(options) | {"out": str(options.out)})}
    for one in rows:
        print(json.dumps(one))
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
