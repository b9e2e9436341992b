"""What the commands of Bayesian networks read: networks, tables, knowledge, and how sure edges are."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from dvae.bayesnet import (
    Knowledge,
    LearnOptions,
    Table,
    bootstrap,
    learn,
    read_confidence,
    read_network,
    write_confidence,
    write_network,
)
from dvae.bayesnet import fit as fitted
from dvae.bayesnet.bootstrapping import replicates_done
from dvae.bayesnet.network import Network
from dvae.bayesnet.rows import states_of
from fuzz.mutations import changed_gzip, changed_json, changed_json_lines, changed_lines, changed_toml
from fuzz.target import Target

ROWS = b"a,b,c,d\n" + b"".join(
    b"%s,%s,%d,%.1f\n" % (b"xy"[n % 2 :][:1], b"uv"[n % 3 % 2 :][:1], n % 3, n * n / 7) for n in range(24)
)
KNOWLEDGE = (
    b'required = [["a", "b"]]\nforbidden = [["c", "a"]]\ntiers = [["a"], ["b", "c"]]\nmax_parents = 2\n',
    b'start = [["a", "b"]]\nmax_parents = 0\n',
)


def targets(folder: Path) -> list[Target]:
    words = {name: list("xyxyyxxy" if name == "a" else "uvuuvvuv") for name in ("a", "b")}
    table = Table.of(words)
    network = fitted(Network.of(learn(table).dag, states_of(table), table.names), table)
    (folder / "rows.csv").write_bytes(ROWS)
    mixed = Table.read(folder / "rows.csv")
    gaussian = fitted(Network.of(learn(mixed).dag, states_of(mixed), mixed.names), mixed)
    for name, each in (("n.bif", network), ("n.json", network), ("g.json", gaussian)):
        write_network(folder / name, each)
    confidence = bootstrap(table, 3, store=folder / "r.replicates.jsonl")
    write_confidence(folder / "e.json", confidence)

    def made(name: str) -> bytes:
        return (folder / name).read_bytes()

    def replicates(at: Path) -> Any:
        return replicates_done(table, at / "x.jsonl", options=LearnOptions())

    plain = (made("n.json"), made("g.json"))
    return [
        Target("network-bif", "x.bif", lambda at: read_network(at / "x.bif"), (made("n.bif"),), changed_lines, share=2),
        Target("network-json", "x.json", lambda at: read_network(at / "x.json"), plain, changed_json, share=2),
        Target("confidence", "x.json", lambda at: read_confidence(at / "x.json"), (made("e.json"),), changed_json),
        Target("replicates", "x.jsonl", replicates, (made("r.replicates.jsonl"),), changed_json_lines),
        Target("knowledge", "x.toml", lambda at: Knowledge.read(at / "x.toml"), KNOWLEDGE, changed_toml),
        Target("columns", "x.csv", lambda at: Table.read(at / "x.csv"), (ROWS,), changed_lines, share=2),
        Target(
            "columns-gzip", "x.csv.gz", lambda at: Table.read(at / "x.csv.gz"), (gzip.compress(ROWS),), changed_gzip
        ),
    ]
