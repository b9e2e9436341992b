"""Structure learning on the networks that pgmpy ships: ours, plain hill climbing, and pgmpy's own.

    python benchmarks/bn_learning.py OUT.jsonl --pgmpy VENV/bin/python --data FOLDER --cap 120

Every row of the file is one case: a network, a number of rows, a contender and a seed, with its BIC, the structural
Hamming distance of its equivalence class from the true one, wall and processor seconds. Cases that are there already
are not measured again, so a run can be killed and goes on. Each contender runs on one core; what passes the cap, in
processor seconds, is recorded as a bound. `--table OUT.jsonl` prints what docs/results/bayesnet.md shows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NETWORKS = ("asia", "sachs", "child", "insurance", "alarm", "barley", "hailfinder", "hepar2", "win95pts")
ROWS = (1_000, 10_000)
DATA_SEED = 0
PGMPY = ("pgmpy-hill-climbing", "pgmpy-ges")
HERE = Path(__file__).parent
WALL_LIMIT = 5  # times the cap, on a machine that others use too


def cases(contenders: list[str], seeds: int) -> Iterator[dict[str, Any]]:
    for contender in contenders:
        for rows in ROWS:
            for network in NETWORKS:
                for seed in range(1 if contender in ONE_SEED else seeds):
                    yield {"network": network, "rows": rows, "contender": contender, "seed": seed}


ONE_SEED = (*PGMPY, "hill-climbing")


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
            return {"stopped_after_processor_seconds": None, "cap": cap}
        if out.exists():
            found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
            return found
        if done.returncode < 0:
            return {"stopped_after_processor_seconds": cap, "cap": cap}
        return {"failed": done.stderr.strip().splitlines()[-1:], "cap": cap}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--pgmpy", required=True, help="the python of an environment with pgmpy 1.1.2")
    parser.add_argument("--data", type=Path, required=True, help="where the sampled tables go")
    parser.add_argument("--cap", type=float, default=120)
    parser.add_argument("--contenders", nargs="+", default=list(PGMPY))
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    lines = arguments.out.read_text(encoding="utf-8").splitlines() if arguments.out.exists() else []
    known = {key_of(json.loads(line)) for line in lines}
    for case in cases(arguments.contenders, arguments.seeds):
        if key_of(case) in known:
            continue
        table = arguments.data / f"{case['network']}-{case['rows']}.csv"
        found = by_pgmpy(arguments.pgmpy, case["contender"].removeprefix("pgmpy-"), table, arguments.cap)
        with arguments.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**case, **found}) + "\n")


def key_of(case: dict[str, Any]) -> tuple[Any, ...]:
    return case["network"], case["rows"], case["contender"], case["seed"]


if __name__ == "__main__":
    main()
