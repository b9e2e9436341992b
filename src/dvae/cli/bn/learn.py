"""`dvae bn learn`: the network behind a table."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, output
from dvae.cli.bn import tables
from dvae.cli.bn.bootstrap import draw_sure, print_confidence, resampled
from dvae.errors import ConfigError

if TYPE_CHECKING:
    from dvae.bayesnet import Confidence, Knowledge, Learned, Network, Table
    from dvae.bayesnet.search import Algorithm

LATENT = "latent"
BOOTSTRAP_ALGORITHM = "hill-climbing"  # of the resampled tables: many networks, each good enough


def learn(
    table: tables.TableFile,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Where the network goes, .bif or (also for continuous columns) .json; drawing and report lie beside.",
        ),
    ] = None,
    score: tables.Score = "auto",
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm",
            help="exact (to 20 variables), hill-climbing, tabu, memetic, or latent: memetic, with networks proposed "
            "by a latent space. auto takes exact to 12 variables, then memetic.",
        ),
    ] = "auto",
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0.001, help="Search for so long (memetic, latent), or at most.")
    ] = None,
    knowledge: tables.KnowledgeFile = None,
    require: Annotated[
        list[str] | None, typer.Option("--require", metavar="'A -> B'", help="An edge that must be; repeatable.")
    ] = None,
    forbid: Annotated[
        list[str] | None, typer.Option("--forbid", metavar="'A -> B'", help="An edge that must not be; repeatable.")
    ] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option("--tier", metavar="A,B,...", help="Variables into which no later tier points; in their order."),
    ] = None,
    max_parents: Annotated[int | None, typer.Option("--max-parents", min=0, help="Most parents of a variable.")] = None,
    start: Annotated[
        Path | None, typer.Option("--start", metavar="NETWORK", help="Start from the edges of a .bif or .json network.")
    ] = None,
    iss: tables.Iss = None,
    prior: tables.Prior = 1.0,
    discrete: tables.Discrete = None,
    continuous: tables.Continuous = None,
    ignore: tables.Ignore = None,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            "--bootstrap",
            min=1,
            metavar="N",
            help="Also learn from N resampled tables, for the confidence of every edge; needs --out.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes of --bootstrap; one per core by default.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Makes the answer repeatable.")] = 0,
    json: options.Json = False,
) -> None:
    """Learn a Bayesian network from a table: structure, parameters, a drawing and a report.

    Try: dvae bn learn table.csv --out network.bif
    """
    from dvae.bayesnet import LearnOptions, Table, edge_strengths, write_network
    from dvae.bayesnet import learn as run
    from dvae.bayesnet.families import data_kind
    from dvae.bayesnet.learning import check_learning
    from dvae.bayesnet.network_file import WRITTEN_ENDINGS
    from dvae.progress import progress_bar

    output.check_ending(out, WRITTEN_ENDINGS, "a network")
    if bootstrap is not None and out is None:
        raise ConfigError("--bootstrap keeps its replicates beside the network: say where with --out")
    known = _knowledge(knowledge, require, forbid, tier, max_parents, start)
    data = Table.read(table, discrete=discrete or (), continuous=continuous or (), ignore=ignore or ())
    if out is not None and out.suffix.lower() == ".bif" and data_kind(data) != "discrete":
        name = next(column.name for column in data.columns if not column.is_discrete)
        raise ConfigError(f"{out}: BIF has no continuous variables, and {name!r} is one; write to a .json file")
    chosen = _algorithm(algorithm, seed)
    check_learning(data, score, chosen, known)
    if not json:
        _print_columns(data)
    _announce(data, algorithm)
    with progress_bar("Learning the network", None, "rounds") as bar:
        seconds = None if minutes is None else 60 * minutes
        found = run(
            data, score=score, algorithm=chosen, knowledge=known, seed=seed, seconds=seconds, iss=iss, progress=bar
        )
    network = _fitted(data, found, prior)
    strengths = edge_strengths(found.completed or data, network, found.score_name, iss)
    written = []
    if out is not None:
        from dvae.reports.network_page import draw_network_file, write_network_page

        written = [out, out.with_suffix(".svg"), out.with_suffix(".html")]
        write_network(out, network)
        draw_network_file(written[1], network, known)
        write_network_page(written[2], table.name, data, found, network, strengths, known)
    sure = None
    if bootstrap is not None and out is not None:
        edges_file = out.with_suffix(".edges.json")
        learning = LearnOptions(score, BOOTSTRAP_ALGORITHM, known, iss, seed)
        sure = resampled(data, edges_file, bootstrap, learning, workers)
        draw_sure(out.with_suffix(".svg"), network, sure, known)
        written.append(edges_file)
    if json:
        output.print_json(_plain(data, network, found, strengths, written, known, sure))
        return
    _print_network(network, found, strengths, known)
    if sure is not None:
        print_confidence(sure, network, "in this network")
    if out is not None:
        output.note(f"wrote {', '.join(map(str, written))}")
    if out is not None and sure is None:
        words = shlex.join(["dvae", "bn", "bootstrap", str(table), "--out", str(out.with_suffix(".edges.json"))])
        output.note(f"What to try next:  {words}")


def _knowledge(
    file: Path | None,
    require: list[str] | None,
    forbid: list[str] | None,
    tiers: list[str] | None,
    max_parents: int | None,
    start: Path | None,
) -> Knowledge:
    from dvae.bayesnet import Knowledge, read_network
    from dvae.bayesnet.knowledge import parse_edge
    from dvae.bayesnet.tables import parse_order

    given = Knowledge(
        required=tuple(map(parse_edge, require or ())),
        forbidden=tuple(map(parse_edge, forbid or ())),
        tiers=tuple(map(parse_order, tiers or ())),
        max_parents=max_parents,
        start=None if start is None else read_network(start).edges,
    )
    return given if file is None else Knowledge.read(file).merged(given)


def _algorithm(name: str, seed: int) -> str | Algorithm:
    if name != LATENT:
        return name
    from dvae.bayesnet import Memetic
    from dvae.strategies.latent_networks import LatentNetworks

    return Memetic(propose=LatentNetworks(seed=seed))


def _announce(table: Table, algorithm: str) -> None:
    """Says what the exact algorithm will need before it takes it."""
    from dvae.bayesnet.algorithms import exact_memory

    size = len(table.columns)
    if algorithm == "exact":
        output.note(f"the exact algorithm needs about {exact_memory(size) / 2**20:,.1f} MiB for {size} variables")


def _fitted(table: Table, found: Learned, prior: float) -> Network:
    from dvae.bayesnet import Network, fit
    from dvae.bayesnet.rows import states_of

    return fit(Network.of(found.dag, states_of(table), table.names), found.completed or table, prior=prior)


def _print_columns(table: Table) -> None:
    from dvae.reports.network_page import column_rows, missing_sentence

    title = f"{output.counted(len(table.columns), 'variable')}, {output.counted(table.num_rows, 'row')}"
    output.print_table(column_rows(table), title=title, header=("column", "taken for", "why", "missing"))
    if table.num_missing:
        output.note(missing_sentence(table))


def _print_network(network: Network, found: Learned, strengths: dict[tuple[str, str], float], known: Knowledge) -> None:
    from dvae.bayesnet import network_class

    kind = network_class(network, known)
    edges = sorted(found.edges, key=lambda edge: -strengths[edge])
    rows = [
        (source, "--" if kind.mark(source, target) == "-" else "->", target, f"{strengths[source, target]:.2f}")
        for source, target in edges
    ]
    title = (
        f"{output.counted(len(edges), 'edge')}, {found.score_name} {found.score:.4f}, "
        f"by {found.algorithm} in {found.seconds:.1f} s"
    )
    if not rows:
        print(f"{title}: no variable tells anything about another")
        return
    output.print_table(rows, title=title, header=("from", "", "to", "score lost without it"))


def _plain(
    table: Table,
    network: Network,
    found: Learned,
    strengths: dict[tuple[str, str], float],
    written: list[Path],
    known: Knowledge,
    sure: Confidence | None,
) -> dict[str, object]:
    from dvae.bayesnet import network_class

    kind = network_class(network, known)
    confidence = {} if sure is None else {"confidence": [[u, v, sure.of(u, v)] for u, v in network.edges]}
    return {
        **confidence,
        "columns": [
            {"name": column.name, "kind": column.kind, "why": column.why, "missing": column.num_missing}
            for column in (*table.columns, *table.left_out)
        ],
        "rows": table.num_rows,
        "variables": list(found.variables),
        "edges": [
            {"from": source, "to": target, "directed": kind.mark(source, target) != "-", "strength": loss}
            for (source, target), loss in strengths.items()
        ],
        "score": found.score,
        "score_name": found.score_name,
        "algorithm": found.algorithm,
        "seconds": found.seconds,
        "evaluations": found.evaluations,
        "proposals": {name: list(counts) for name, counts in found.proposals.items()},
        "files": [str(path) for path in written],
    }
