"""Bayesian networks over named variables (paper, sections 4 and I).

A user's DAG holds the variables only, each once, in any topological order. The model's holds a virtual start that
feeds the variables without parents and a virtual end fed by those without children. A network's score is its BIC on
a table of data, where the task has one.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from dvae.bayesnet.bif import pgmpy_source, to_bif
from dvae.bayesnet.discrete import DiscreteData
from dvae.bayesnet.hill_climbing import hill_climb
from dvae.bayesnet.knowledge import Knowledge
from dvae.bayesnet.scores import MAX_TABULATED, NetworkScores, ScoreName
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
from dvae.dag import Dag, DagBatch, DagSet, Dataset, ScoredDag, load_dags, read_bayesnet, to_modelstring
from dvae.dag.original import parse_bayesnet
from dvae.errors import DagError, MissingError, TaskError
from dvae.tasks.base import ExportFormat, Look, ModelHints, Task, packed_rows
from dvae.tasks.ends import add_virtual_ends, drop_virtual_ends
from dvae.tasks.network_rules import NetworkRules
from dvae.tasks.rules import DecodingRules, EachOnceRules, GrowthRules
from dvae.tasks.vocabulary import END_INDEX, START_INDEX, Vocabulary

__all__ = ["ASIA_VARIABLES", "BayesNetTask", "estimated_order", "network_task"]

DEFAULT_SIZE = 200_000  # paper, appendix I
PREDICTIVITY_LIMIT = 5_000  # paper, appendix "SGP Training Details"
SHORT_NAME = 4  # characters up to which the names of variables fit into a circle
VIRTUAL = END_INDEX + 1  # types before those of variables
ORDER_RESTARTS = 10  # of the hill climbing that estimates an order

FeatureKind = Literal["parents", "positions"]

log = logging.getLogger("dvae")


class BayesNetTask(Task):
    """Networks over `variables`, whose order is the known topological order of the sampler.

    `table` names the data that networks are scored on (`dvae.bayesnet.tables`); they are `data` or, without, read when
    first needed, so that a task whose table is gone can do everything else. `knowledge` (edges, tiers, a limit) is kept
    to while decoding. `features` are those of latent heads; "positions" is what models of version 0.2.0 have.
    """

    examples = ("asia", "asia-bnlearn", "bn:cloudy,rain,sprinkler,wet")
    score_name: ScoreName = "bic"
    notation = "a model string such as [A][B|A], a JSONL line or DOT"
    preset = "paper"
    varies_in_size = False
    predictivity_limit = PREDICTIVITY_LIMIT
    latent_per_feature = True

    hints = ModelHints(
        aggregation="gated-sum-types",
        readout="sum",
        edge_context=True,
        graph_state="sum",
        gcn_rounds=2,
        dagnn_bidirectional=True,
        node_order="types",
        batch_size=128,
        epochs=100,
    )
    rules: DecodingRules | GrowthRules = EachOnceRules()

    def recipe(self, device: str) -> Mapping[str, object]:
        """Measured on 180,000 networks over Asia's eight variables (docs/results/straight-axes.md)."""
        if device != "cuda":
            return {}
        return {"model.hidden": 501, "training.batch_size": 512, "training.epochs": 6, "training.warmup": 200}

    def __init__(
        self,
        name: str,
        variables: Sequence[str],
        table: str | None = None,
        *,
        data: DiscreteData | None = None,
        knowledge: Knowledge | None = None,
        features: FeatureKind = "parents",
    ) -> None:
        if len(variables) < 2:
            raise TaskError("a Bayesian network needs at least two variables")
        if features not in get_args(FeatureKind):
            raise TaskError(f"the features of networks are {' or '.join(get_args(FeatureKind))}, not {features!r}")
        self.name = name
        self.table = table
        self._data = data
        self.variables = tuple(variables)
        self.vocabulary = Vocabulary.with_virtual_ends(self.variables)
        self.max_nodes = len(self.variables) + 2
        self.knowledge = knowledge
        self.feature_kind = features
        if knowledge is not None:
            self.rules = NetworkRules.of(knowledge.constraints(self.variables))
        short = all(len(variable) <= SHORT_NAME for variable in self.variables)
        self.look = Look(shape="circle" if short else "box", arrangement="ring")

    @property
    def full_name(self) -> str:
        known = self.table is None or (self.table in (EMBEDDED, BNLEARN) and self.variables == ASIA_VARIABLES)
        return self.name if known else with_order(self.name, self.variables)

    @classmethod
    def from_name(cls, name: str) -> BayesNetTask | None:
        return network_task(name)

    def spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = {"name": self.name, "variables": list(self.variables), "table": self.table}
        spec["features"] = self.feature_kind
        return spec if self.knowledge is None else {**spec, "knowledge": self.knowledge.to_mapping()}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> BayesNetTask:
        name = str(spec["name"])
        table = spec["table"] if "table" in spec else table_of(name)  # runs before there were tables
        known = Knowledge.from_mapping(spec["knowledge"]) if "knowledge" in spec else None
        variables = [str(variable) for variable in spec["variables"]]
        features = spec.get("features", "positions")
        return cls(name, variables, None if table is None else str(table), knowledge=known, features=features)

    @property
    def can_score(self) -> bool:
        """Whether there are, or were, data to score networks on."""
        return self._data is not None or self.table is not None

    @cached_property
    def network_scores(self) -> NetworkScores:
        """The scores of networks on the task's table."""
        if not self.can_score:
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

    def known_optimum(self) -> float | None:
        """The exact best BIC, where there are not too many variables."""
        if not self.can_score or len(self.variables) > MAX_TABULATED:
            return None
        return exact_optimum(self.network_scores, name=self.score_name).score

    def dataset(self, size: int | None = None, seed: int = 0) -> Dataset:
        """Random networks, with their scores where the task has data to score them on."""
        data = self.sampled_dataset(DEFAULT_SIZE if size is None else size, seed)
        if not self.can_score:
            return data
        try:
            scores = self.scores(data.everything.dags)
        except MissingError as error:
            log.warning("the networks of this data set have no scores: %s", error)
            return data
        return replace(data, everything=DagSet.of(data.everything.dags, scores))

    def read(self, path: str | Path) -> list[ScoredDag]:
        """JSONL, or the original implementation's text format in a .txt file."""
        if Path(path).suffix == ".txt":
            return list(read_bayesnet(path, self.variables))
        return load_dags(path)

    def features(self, batch: DagBatch) -> Tensor:
        """A bit for each variable and every other: whether the first is a parent of the second.

        Who hangs on the virtual ends follows from that: with a latent of its own, the prior would draw it at odds with
        the edges.
        """  # batch feature
        if self.feature_kind == "positions":
            return super().features(batch)
        kinds = torch.nn.functional.one_hot(batch.types, self.num_types).to(torch.float32)
        parents = kinds.mT @ batch.adjacency.to(torch.float32) @ kinds  # batch type type
        return parents[:, VIRTUAL:, VIRTUAL:].flatten(1).clamp(max=1)  # also where a variable stands twice

    def parse_rows(self, text: str, where: str) -> Dag:
        return parse_bayesnet(text, where, self.variables).dag

    def format(self, dag: Dag) -> str:
        try:
            return to_modelstring(dag)
        except DagError:  # a variable that comes twice, say: JSON holds any DAG
            return super().format(dag)

    def node_names(self, dag: Dag) -> list[Hashable]:
        """Variables, where each comes once."""
        return list(dag.types) if len(set(dag.types)) == len(dag) else super().node_names(dag)

    def exports(self) -> tuple[ExportFormat, ...]:
        formats = [ExportFormat("pgmpy", "pgmpy model (Python)", ".py", lambda dag: pgmpy_source(self._network(dag)))]
        if self.can_score:
            formats.append(ExportFormat("bif", "BIF with probabilities", ".bif", self._bif))
        return tuple(formats)

    def _bif(self, dag: Dag) -> str:
        return to_bif(self._network(dag), self.network_scores.data, self.name)

    def _network(self, dag: Dag) -> Dag:
        if not self.is_valid(dag):
            raise TaskError("this DAG is no valid Bayesian network: every variable must come exactly once")
        return dag

    def why_invalid(self, dag: Dag) -> str | None:
        times = Counter(dag.types)
        wrong = next((variable for variable in self.variables if times[variable] != 1), None)
        if wrong is not None:
            return f"the variable {wrong!r} " + ("is missing" if times[wrong] == 0 else f"stands {times[wrong]} times")
        return super().why_invalid(dag)

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
        # Edges of the virtual nodes follow from the others.
        parents[:, VIRTUAL:, VIRTUAL:] = by_type[:, VIRTUAL:, VIRTUAL:]
        adjacency = torch.where(valid[:, None, None], parents, batch.adjacency)
        types = torch.where(valid[:, None], torch.zeros_like(batch.types), batch.types)
        num_nodes = torch.where(valid, torch.zeros_like(batch.num_nodes), batch.num_nodes)
        return packed_rows(num_nodes[:, None], types, adjacency)

    def sample_batch(self, count: int, seed: int) -> DagBatch:
        """Random networks in the given order: every edge with probability 2 / (k - 1), as bnlearn's sampler.

        Two or three variables would always be fully connected that way; their edges have probability one half.
        """
        size, nodes = len(self.variables), self.max_nodes
        probability = 2 / (size - 1) if size > 3 else 0.5
        generator = torch.Generator().manual_seed(seed)
        edges = (torch.rand(count, size, size, generator=generator) < probability).triu(1)
        types = torch.cat([torch.tensor([START_INDEX]), torch.arange(VIRTUAL, nodes), torch.tensor([END_INDEX])])
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
