"""`dvae bn bootstrap`: how sure each edge is, and the network of those that are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, output
from dvae.cli.bn import tables

if TYPE_CHECKING:
    from dvae.bayesnet import Confidence, Knowledge, LearnOptions, Network, Table

MAX_SHOWN = 40


def bootstrap(
    table: tables.TableFile,
    out: Annotated[Path, typer.Option("--out", metavar="FILE.json", help="Where the confidence of all edges goes.")],
    replicates: Annotated[int, typer.Option("--replicates", "-n", min=1, help="How many resampled tables.")] = 200,
    network: Annotated[
        Path | None,
        typer.Option("--network", metavar="FILE.bif", help="Also write the averaged network, .bif or .json."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", min=0, max=1, help="Keep stronger edges; estimated from the data by default."),
    ] = None,
    draw: options.Draw = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Processes; one per core by default.")] = None,
    score: tables.Score = "auto",
    algorithm: tables.AlgorithmName = "hill-climbing",
    knowledge: tables.KnowledgeFile = None,
    iss: tables.Iss = None,
    prior: tables.Prior = 1.0,
    discrete: tables.Discrete = None,
    continuous: tables.Continuous = None,
    ignore: tables.Ignore = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Makes the answer repeatable.")] = 0,
    json: options.Json = False,
) -> None:
    """Learn networks from resampled tables: how many of them have each edge, and the network of the edges that last.

    A killed run goes on where it was when the same command is given again; the answer is the same.
    Try: dvae bn bootstrap table.csv --out edges.json --network averaged.bif --draw averaged.svg
    """
    from dvae.bayesnet import Table, averaged_network, write_network
    from dvae.bayesnet.network_file import WRITTEN_ENDINGS

    output.check_ending(out, (".json",), "the confidence of edges")
    output.check_ending(network, WRITTEN_ENDINGS, "a network")
    output.check_ending(draw, output.PICTURE_ENDINGS, "a picture")
    data = Table.read(table, discrete=discrete or (), continuous=continuous or (), ignore=ignore or ())
    learning = tables.learn_options(score, algorithm, knowledge, iss, seed)
    found = resampled(data, out, replicates, learning, workers)
    averaged = averaged_network(data, found, threshold, knowledge=learning.knowledge, prior=prior)
    if network is not None:
        write_network(network, averaged)
    if draw is not None:
        draw_sure(draw, averaged, found, learning.knowledge)
    if json:
        output.print_json(_plain(found, averaged, found.threshold if threshold is None else threshold))
        return
    limit = found.threshold if threshold is None else threshold
    print_confidence(found, averaged, f"kept, above {limit:.1%}")
    output.note(f"all {len(found.edges)} pairs in {out}" + (f", the averaged network in {network}" if network else ""))


def resampled(table: Table, out: Path, replicates: int, learning: LearnOptions, workers: int | None) -> Confidence:
    """The confidence of edges, written to a file; what an earlier run did is not done again."""
    from dvae.bayesnet import bootstrap as run
    from dvae.bayesnet import replicates_done, write_confidence
    from dvae.progress import progress_bar

    store = replicates_file(out)
    done = replicates_done(table, store, options=learning)
    if 0 < done < replicates:
        output.note(f"{store} holds {done:,} of {replicates:,} replicates; going on")
    processes = workers or os.cpu_count() or 1
    with progress_bar("Learning from resampled tables", replicates, "networks", enabled=True) as bar:
        found = run(table, replicates, options=learning, workers=processes, store=store, progress=bar)
    write_confidence(out, found)
    return found


def replicates_file(out: Path) -> Path:
    """Where the networks of a bootstrap are kept while it runs, beside its result."""
    return out.with_name(f"{out.name.removesuffix('.json')}.replicates.jsonl")


def draw_sure(picture: Path, network: Network, found: Confidence, knowledge: Knowledge | None = None) -> None:
    """Draws a network with edges as wide as they are sure."""
    from dvae.bayesnet import network_class
    from dvae.figures import NetworkEdge, save_network

    kind = network_class(network, knowledge)
    edges = [NetworkEdge(u, v, kind.mark(u, v) != "-", found.of(u, v)) for u, v in network.edges]
    numbers = [variable.name for variable in network.variables if not variable.is_discrete]
    save_network(picture, network.names, edges, continuous=numbers)
    output.note(f"drew {output.counted(len(edges), 'edge')} to {picture}")


def _plain(found: Confidence, averaged: Network, threshold: float) -> dict[str, object]:
    return {
        "networks": found.networks,
        "threshold": threshold,
        "averaged": [list(edge) for edge in averaged.edges],
        "edges": [
            {"first": edge.first, "second": edge.second, "strength": edge.strength, "forward": edge.forward}
            for edge in found.edges
        ],
    }


def print_confidence(found: Confidence, network: Network, label: str) -> None:
    """The strongest edges, and which of them a network has."""
    kept = set(network.edges)
    rows = []
    for edge in sorted(found.edges, key=lambda edge: -edge.strength)[:MAX_SHOWN]:
        turned = edge.forward < 0.5
        source, target = (edge.second, edge.first) if turned else (edge.first, edge.second)
        share = 1 - edge.forward if turned else edge.forward
        mark = "yes" if (source, target) in kept or (target, source) in kept else ""
        rows.append((source, target, f"{edge.strength:.1%}", f"{share:.1%}", mark))
    if rows:
        header = ("from", "to", "in networks", "this direction", label)
        output.print_table(rows, header=header)
    if len(found.edges) > MAX_SHOWN:
        output.note(f"the {MAX_SHOWN} strongest of {len(found.edges)} pairs that some network joins")
