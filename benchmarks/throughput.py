"""How many graphs a second a model trains on, encodes and decodes.

    python benchmarks/throughput.py --task enas6 --model dvae --batch 32 --device cpu --json

Several batch sizes and precisions are compared in one run, since machines are noisy: read the ratios. Beside each
rate stands the share of the machine's measured matrix-product rate that the counted operations amount to.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import dvae
from dvae import provenance
from dvae.dag import DagBatch
from dvae.models.kernels.precision import products_in
from dvae.training.config import TrainingConfig
from dvae.training.loop import tf32_products
from dvae.training.steps import CapturedEpoch, PlainEpoch

# Graphs a second of the original implementation, hidden 501, batch 32 (BN 128), as measured for the design notes.
ORIGINAL = {
    ("enas6", "cpu"): {"train": 61, "encode": 932, "decode": 345},
    ("enas6", "cuda"): {"train": 128, "encode": 973, "decode": 513},
    ("asia", "cuda"): {"train": 139},
}


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def seconds_of(work: Callable[[], object], device: torch.device, budget: float) -> float:
    """The median time of one call, over as many calls as fit the budget (at least three)."""
    work()
    synchronize(device)
    times: list[float] = []
    while len(times) < 3 or (sum(times) < budget and len(times) < 1000):
        start = time.perf_counter()
        work()
        synchronize(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def kernel_times(work: Callable[[], object], repeat: int = 5) -> dict[str, float]:
    """Milliseconds of one call that each kernel spends on the device, heaviest first: the rest of a step is waiting."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(repeat):
            work()
        torch.cuda.synchronize()
    times = {event.key: event.self_device_time_total / 1e3 / repeat for event in profiler.key_averages()}
    return dict(sorted(times.items(), key=lambda item: -item[1]))


def product_rate(device: torch.device, dtype: torch.dtype) -> float:
    """Floating-point operations a second of a large matrix product."""
    size = 8192 if device.type == "cuda" else 1536
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    return 2 * size**3 / seconds_of(lambda: left @ right, device, 1.0)


def graphs_of(task: Any, count: int) -> tuple[DagBatch, str]:
    """The paper's architectures where they are at hand, sampled DAGs of the task otherwise."""
    try:
        if task.name == "enas6":
            data = task.dataset()
            return task.batch(data.train.dags[:count]), data.name
    except dvae.DvaeError:
        pass
    return task.sample_batch(count, seed=0), f"{task.name}, sampled"


def measure(options: argparse.Namespace, batch_size: int, precision: str) -> dict[str, Any]:
    task = dvae.tasks.get(options.task)
    device = torch.device(options.device)
    vae = dvae.models.build(options.model, task, hidden=options.hidden, seed=0).to(device)
    graphs, source = graphs_of(task, max(4 * batch_size, 16384 if device.type == "cuda" else 2048))
    graphs = vae.prepare(graphs).to(device)
    config = TrainingConfig(precision=precision)  # type: ignore[arg-type]
    captured = device.type == "cuda" and not options.plain
    rate = torch.tensor(1e-4, device=device) if captured else 1e-4
    optimizer = torch.optim.Adam(vae.parameters(), lr=rate, fused=True, capturable=captured)
    generator = torch.Generator(device if captured else "cpu").manual_seed(0)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    result: dict[str, Any] = {"batch": batch_size, "precision": precision, "graphs": source}
    with tf32_products(config.allows_tf32(device)), products_in(config.operand_dtype()):
        dtype = config.operand_dtype() or torch.float32
        result["product_rate_tflops"] = product_rate(device, dtype) / 1e12
        epoch: Any
        if captured:
            epoch = CapturedEpoch(vae, optimizer, graphs, batch_size, generator, config.operand_dtype())
        else:
            epoch = PlainEpoch(
                vae,
                vae,
                torch.Tensor.backward,
                optimizer,
                graphs,
                batch_size,
                generator,
                config.operand_dtype(),
            )
        steps = max(1, len(graphs) // batch_size)
        epoch.begin(torch.randperm(len(graphs), generator=torch.Generator().manual_seed(0)))
        count = iter(range(10**9))

        def some_steps(repeat: int) -> None:
            for _ in range(repeat):
                number = next(count) % steps
                if number == 0 and captured:
                    epoch.number.zero_()
                epoch.step(number)

        repeat = max(1, 2048 // batch_size) if device.type == "cuda" else 1
        seconds = seconds_of(lambda: some_steps(repeat), device, options.seconds) / repeat
        result["train"] = batch_size / seconds
        result["step_ms"] = 1e3 * seconds
        if device.type == "cuda":
            kernels = kernel_times(lambda: some_steps(1))
            result["kernel_ms"] = sum(kernels.values())
            heaviest = list(kernels.items())[: options.kernels]
            result["heaviest_kernels_ms"] = {name[:120]: round(spent, 3) for name, spent in heaviest}
        with FlopCounterMode(display=False) as flops:
            losses = vae(graphs.select(slice(0, batch_size)), torch.zeros(batch_size, vae.config.latent, device=device))
            (losses.nll + losses.kl).sum().backward()
        vae.zero_grad()
        result["mflop_per_graph"] = flops.get_total_flops() / batch_size / 1e6
        achieved = flops.get_total_flops() / seconds / 1e12
        result["train_share_of_product_rate"] = achieved / result["product_rate_tflops"]
        encoded = graphs.select(slice(0, min(len(graphs), options.encode)))
        result["encode"] = len(encoded) / seconds_of(lambda: vae.encode(encoded), device, options.seconds)
        vae.calibrate(encoded)
        latents = vae.prior(options.decode, seed=0)
        result["decode"] = len(latents) / seconds_of(lambda: vae.decode_batch(latents, seed=0), device, options.seconds)
    if device.type == "cuda":
        result["peak_memory_gib"] = torch.cuda.max_memory_allocated() / 2**30
    else:
        result["peak_memory_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    original = ORIGINAL.get((options.task, options.device), {})
    result["times_the_original"] = {name: result[name] / value for name, value in original.items()}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="enas6")
    parser.add_argument("--model", default="dvae")
    parser.add_argument("--batch", default="32", help="one batch size, or several joined by commas")
    parser.add_argument("--precision", default="auto", help="auto, float32, tf32, bf16, or several")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--hidden", type=int, default=501)
    parser.add_argument("--seconds", type=float, default=3.0, help="time spent on each measurement")
    parser.add_argument("--encode", type=int, help="graphs encoded at once (default 2048, CUDA 16384)")
    parser.add_argument("--decode", type=int, help="latents decoded at once (default 1024, CUDA 65536)")
    parser.add_argument("--kernels", type=int, default=8, help="kernels to name in the report (CUDA)")
    parser.add_argument("--plain", action="store_true", help="do not capture the step as a CUDA graph")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    on_cuda = options.device == "cuda"
    options.encode = options.encode or (16384 if on_cuda else 2048)
    options.decode = options.decode or (65536 if on_cuda else 1024)
    rows = [
        measure(options, int(batch), precision)
        for precision in options.precision.split(",")
        for batch in options.batch.split(",")
    ]
    report = {
        "benchmark": "throughput", "task": options.task, "model": options.model, "hidden": options.hidden,
        "device": options.device, "threads": torch.get_num_threads(), "unit": "graphs per second", "rows": rows,
        "record": provenance.record(0),
    }  # fmt: skip
    if options.json:
        print(json.dumps(report, indent=2))
        return
    for row in rows:
        print(
            f"batch {row['batch']:>5} {row['precision']:>8}: train {row['train']:>10,.0f}"
            f"  encode {row['encode']:>10,.0f}  decode {row['decode']:>10,.0f} graphs/s"
            f"  ({row['train_share_of_product_rate']:.0%} of the product rate)"
        )


if __name__ == "__main__":
    main()
