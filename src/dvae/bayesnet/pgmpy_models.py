"""Discrete networks to pgmpy and back, where pgmpy is installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvae.bayesnet.network import Network, ProbabilityTable, Variable
from dvae.errors import TaskError
from dvae.extras import missing


def to_pgmpy(network: Network) -> Any:
    """A `pgmpy.models.DiscreteBayesianNetwork` with the same tables."""
    try:
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.models import DiscreteBayesianNetwork
    except ImportError:
        raise missing("pgmpy", "pgmpy", "a pgmpy model") from None
    if not network.is_discrete:
        raise TaskError("only discrete networks become pgmpy models; this one has continuous variables")
    model = DiscreteBayesianNetwork()
    model.add_nodes_from(network.names)
    model.add_edges_from(network.edges)
    for variable in network.variables:
        if isinstance(variable.parameters, ProbabilityTable):
            model.add_cpds(_cpd(TabularCPD, network, variable, variable.parameters))
    return model


def from_pgmpy(model: Any) -> Network:
    """The network of a pgmpy model whose nodes have tables; names and states become text."""
    variables = []
    for node in model.nodes():
        cpd = model.get_cpds(node)
        if cpd is None:
            raise TaskError(f"the pgmpy model has no table for {node!r}; fit it or add its CPDs first")
        parents = list(cpd.variables[1:])
        states = tuple(str(state) for state in cpd.state_names[node])
        probabilities = np.moveaxis(np.asarray(cpd.values, dtype=np.float64), 0, -1)
        for place, parent in enumerate(parents):  # a table may list its parents' states in an order of its own
            wanted = [str(state) for state in model.get_cpds(parent).state_names[parent]]
            listed = [str(state) for state in cpd.state_names[parent]]
            probabilities = np.take(probabilities, [listed.index(state) for state in wanted], axis=place)
        variables.append(Variable(str(node), states, tuple(map(str, parents)), ProbabilityTable(probabilities)))
    return Network(tuple(variables))


def _cpd(make: Any, network: Network, variable: Variable, table: ProbabilityTable) -> Any:
    shares = table.probabilities
    columns = np.moveaxis(shares / shares.sum(-1, keepdims=True), -1, 0).reshape(shares.shape[-1], -1)
    names = (variable.name, *variable.parents)
    return make(
        variable.name,
        shares.shape[-1],
        columns,
        evidence=list(variable.parents) or None,
        evidence_card=list(shares.shape[:-1]) or None,
        state_names={name: list(network[name].states or ()) for name in names},
    )
