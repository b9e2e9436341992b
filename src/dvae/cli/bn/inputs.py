"""What the commands about a network share: the file, evidence from the command line, beliefs as text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dvae.errors import TaskError

if TYPE_CHECKING:
    from dvae.bayesnet import Belief, Network

NetworkFile = Annotated[
    Path, typer.Argument(metavar="NETWORK", help="A .bif, .bif.gz or .json file, of `dvae bn learn` or anyone's.")
]
EvidenceOption = Annotated[
    list[str] | None,
    typer.Option("--evidence", "-e", metavar="NAME=VALUE", help="What is known; may be repeated."),
]


def read_evidence(network: Network, given: Iterable[str]) -> dict[str, str | float]:
    """`NAME=VALUE` as names and values; a name, or a value, may hold an equals sign itself."""
    evidence: dict[str, str | float] = {}
    for text in given:
        if "=" not in text:
            raise TaskError(f"the evidence {text!r} is not of the form NAME=VALUE")
        cuts = [place for place, character in enumerate(text) if character == "="]
        cut = next((place for place in cuts if text[:place].strip() in network), cuts[0])
        name, value = text[:cut].strip(), text[cut + 1 :].strip()
        if name in evidence:
            raise TaskError(f"the evidence names {name!r} twice")
        network[name]
        evidence[name] = value
    return evidence


def plain_belief(belief: Belief) -> dict[str, Any]:
    """A belief as a JSON value."""
    from dvae.bayesnet import StateShares

    if isinstance(belief, StateShares):
        return dict(zip(belief.states, belief.probabilities.tolist(), strict=True))
    return {"mean": belief.mean, "standard_deviation": belief.deviation}


def percent(share: float) -> str:
    """A probability that is never rounded up to all or down to nothing."""
    text = f"{share:.2%}"
    if text == "100.00%" and share < 1 - 1e-12:
        return ">99.99%"
    return "<0.01%" if text == "0.00%" and share > 0 else text
