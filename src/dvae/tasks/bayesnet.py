"""Bayesian networks over named variables (paper, sections 4 and I).

A user's DAG holds the variables only, each once, in any topological order. The model's holds a virtual start that
feeds the variables without parents and a virtual end fed by those without children. A network's score is its BIC on
a table of data, where the task has one.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from dvae.bayesnet.discrete import DiscreteData
from dvae.bayesnet.hill_climbing import hill_climb
from dvae.bayesnet.scores import MOST_TABULATED, NetworkScores, ScoreName
from dvae.bayesnet.structure import checked_order, exact_optimum
from dvae.bayesnet.tables import (
    ASIA_VARIABLES,
    BNLEARN,
    EMBEDDED,
    PREFIX,
    absolute_table,
    load_table,
    split_order,
    table_of,
    with_order,
)
from dvae.dag import Dag, DagBatch
from dvae.errors import MissingError, TaskError
from dvae.tasks.base import ModelHints, Task, packed_rows
from dvae.tasks.ends import add_virtual_ends, drop_virtual_ends
from dvae.tasks.rules import EachOnceRules
from dvae.tasks.vocabulary import END_INDEX, START_INDEX, Vocabulary

__all__ = ["ASIA_VARIABLES", "BayesNetTask", "estimated_order", "network_task"]

ORDER_RESTARTS = 10  # of the hill climbing that estimates an order

log = logging.getLogger("dvae")


class BayesNetTask(Task):
    """Networks over `variables`, whose order is the known topological order of the sampler.

    `table` names the data that networks are scored on (`dvae.bayesnet.tables`); they are `data` or, without, read when
    first needed, so that a task whose table is gone can do everything else.
    """

    score_name: ScoreName = "bic"
    predictivity_limit = 5000  # paper, appendix "SGP Training Details"

    hints = ModelHints(
        aggregation="gated-sum-types",
        readout="sum",
        edge_context=True,
        graph_state="sum",
        gcn_rounds=2,
        batch_size=128,
        epochs=100,
    )
    rules = EachOnceRules()

    def __init__(
        self, name: str, variables: Sequence[str], table: str | None = None, *, data: DiscreteData | None = None
    ) -> None:
        if len(variables) < 2:
            raise TaskError("a Bayesian network needs at least two variables")
        self.name = name
        self.table = table
        self._data = data
        self.variables = tuple(variables)
        self.vocabulary = Vocabulary.with_virtual_ends(self.variables)
        self.max_nodes = len(self.variables) + 2

    @property
    def full_name(self) -> str:
        known = self.table is None or (self.table in (EMBEDDED, BNLEARN) and self.variables == ASIA_VARIABLES)
        return self.name if known else with_order(self.name, self.variables)

    def spec(self) -> dict[str, Any]:
        return {"kind": "bayesnet", "name": self.name, "variables": list(self.variables), "table": self.table}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> BayesNetTask:
        name = str(spec["name"])
        table = spec["table"] if "table" in spec else table_of(name)  # runs before there were tables
        return cls(name, [str(variable) for variable in spec["variables"]], None if table is None else str(table))

    @property
    def has_scores(self) -> bool:
        """Whether there are, or were, data to score networks on."""
        return self._data is not None or self.table is not None

    @property
    def can_score(self) -> bool:
        return self.has_scores

    def known_optimum(self) -> float | None:
        """By dynamic programming over all networks, where there are few enough variables."""
        if not self.has_scores or len(self.variables) > MOST_TABULATED:
            return None
        return exact_optimum(self.network_scores, name=self.score_name).score

    @cached_property
    def network_scores(self) -> NetworkScores:
        """The scores of networks on the task's table."""
        if not self.has_scores:
            raise TaskError(
                f"{self.name} has no data to score networks on; bn:FILE.csv is a task that has, or give the scores "
                "with the DAGs"
            )
        try:
            data = load_table(self.table or "") if self._data is None else self._data
        except MissingError as error:
            raise MissingError(f"{self.name} cannot score networks without its data: {error}") from None
        try:
            checked_order(self.variables, data.names)
        except TaskError as error:
            raise TaskError(f"{self.name} was made for a table with other columns: {error}") from None
        return NetworkScores(data)

    def scores(self, dags: Sequence[Dag]) -> list[float]:
        """The BIC of each network on the task's data."""
        found: list[float] = self.network_scores.score_many(self.score_name, dags).tolist()
        return found

    def wrap(self, dag: Dag) -> Dag:
        return add_virtual_ends(dag, self.vocabulary)

    def unwrap(self, dag: Dag) -> Dag:
        return drop_virtual_ends(dag, self.vocabulary)

    def valid(self, batch: DagBatch) -> Tensor:
        """Three checks of the paper (F.1): as many nodes as variables, every variable once, acyclic."""
        mask = batch.node_mask()
        counts = torch.zeros(len(batch), self.num_types, dtype=torch.int64, device=batch.device)
        counts.scatter_add_(1, batch.types, mask.to(torch.int64))
        last = batch.types.gather(1, (batch.num_nodes - 1).clamp(min=0)[:, None])[:, 0]
        framed = (batch.types[:, 0] == START_INDEX) & (last == END_INDEX)
        return (counts == 1).all(1) & framed

    def keys(self, batch: DagBatch) -> list[Hashable]:
        """Valid networks by their parent sets; anything else by what it is, tensor by tensor."""
        valid = self.valid(batch)
        order = batch.types.argsort(dim=1, stable=True)  # node of every type, where valid
        by_type = batch.adjacency.gather(1, order[:, :, None].expand_as(batch.adjacency))
        by_type = by_type.gather(2, order[:, None, :].expand_as(batch.adjacency))
        parents = torch.zeros_like(batch.adjacency)
        parents[:, 2:, 2:] = by_type[:, 2:, 2:]  # edges of the virtual nodes follow from the others
        adjacency = torch.where(valid[:, None, None], parents, batch.adjacency)
        types = torch.where(valid[:, None], torch.zeros_like(batch.types), batch.types)
        num_nodes = torch.where(valid, torch.zeros_like(batch.num_nodes), batch.num_nodes)
        return packed_rows(num_nodes[:, None], types, adjacency)

    def sample_batch(self, count: int, seed: int) -> DagBatch:
        """Random networks in the given order: every edge with probability 2 / (k - 1), as bnlearn's sampler."""
        size, nodes = len(self.variables), self.max_nodes
        generator = torch.Generator().manual_seed(seed)
        edges = (torch.rand(count, size, size, generator=generator) < 2 / (size - 1)).triu(1)
        types = torch.cat([torch.tensor([START_INDEX]), torch.arange(2, nodes), torch.tensor([END_INDEX])])
        adjacency = torch.zeros(count, nodes, nodes, dtype=torch.bool)
        adjacency[:, 1:-1, 1:-1] = edges
        adjacency[:, 0, 1:-1] = ~edges.any(1)
        adjacency[:, 1:-1, -1] = ~edges.any(2)
        return DagBatch(types.expand(count, -1).contiguous(), adjacency, torch.full((count,), nodes))


def network_task(name: str, order: Sequence[str] | None = None) -> BayesNetTask | None:
    """The task of Bayesian networks called `name`, if it is one; `order` is that of its variables.

    The order of a table's variables is estimated where none is given.
    """
    name, named_order = split_order(name)
    order = named_order if order is None else order
    table = table_of(name)
    if table is None:
        variables = [variable.strip() for variable in name.removeprefix(PREFIX).split(",")]
        if not name.startswith(PREFIX) or not all(variables):
            return None
        if order is None:
            return BayesNetTask(name, variables)
        return BayesNetTask(PREFIX + ",".join(order), checked_order(order, variables))
    data = load_table(table)
    if order is not None:
        chosen = checked_order(order, data.names)
    elif table in (EMBEDDED, BNLEARN):
        chosen = checked_order(ASIA_VARIABLES, data.names)
    else:
        chosen = estimated_order(data)
        log.warning("%s: no order of the variables was given; hill climbing's is used: %s", name, ",".join(chosen))
    try:
        return BayesNetTask(name, chosen, absolute_table(table), data=data)
    except TaskError as error:  # a column has the name of a virtual node
        raise TaskError(f"{table}: {error}") from None


def estimated_order(data: DiscreteData) -> tuple[str, ...]:
    """A topological order of the network that hill climbing finds."""
    found = hill_climb(NetworkScores(data), ORDER_RESTARTS, seed=0)
    return tuple(str(label) for label in found.dag.types)
