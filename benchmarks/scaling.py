"""Time and memory of D-VAE against the number of nodes, before and after: training, encoding, decoding.

    python benchmarks/scaling.py --out benchmarks/results/FOLDER
    git worktree add /tmp/before 80e8955
    python benchmarks/scaling.py --baseline /tmp/before --out benchmarks/results/FOLDER
    python benchmarks/scaling.py --device cuda --hidden 256 --batch 32 --out benchmarks/results/FOLDER

Graphs come from `dvae.dag.random_dags`: 1.2 edges per node, a depth of half the nodes; the virtual ends are among the
nodes counted. A training step is both passes and Adam. The decoder is untrained, so it is told never to end early, and
biased to draw 1.2 edges per node.

Machines are shared and noisy: with --baseline both versions are measured in turns, one process for each version and
size, and a time is the least of some repetitions, on a CPU in processor time of all threads. A measurement that would
take longer than --limit seconds is left out. The exponent is the slope of log time against log nodes from 64 nodes on.
Rows are written one by one, so that a run that was stopped goes on where it was; --again names sizes that are measured
once more.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
NODES = "8,16,32,64,128,256,512,1024"
WORKS = ("encode", "decode", "train")  # in the order of their memory, whose peak is read after each
EXPONENT_FROM = 64
EDGES_PER_NODE = 1.2


def least(
    work: Callable[[], object], cuda: bool, budget: float, limit: float, guess: float, wall: bool = False
) -> float | None:
    """The shortest time of one call; None where `guess` says that it would take too long."""
    import torch

    if guess > limit:
        return None
    clock = time.perf_counter if cuda or wall else time.process_time
    times: list[float] = []
    if cuda:  # what is compiled or recorded first is not what a step takes
        work()
        torch.cuda.synchronize()
    while not times or (sum(times) < budget and len(times) < 200):
        start = clock()
        work()
        if cuda:
            torch.cuda.synchronize()
        times.append(clock() - start)
    return min(times[1:] or times)


def measure(settings: dict[str, Any]) -> dict[str, Any]:
    """One version at one size, in this process."""
    sys.path.insert(0, str(Path(settings["source"]) / "src"))
    import torch

    import dvae
    from dvae.tasks import GenericTask
    from dvae.training.config import TrainingConfig
    from dvae.training.loop import tf32_products
    from dvae.training.steps import CapturedEpoch, PlainEpoch

    spec = importlib.util.spec_from_file_location("generator", HERE.parent / "src" / "dvae" / "dag" / "generator.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    torch.set_num_threads(settings["threads"])
    device, nodes, batch = torch.device(settings["device"]), settings["nodes"], settings["batch"]
    cuda = device.type == "cuda"
    labels = ("<start>", "<end>", *generator.LABELS)
    task = GenericTask("scaling", labels, nodes, virtual_start=True, virtual_end=True)
    data = task.batch(generator.random_dags(batch, nodes - 2, edges_per_node=EDGES_PER_NODE, seed=0)).to(device)
    vae = dvae.models.build("dvae", task, hidden=settings["hidden"], latent=32, seed=0).to(device)
    captured = cuda and vae.static_shapes
    rate = torch.tensor(1e-4, device=device) if captured else 1e-4
    optimizer = torch.optim.Adam(vae.parameters(), lr=rate, fused=True, capturable=captured)
    noise = torch.Generator(device if captured else "cpu").manual_seed(0)
    epoch: Any = None

    def train() -> None:
        nonlocal epoch
        if epoch is None and captured:
            epoch = CapturedEpoch(vae, optimizer, data, batch, noise, None)
        elif epoch is None:
            epoch = PlainEpoch(vae, vae, torch.Tensor.backward, optimizer, data, batch, noise, None)
        epoch.begin(torch.arange(batch))
        epoch.step(0)

    with torch.no_grad():
        vae.decoder.vertex_second.bias[1] = -1e4
        vae.decoder.edge_second.bias.fill_(-math.log(max(nodes / 2 / EDGES_PER_NODE - 1, 0.5)))
    latents = torch.randn(batch, 32, generator=torch.Generator().manual_seed(0)).to(device)
    works = {
        "encode": lambda: vae.encode(data), "decode": lambda: vae.decode_batch(latents, seed=0), "train": train
    }  # fmt: skip
    before = memory(cuda)
    row: dict[str, Any] = {"edges_per_graph": float(data.adjacency.sum()) / batch}
    with tf32_products(TrainingConfig().allows_tf32(device)):
        for name in settings["works"]:
            guess = settings["guess"].get(name, 0.0) * batch
            seconds = least(works[name], cuda, settings["seconds"], settings["limit"], guess, settings["wall"])
            row[f"{name}_ms"] = None if seconds is None else 1e3 * seconds / batch
            row[f"{name}_mb"] = None if seconds is None else (memory(cuda) - before) / 1e6
    return row


def memory(cuda: bool) -> float:
    """The most bytes that were in use so far."""
    if cuda:
        import torch

        return float(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def in_a_process(settings: dict[str, Any]) -> dict[str, Any]:
    environment = {**os.environ, "OMP_NUM_THREADS": str(settings["threads"])}
    command = [sys.executable, str(HERE / "scaling.py"), "--one", json.dumps(settings)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{settings['version']} at {settings['nodes']} nodes failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def guesses(rows: list[dict[str, Any]], version: str, nodes: int) -> dict[str, float]:
    """Seconds a graph that each work should take, from the two sizes before."""
    known = [row for row in rows if row["version"] == version and row["nodes"] < nodes][-2:]
    found = {}
    for name in WORKS:
        times = [(row["nodes"], row.get(f"{name}_ms")) for row in known]
        if len(times) == 2 and all(value is not None for _, value in times):
            (few, short), (more, long) = times
            slope = max(1.0, math.log(long / short) / math.log(more / few))
            found[name] = long / 1e3 * (nodes / more) ** slope
        elif len(times) == 2:
            found[name] = math.inf
    return found


def exponent(rows: list[dict[str, Any]], version: str, column: str) -> float | None:
    """The slope of the least-squares line through the logarithms."""
    points = [
        (math.log(row["nodes"]), math.log(row[column]))
        for row in rows
        if row["version"] == version and row["nodes"] >= EXPONENT_FROM and row.get(column)
    ]
    if len(points) < 2:
        return None
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def draw(path: Path, rows: list[dict[str, Any]], versions: list[str]) -> None:
    from dvae.figures import Panel, Series, save_panels

    def panel(title: str, unit: str, columns: list[str]) -> Panel:
        lines = []
        for version in versions:
            for column in columns:
                points = [(row["nodes"], row[column]) for row in rows if row["version"] == version and row.get(column)]
                if len(points) > 1:
                    x, y = zip(*points, strict=True)
                    lines.append(Series(version, tuple(map(float, x)), tuple(y)))
        return Panel(title, "nodes", unit, tuple(lines), log=True, log_x=True)

    panels = [panel(f"{name}: time", "milliseconds a graph", [f"{name}_ms"]) for name in ("train", "encode", "decode")]
    save_panels(path, [*panels, panel("train: memory", "MB a step", ["train_mb"])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default=NODES)
    parser.add_argument(
        "--again", default="", metavar="NODES", help="those of --nodes that this version is measured at once more"
    )
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--wall", action="store_true", help="time by the clock, on a CPU that does nothing else")
    parser.add_argument("--works", default=",".join(WORKS), help="encode, decode, train, or some of them")
    parser.add_argument("--seconds", type=float, default=1.0, help="time spent on each measurement")
    parser.add_argument("--limit", type=float, default=60.0, help="longest call that is measured, in seconds")
    parser.add_argument(
        "--baseline", type=Path, help="a checkout of an earlier version, measured in turns with this one"
    )
    parser.add_argument("--out", type=Path, help="a folder for scaling_DEVICE.json and .svg")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(json.loads(options.one))))
        return
    sys.path.insert(0, str(HERE.parent / "src"))
    from dvae import provenance
    from dvae.files import write_json

    sources = {"before": options.baseline.resolve()} if options.baseline else {}
    sources["now"] = HERE.parent
    path = None if options.out is None else options.out / f"scaling_{options.device}.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text())["rows"] if path is not None and path.is_file() else []
    again = {int(nodes) for nodes in options.again.split(",") if nodes in options.nodes.split(",")}
    rows = [row for row in rows if row["version"] != "now" or row["nodes"] not in again]
    done = {(row["version"], row["nodes"]) for row in rows}
    report: dict[str, Any] = {}
    for nodes in map(int, options.nodes.split(",")):
        for version, source in sources.items():
            if (version, nodes) not in done:
                settings = {
                    "version": version, "source": str(source), "nodes": nodes, "batch": options.batch,
                    "hidden": options.hidden, "device": options.device, "threads": options.threads,
                    "works": options.works.split(","), "seconds": options.seconds, "limit": options.limit,
                    "guess": guesses(rows, version, nodes), "wall": options.wall,
                }  # fmt: skip
                found = {"version": version, "nodes": nodes, **in_a_process(settings)}
                rows = sorted([*rows, found], key=lambda row: row["nodes"])
                if not options.json:
                    print(json.dumps(found), flush=True)
            columns = [f"{name}_ms" for name in WORKS] + ["train_mb"]
            exponents = {each: {name: exponent(rows, each, name) for name in columns} for each in sources}
            report = {
                "benchmark": "scaling", "hidden": options.hidden, "batch": options.batch, "device": options.device,
                "threads": options.threads,
                "clock": "wall" if options.wall or options.device == "cuda" else "processor",
                "graphs": f"random_dags, {EDGES_PER_NODE} edges per node, depth half the nodes, seed 0",
                "exponents_from_64_nodes": exponents, "rows": rows, "record": provenance.record(0),
            }  # fmt: skip
            if path is not None:
                write_json(path, report)
    if path is not None:
        draw(path.with_suffix(".svg"), rows, list(sources))
    if options.json:
        print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
