"""`dvae bn query`: what a network says of a variable, given others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, output
from dvae.cli.bn import inputs

if TYPE_CHECKING:
    from dvae.bayesnet import Belief

BAR = 24  # characters of a bar that stands for certainty


def query(
    network: inputs.NetworkFile,
    target: Annotated[
        list[str] | None, typer.Option("--target", "-t", metavar="NAME", help="What to ask for; all others by default.")
    ] = None,
    evidence: inputs.EvidenceOption = None,
    json: options.Json = False,
) -> None:
    """Ask a network: how likely is each value of a variable, given what is known of others? The answer is exact.

    Try: dvae bn query network.bif --evidence "smoke=yes" --target lung
    """
    from dvae.bayesnet import Inference, read_network

    read = read_network(network)
    known = inputs.read_evidence(read, evidence or [])
    inference = Inference(read, known)
    beliefs = {name: inference.belief(name) for name in dict.fromkeys(target)} if target else inference.beliefs()
    if json:
        answer = {name: inputs.plain_belief(belief) for name, belief in beliefs.items()}
        output.print_json({"evidence": known, "log_evidence": inference.log_evidence, "beliefs": answer})
        return
    for belief in beliefs.values():
        _print_belief(belief)
    if not beliefs:
        output.note("every variable is given as evidence")


def _print_belief(belief: Belief) -> None:
    from dvae.bayesnet import StateShares

    if not isinstance(belief, StateShares):
        output.print_table(
            [("mean", f"{belief.mean:.6g}"), ("deviation", f"{belief.deviation:.6g}")], title=belief.name
        )
        return
    rows = [
        (state, inputs.percent(share), "█" * round(BAR * share))
        for state, share in zip(belief.states, belief.probabilities.tolist(), strict=True)
    ]
    output.print_table(rows, title=belief.name)
