"""Bayesian networks as files for other programs: BIF with probabilities, and source for pgmpy."""

from __future__ import annotations

from itertools import product

from dvae.bayesnet.bif_words import NAME, STATES, property_line, words_of
from dvae.bayesnet.discrete import DiscreteData
from dvae.bayesnet.network import Floats, Network, ProbabilityTable, Variable
from dvae.bayesnet.parameters import PRIOR_COUNT, fit, states_of
from dvae.dag import Dag
from dvae.errors import TaskError

MAX_ROWS = 100_000  # of one probability table
EXPORT_DIGITS = 8


def pgmpy_source(dag: Dag) -> str:
    """Python source that makes the network's structure, ready to be fitted."""
    edges = [(str(dag.types[source]), str(dag.types[target])) for source, target in dag.edges]
    lines = [
        '"""A Bayesian network found by dvae: its structure. `network.fit(table)` learns its probabilities."""',
        "",
        "from pgmpy.models import DiscreteBayesianNetwork",
        "",
        "network = DiscreteBayesianNetwork()",
        f"network.add_nodes_from({list(map(str, dag.types))!r})",
        f"network.add_edges_from({edges!r})",
    ]
    return "\n".join(lines) + "\n"


def to_bif(dag: Dag, data: DiscreteData, name: str) -> str:
    """The network with probabilities from a table, in the interchange format that pgmpy and bnlearn read."""
    network = fit(Network.of(dag, states_of(data)), data, prior=PRIOR_COUNT)
    return bif_text(network, name, digits=EXPORT_DIGITS)


def bif_text(network: Network, name: str = "network", *, digits: int | None = None) -> str:
    """A discrete network in the interchange format; without `digits`, its numbers come back exactly."""
    continuous = [variable.name for variable in network.variables if not variable.is_discrete]
    if continuous:
        raise TaskError(f"BIF has no continuous variables, such as {continuous[0]!r}; write the network as .json")
    network.need_parameters()
    words = words_of(network.names)
    state_words = {variable.name: words_of(variable.states or ()) for variable in network.variables}
    lines = [f"network {words_of([name])[name]} {{", "}"]
    for variable in network.variables:
        lines += _variable(variable, words[variable.name], state_words[variable.name])
    for variable in network.variables:
        lines += _probabilities(network, variable, words, state_words, digits)
    return "\n".join(lines) + "\n"


def _variable(variable: Variable, word: str, state_words: dict[str, str]) -> list[str]:
    lines = [f"variable {word} {{", f"  type discrete [ {len(state_words)} ] {{ {', '.join(state_words.values())} }};"]
    if word != variable.name:
        lines.append(property_line(NAME, variable.name))
    if any(name != each for name, each in state_words.items()):
        lines.append(property_line(STATES, variable.states or ()))
    return [*lines, "}"]


def _probabilities(
    network: Network,
    variable: Variable,
    words: dict[str, str],
    state_words: dict[str, dict[str, str]],
    digits: int | None,
) -> list[str]:
    assert isinstance(variable.parameters, ProbabilityTable)
    shares = variable.parameters.probabilities
    if not variable.parents:
        return [f"probability ( {words[variable.name]} ) {{", f"  table {_numbers(shares, digits)};", "}"]
    if shares[..., 0].size > MAX_ROWS:
        raise TaskError(f"{variable.name!r} has too many combinations of parents to write them all down")
    lines = [f"probability ( {words[variable.name]} | {', '.join(words[each] for each in variable.parents)} ) {{"]
    states = [[state_words[parent][state] for state in network[parent].states or ()] for parent in variable.parents]
    for given, row in zip(product(*states), shares.reshape(-1, shares.shape[-1]), strict=True):
        lines.append(f"  ({', '.join(given)}) {_numbers(row, digits)};")
    return [*lines, "}"]


def _numbers(shares: Floats, digits: int | None) -> str:
    return ", ".join(repr(share) if digits is None else f"{share:.{digits}g}" for share in shares.tolist())
