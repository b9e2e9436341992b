"""What benchmarks/bn_learning.py asks of pgmpy 1.1.2, in an environment that has it.

    python benchmarks/bn_learning_pgmpy.py sample NETWORK ROWS SEED FOLDER
    python benchmarks/bn_learning_pgmpy.py learn hill-climbing|ges TABLE.csv FOUND.json

`sample` draws rows from a network that pgmpy ships, by our own forward sampling, so that the rows depend on nothing
but the network and the seed. `learn` writes the edges found and the seconds that the search alone took.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

warnings.filterwarnings("ignore")

import networkx as nx  # noqa: E402
import numpy as np  # noqa: E402


def bif_text(name: str) -> str:
    import pgmpy

    path = Path(pgmpy.__file__).parent / "utils" / "example_models" / f"{name}.bif.gz"
    return gzip.decompress(path.read_bytes()).decode("utf-8")


def sample(name: str, rows: int, seed: int, folder: Path) -> None:
    """Writes NAME-ROWS.csv and NAME.json, the true network."""
    from pgmpy.readwrite import BIFReader

    model = BIFReader(string=bif_text(name)).get_model()
    generator = np.random.Generator(np.random.PCG64([seed, rows]))
    codes: dict[str, Any] = {}
    graph = nx.DiGraph()
    graph.add_nodes_from(sorted(model.nodes()))
    graph.add_edges_from(model.edges())
    for node in nx.lexicographical_topological_sort(graph):
        codes[node] = drawn(model.get_cpds(node), codes, generator.random(rows))
    names = sorted(codes)
    states = {node: [str(state) for state in model.get_cpds(node).state_names[node]] for node in names}
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}-{rows}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(zip(*([states[node][code] for code in codes[node]] for node in names), strict=True))
    truth = {"variables": names, "edges": sorted(map(list, model.edges()))}
    (folder / f"{name}.json").write_text(json.dumps(truth, indent=1), encoding="utf-8")


def drawn(cpd: Any, codes: dict[str, Any], chance: Any) -> Any:
    """States of one variable given those of its parents."""
    shares = np.moveaxis(np.asarray(cpd.values, dtype=float), 0, -1)
    shares = shares[tuple(codes[parent] for parent in cpd.variables[1:])]
    limits = np.cumsum(shares, axis=-1)
    limits = limits / limits[..., -1:]
    return np.minimum((chance[:, None] >= limits).sum(-1), limits.shape[-1] - 1)


def learn(algorithm: str, table: Path, out: Path) -> None:
    import pandas as pd
    from pgmpy.causal_discovery import GES, HillClimbSearch

    frame = pd.read_csv(table, dtype=str, keep_default_na=False).astype("category")
    frame = frame[[name for name in frame.columns if frame[name].nunique() > 1]]
    if algorithm == "ges":
        search = GES(scoring_method="bic-d", return_type="dag")
    else:
        search = HillClimbSearch(scoring_method="bic-d", return_type="dag", show_progress=False)
    start, started = time.perf_counter(), time.process_time()
    search.fit(frame)
    seconds, processor = time.perf_counter() - start, time.process_time() - started
    edges = sorted(map(list, search.causal_graph_.edges()))
    found = {"edges": edges, "seconds": seconds, "processor_seconds": processor}
    out.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "sample":
        sample(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
    else:
        learn(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
