"""Structure learning on the networks that pgmpy ships: ours, plain hill climbing, and pgmpy's own.

    python benchmarks/bn_learning.py OUT.jsonl --pgmpy VENV/bin/python --data FOLDER --cap 120
    python benchmarks/bn_learning.py OUT.jsonl --table

The tables are sampled when they are not there. Every line of the file is one case: a network, a number of rows, a
contender and a seed, with the edges found, BIC, the structural Hamming distance of the equivalence class from the true
one, wall and processor seconds. Cases that are there already are not measured again, so a run that is killed goes on.
Each contender has one thread; what passes the cap, in processor seconds, is recorded as a bound. Wall times of a shared
machine say little, so ratios are those of processor times. `--table` prints what docs/results/bayesnet.md shows.

`memetic-30s` and `latent-30s` are contenders that search for 30 seconds of wall time, without and with a latent space
that proposes networks; `--networks` and `--rows` choose what they are tried on.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

NETWORKS = ("asia", "sachs", "child", "insurance", "alarm", "barley", "hailfinder", "hepar2", "win95pts")
ROWS = (1_000, 10_000)
DATA_SEED = 0
PGMPY = ("pgmpy-hill-climbing", "pgmpy-ges")
OURS = ("hill-climbing", "auto")
HERE = Path(__file__).parent
WALL_LIMIT = 6  # times the cap, on a machine that others use too
CLOSE = 1e-6


def cases(contenders: list[str], seeds: int, networks: list[str], numbers: list[int]) -> Iterator[dict[str, Any]]:
    for contender in contenders:
        for rows in numbers:
            for network in networks:
                for seed in range(1 if contender in (*PGMPY, "hill-climbing") else seeds):
                    yield {"network": network, "rows": rows, "contender": contender, "seed": seed}


def by_pgmpy(python: str, algorithm: str, table: Path, cap: float) -> dict[str, Any]:
    """What pgmpy finds, or that it was stopped."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (round(cap), round(cap) + 5))

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        words = [python, str(HERE / "bn_learning_pgmpy.py"), "learn", algorithm, str(table), str(out)]
        try:
            done = subprocess.run(
                words, preexec_fn=limited, timeout=WALL_LIMIT * cap, capture_output=True, text=True, check=False
            )
        except subprocess.TimeoutExpired:
            return {"stopped_after": cap}
        if out.exists():
            found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
            return found
        if done.returncode < 0:
            return {"stopped_after": cap}
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}


def by_us(algorithm: str, table: Path, seed: int) -> dict[str, Any]:
    """What we find; seconds count from the table in memory, as pgmpy's do."""
    from dvae.bayesnet import Memetic, learn
    from dvae.strategies.latent_networks import LatentNetworks

    data, seconds_left = read(table), None
    chosen: Any = algorithm
    if algorithm.endswith("s") and algorithm.partition("-")[0] in ("memetic", "latent"):
        kind, _, limit = algorithm.removesuffix("s").partition("-")
        seconds_left = float(limit)
        chosen = Memetic(propose=LatentNetworks(seed=seed) if kind == "latent" else None)
    start, started = time.perf_counter(), time.process_time()
    found = learn(data, algorithm=chosen, seed=seed, seconds=seconds_left)
    seconds, processor = time.perf_counter() - start, time.process_time() - started
    edges = sorted(map(list, found.edges))
    answer = {"edges": edges, "seconds": seconds, "processor_seconds": processor, "algorithm": found.algorithm}
    if found.proposals:
        answer["proposals"] = {kind: list(counts) for kind, counts in found.proposals.items()}
    return answer


def read(table: Path) -> Any:
    """The table with all columns discrete; columns with one value are left out, as they are for pgmpy."""
    from dvae.bayesnet import Table

    header = table.read_text(encoding="utf-8").partition("\n")[0].strip().split(",")
    return Table.read(table, discrete=header)


def measured(edges: list[list[str]], table: Path, truth: Path) -> dict[str, Any]:
    """BIC on the table, and the distance between equivalence classes, columns of one value taken for isolated nodes."""
    from dvae.bayesnet import NetworkScores, structural_hamming_distance
    from dvae.dag import Dag

    data = read(table).discrete_data
    known = json.loads(truth.read_text(encoding="utf-8"))
    names = known["variables"]

    def dag(pairs: list[list[str]], over: list[str]) -> Dag:
        return Dag(tuple(over), tuple((over.index(source), over.index(target)) for source, target in pairs))

    score = NetworkScores(data).score("bic", dag(edges, list(data.names)))
    distance = structural_hamming_distance(dag(edges, names), dag(known["edges"], names))
    return {"bic": score, "shd": distance, "variables": len(data.names)}


def run(arguments: argparse.Namespace) -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    rows = read_lines(arguments.out)
    known = {key_of(row) for row in rows}
    for case in cases(arguments.contenders, arguments.seeds, arguments.networks, arguments.rows):
        if key_of(case) in known:
            continue
        table = arguments.data / f"{case['network']}-{case['rows']}.csv"
        truth = arguments.data / f"{case['network']}.json"
        if not table.exists():
            words = ["sample", case["network"], str(case["rows"]), str(DATA_SEED), str(arguments.data)]
            subprocess.run([arguments.pgmpy, str(HERE / "bn_learning_pgmpy.py"), *words], check=True)
        contender = case["contender"]
        if contender in PGMPY:
            found = by_pgmpy(arguments.pgmpy, contender.removeprefix("pgmpy-"), table, arguments.cap)
        else:
            found = by_us(contender, table, case["seed"])
        if "edges" in found:
            found |= measured(found["edges"], table, truth)
        row = {**case, **found, "data_seed": DATA_SEED, "date": datetime.date.today().isoformat()}
        row |= {"machine": f"{platform.machine()}, {os.cpu_count()} cores", "python": platform.python_version()}
        with arguments.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print({key: value for key, value in row.items() if key != "edges"}, file=sys.stderr)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def key_of(case: dict[str, Any]) -> tuple[Any, ...]:
    return case["network"], case["rows"], case["contender"], case["seed"]


def print_table(rows: list[dict[str, Any]]) -> None:
    """One line a case: scores, distances, and how many times our processor time pgmpy took."""
    print("| network, rows | BIC: `auto` (5 seeds: mean, worst) | hill climbing | pgmpy HC | pgmpy GES |", end="")
    print(" SHD: `auto` | hill climbing | pgmpy HC | pgmpy GES | seconds: `auto` | times pgmpy HC | times pgmpy GES |")
    print("|" + " --- |" * 12)
    best, best_mean, ratios = 0, 0, []
    for number in ROWS:
        for network in NETWORKS:
            mine = [row for row in rows if (row["network"], row["rows"]) == (network, number)]
            ours = [row for row in mine if row["contender"] == "auto"]
            if not ours:
                continue
            others = {row["contender"]: row for row in mine if row["contender"] in ("hill-climbing", *PGMPY)}
            mean = statistics.mean(row["bic"] for row in ours)
            rivals = [row["bic"] for row in others.values() if "bic" in row]
            best += all(min(row["bic"] for row in ours) >= bic - CLOSE for bic in rivals)
            best_mean += all(mean >= bic - CLOSE for bic in rivals)
            seconds = statistics.mean(row["processor_seconds"] for row in ours)
            cells = [f"{network}, {number:,}", f"{mean:.1f}, {min(row['bic'] for row in ours):.1f}"]
            names = ("hill-climbing", *PGMPY)
            cells += [bic_text(others.get(name)) for name in names]
            cells.append(f"{statistics.mean(row['shd'] for row in ours):.1f}")
            cells += [str(others.get(name, {}).get("shd", "")) for name in names]
            cells.append(f"{seconds:.2f}")
            for name in PGMPY:
                text, ratio = ratio_text(others.get(name), seconds)
                cells.append(text)
                ratios += [(name, ratio)] if ratio is not None else []
            print("| " + " | ".join(cells) + " |")
    print(f"\nAt least as good as every rival that ended, of {len(ROWS) * len(NETWORKS)} cases:", end=" ")
    print(f"the mean of the seeds in {best_mean}, the worst of them in {best}.")
    for name in PGMPY:
        found = [ratio for rival, ratio in ratios if rival == name]
        if found:
            print(
                f"{name}: {min(found):.0f} to {max(found):.0f} times our time, median {statistics.median(found):.0f}."
            )


def bic_text(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    return f"{row['bic']:.1f}" if "bic" in row else f"more than {row['stopped_after']:.0f} s"


def ratio_text(row: dict[str, Any] | None, seconds: float) -> tuple[str, float | None]:
    if row is None:
        return "", None
    if "processor_seconds" in row:
        return f"{row['processor_seconds'] / seconds:.0f}", row["processor_seconds"] / seconds
    return (
        (f"> {row['stopped_after'] / seconds:.0f}", row["stopped_after"] / seconds) if "bic" not in row else ("", None)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pgmpy", default=sys.executable, help="the python of an environment with pgmpy 1.1.2")
    parser.add_argument("--data", type=Path, default=Path("bn_learning_data"), help="where the sampled tables go")
    parser.add_argument("--cap", type=float, default=120, help="processor seconds that a rival may take for a case")
    parser.add_argument("--contenders", nargs="+", default=[*OURS, *PGMPY])
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS))
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--table", action="store_true", help="print the table of what was measured")
    arguments = parser.parse_args()
    if arguments.table:
        print_table(read_lines(arguments.out))
    else:
        run(arguments)


if __name__ == "__main__":
    main()
