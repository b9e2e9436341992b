"""The three data sets of large DAGs as JSONL files with splits; `large.py` measures on them.

    python benchmarks/large_data.py hls --out /tmp/layers/hls.jsonl.gz

- `hls`: high-level synthesis, its own split. Of its columns the bit widths stay; the others are constant or follow from
  the type.
- `na_edge`: NA-Edge, shuffled by a seed, 80/10/10.
- `tpu`: TPU tiles. Its validation part is trained on, a tenth of it, chosen by the seed, is validated on, and its test
  part is tested on. The run time is the property `runtime`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]
NAMES = ("hls", "na_edge", "tpu")
PROPERTIES = {"hls": "LUT", "na_edge": "cortex", "tpu": "runtime"}


def folder() -> Path:
    """Where the published files are."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("DVAE_DATA", default)) / "dags"


def rows_of(name: str, seed: int = 0) -> list[Row]:
    """The DAGs of a data set with `split`, as lines of JSONL."""
    if name == "tpu":
        return [*_tile("val", seed), *_tile("test", seed)]
    source = {"hls": "hls_dfg.jsonl.gz", "na_edge": "na_edge.jsonl.gz"}[name]
    with gzip.open(folder() / source, "rt") as file:
        rows = [json.loads(line) for line in file]
    if name == "hls":
        kept = ("types", "edges", "properties", "split")
        return [{key: row[key] for key in kept} | {"node": {"bitwidth": row["node"]["bitwidth"]}} for row in rows]
    random.Random(seed).shuffle(rows)
    tenth = len(rows) // 10
    parts = ["train"] * (len(rows) - 2 * tenth) + ["valid"] * tenth + ["test"] * tenth
    return [{**row, "split": part} for row, part in zip(rows, parts, strict=True)]


def _tile(part: str, seed: int) -> Iterator[Row]:
    arrays = np.load(folder() / "tpu_tile_val_test.npz", allow_pickle=False)
    sizes, edges = arrays[f"{part}_n_nodes"].tolist(), arrays[f"{part}_n_edges"].tolist()
    types, source, target = (arrays[f"{part}_{name}"].tolist() for name in ("types", "src", "dst"))
    times = arrays[f"{part}_y"].tolist()
    held_out = set(random.Random(seed).sample(range(len(sizes)), len(sizes) // 10))
    node = edge = 0
    for number, (nodes, wires) in enumerate(zip(sizes, edges, strict=True)):
        ends = zip(source[edge : edge + wires], target[edge : edge + wires], strict=True)
        yield {
            "types": [str(kind) for kind in types[node : node + nodes]],
            "edges": sorted({(one, other) for one, other in ends}),
            "properties": {PROPERTIES["tpu"]: times[number]},
            "split": "test" if part == "test" else "valid" if number in held_out else "train",
        }
        node, edge = node + nodes, edge + wires


def write(
    name: str, path: Path, *, seed: int = 0, limit: int | None = None, max_nodes: int | None = None, types: bool = False
) -> None:  # fmt: skip
    """Writes the data set; `limit` keeps the first so many DAGs of each part, `max_nodes` drops larger ones.

    With `types`, of a DAG nothing but types, edges and split.
    """
    kept: dict[str, int] = {}
    with gzip.open(path, "wt") as file:
        for row in rows_of(name, seed):
            part = row["split"]
            if max_nodes is not None and len(row["types"]) > max_nodes:
                continue
            if limit is None or kept.get(part, 0) < limit:
                kept[part] = kept.get(part, 0) + 1
                plain = {key: row[key] for key in ("types", "edges", "split")}
                file.write(json.dumps(plain if types else row) + "\n")


def main() -> None:
    """Writes one data set."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("name", choices=NAMES)
    words.add_argument("--out", type=Path, required=True)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--limit", type=int, help="DAGs of each part")
    words.add_argument("--max-nodes", type=int, help="leave larger DAGs out")
    words.add_argument("--types", action="store_true", help="leave columns and properties out")
    options = words.parse_args()
    write(
        options.name, options.out, seed=options.seed, limit=options.limit, max_nodes=options.max_nodes,
        types=options.types,
    )  # fmt: skip


if __name__ == "__main__":
    main()
