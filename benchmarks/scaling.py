"""How the cost of D-VAE grows with the number of nodes and with the batch.

    python benchmarks/scaling.py --device cpu --json
    python benchmarks/scaling.py --nodes 8,16,32 --batch 1,8,64 --hidden 501

Graphs are random: node i > 0 has one predecessor among the nodes before it and, on average, one more. Decisions
grow with the square of the nodes, states with the number of edges; the last column is the slope of log time against
log nodes since the row before.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from throughput import seconds_of

import dvae
from dvae import provenance
from dvae.dag import DagBatch
from dvae.tasks import GenericTask
from dvae.training.config import TrainingConfig
from dvae.training.loop import tf32_products

LABELS = ("a", "b", "c", "d", "e", "f")


def random_graphs(count: int, nodes: int, seed: int) -> DagBatch:
    """Model-side graphs of exactly `nodes` nodes, start and end among them."""
    generator = torch.Generator().manual_seed(seed)
    types = torch.randint(2, 2 + len(LABELS), (count, nodes), generator=generator)
    types[:, 0], types[:, -1] = 0, 1
    adjacency = torch.zeros(count, nodes, nodes, dtype=torch.bool)
    for target in range(1, nodes - 1):
        first = torch.randint(target, (count,), generator=generator)
        adjacency[torch.arange(count), first, target] = True
        adjacency[:, :target, target] |= torch.rand(count, target, generator=generator) < 1 / target
    adjacency[:, :-1, -1] = ~adjacency[:, :-1].any(2)
    return DagBatch(types, adjacency, torch.full((count,), nodes))


def measure(options: argparse.Namespace, nodes: int, batch_size: int) -> dict[str, Any]:
    device = torch.device(options.device)
    task = GenericTask("scaling", ("start", "end", *LABELS), nodes, virtual_start=False, virtual_end=False)
    vae = dvae.models.build("dvae", task, hidden=options.hidden, latent=32, seed=0).to(device)
    with torch.no_grad():
        vae.decoder.vertex_second.bias[1] = -1e4  # an untrained decoder would end early: decode graphs of full size
    graphs = random_graphs(batch_size, nodes, seed=0).to(device)
    noise = torch.randn(batch_size, 32, device=device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()

    def step() -> None:
        vae.zero_grad()
        losses = vae(graphs, noise)
        (losses.nll + losses.kl).sum().backward()

    with tf32_products(TrainingConfig().allows_tf32(device)):
        train = seconds_of(step, device, options.seconds)
        encode = seconds_of(lambda: vae.encode(graphs), device, options.seconds)
        decode = seconds_of(lambda: vae.decode_batch(noise, seed=0), device, options.seconds)
    peak = torch.cuda.max_memory_allocated() if device.type == "cuda" else None
    return {
        "nodes": nodes, "batch": batch_size, "edges_per_graph": graphs.adjacency.sum().item() / batch_size,
        "forward_backward_ms_per_graph": 1e3 * train / batch_size, "encode_ms_per_graph": 1e3 * encode / batch_size,
        "decode_ms_per_graph": 1e3 * decode / batch_size,
        "peak_memory_gib": (peak or 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 2**30,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="8,16,32,64,128,256,512")
    parser.add_argument("--batch", default="8", help="one batch size, or several joined by commas")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for batch_size in map(int, options.batch.split(",")):
        before: dict[str, Any] | None = None
        for nodes in map(int, options.nodes.split(",")):
            row = measure(options, nodes, batch_size)
            if before is not None:
                ratio = row["forward_backward_ms_per_graph"] / before["forward_backward_ms_per_graph"]
                row["slope"] = math.log(ratio) / math.log(nodes / before["nodes"])
            rows.append(row)
            before = row
            if not options.json:
                print(
                    f"nodes {nodes:>4} batch {batch_size:>4}: forward+backward"
                    f" {row['forward_backward_ms_per_graph']:>9.3f}  encode {row['encode_ms_per_graph']:>8.3f}"
                    f"  decode {row['decode_ms_per_graph']:>9.3f} ms a graph  slope {row.get('slope', math.nan):.2f}"
                )
    if options.json:
        report = {
            "benchmark": "scaling", "hidden": options.hidden, "device": options.device,
            "threads": torch.get_num_threads(), "rows": rows, "record": provenance.record(0),
        }  # fmt: skip
        print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
