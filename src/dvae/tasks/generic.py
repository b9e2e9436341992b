"""Any labelled DAGs: vocabulary, sizes and virtual ends are read off the data."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from dvae.dag import Dag, DagBatch, Dataset, DataSource, Label, Schema, load_dags
from dvae.dag.lines import line_of
from dvae.errors import FormatError, MisfitError, TaskError
from dvae.regression.features import count_features
from dvae.tasks.base import ModelHints, Task, well_formed
from dvae.tasks.column_rules import obey_columns
from dvae.tasks.ends import add_virtual_ends, drop_virtual_ends
from dvae.tasks.graph_rules import GraphRules
from dvae.tasks.growth import GraphGrowth
from dvae.tasks.rules import ConnectedRules, DecodingRules, GrowthRules
from dvae.tasks.vocabulary import END_INDEX, END_LABEL, START_INDEX, START_LABEL, Vocabulary

FILE_PREFIX = "file:"
RULES_MARK = "?rules="
RULE_WORDS = (INFERRED, STRICT, NO_RULES) = ("inferred", "strict", "none")


class GenericTask(Task):
    """DAGs with the given vocabulary; a start or an end node is virtual where the data need one.

    The data's own source is the start node when every DAG has exactly one source, all with the same label, which no
    other node has; likewise the sink. Otherwise every DAG of the task gets a virtual one.
    """

    rules: DecodingRules | GrowthRules = ConnectedRules()
    features_are_bits = False

    def __init__(
        self, name: str, labels: Sequence[Label], max_nodes: int, *, virtual_start: bool, virtual_end: bool,
        sampled_end_edges: bool = False, graph_rules: GraphRules | None = None, schema: Schema | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.vocabulary = Vocabulary(tuple(labels))
        self.max_nodes = max_nodes
        self.virtual_start = virtual_start
        self.virtual_end = virtual_end
        self.sampled_end_edges = sampled_end_edges
        self.graph_rules: GraphRules = graph_rules or GraphRules()
        if schema is not None:
            self.schema = schema
        if self.graph_rules != GraphRules():
            self.rules = GraphGrowth.of(
                self.graph_rules, self.vocabulary, max_nodes, virtual_start=virtual_start, virtual_end=virtual_end,
                end_chooses=sampled_end_edges,
            )  # fmt: skip
        self.hints = ModelHints(end_edges="sampled" if sampled_end_edges else "loose-ends", node_order="canonical")

    @classmethod
    def infer(cls, name: str, dags: Iterable[Dag], graph_rules: GraphRules | None = None) -> GenericTask:
        """The smallest task that holds all of `dags`, which must obey the rules."""
        dags = list(dags)
        if not dags:
            raise TaskError(f"{name} holds no DAG to learn from")
        labels = {label for dag in dags for label in dag.types}
        start = _own_end(dags, [dag.sources() for dag in dags])
        end = _own_end(dags, [dag.sinks() for dag in dags])
        if start is not None and start == end:
            start = end = None
        inner = sorted(labels - {start, end}, key=lambda label: (isinstance(label, str), label))
        for reserved in (START_LABEL, END_LABEL):
            if reserved in labels:
                raise TaskError(f"the type {reserved!r} in {name} is reserved for the model's own node; rename it")
        ends = (START_LABEL if start is None else start, END_LABEL if end is None else end)
        virtual = int(start is None) + int(end is None)
        sampled = end is not None and any(_feeds_end_and_more(dag) for dag in dags)
        return cls(
            name,
            (*ends, *inner),
            max(len(dag) for dag in dags) + virtual,
            virtual_start=start is None,
            virtual_end=end is None,
            sampled_end_edges=sampled,
            graph_rules=graph_rules,
            schema=Schema.infer(dags),
        )

    @classmethod
    def from_name(cls, name: str) -> GenericTask | None:
        """`file:DAGS.jsonl`: the smallest task that holds the DAGs of a file.

        `file:DAGS.jsonl?rules=RULES` says which rules they obey: a TOML file, `inferred` (the default: their ends and
        being in one piece, as far as all DAGs agree), `strict` (sizes, degrees and pairs of types, too) or `none`.
        """
        if not name.startswith(FILE_PREFIX):
            return None
        base, _, rules = name.partition(RULES_MARK)
        path = base.removeprefix(FILE_PREFIX)
        items = load_dags(path)
        dags = [item.dag for item in items]
        graph_rules = rules_named(rules or INFERRED, dags)
        written = rules not in ("", *RULE_WORDS)  # those that were inferred hold of the data
        for place, dag in enumerate(dags if written else ()):
            problem = graph_rules.problem(dag)
            if problem is not None:
                raise FormatError.at(path, line_of(path, place), f"the DAG breaks a rule of {rules}: {problem}")
        try:
            return cls.infer(base, dags, graph_rules)
        except MisfitError as error:
            raise FormatError.at(path, line_of(path, error.number), error.problem) from None

    def dataset(self, size: int | None = None, seed: int = 0) -> Dataset:
        """The DAGs of the file that the task was inferred from."""
        path = self.name.removeprefix(FILE_PREFIX)
        if path == self.name:
            return super().dataset(size, seed)
        found = Dataset.split(self.name, load_dags(path), size)
        return replace(found, source=DataSource(size=size, seed=seed))

    def features(self, batch: DagBatch) -> Tensor:
        """Counts, which do not depend on the order of the nodes: a position means nothing here."""  # batch feature
        return count_features(batch, self.num_types)

    def spec(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "labels": list(self.vocabulary.labels),
            "max_nodes": self.max_nodes,
            "virtual_start": self.virtual_start,
            "virtual_end": self.virtual_end,
            "sampled_end_edges": self.sampled_end_edges,
            "rules": self.graph_rules.to_mapping(),
            **({"schema": self.schema.to_mapping()} if self.schema != Schema() else {}),
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> GenericTask:
        return cls(
            str(spec["name"]),
            list(spec["labels"]),
            int(spec["max_nodes"]),
            virtual_start=bool(spec["virtual_start"]),
            virtual_end=bool(spec["virtual_end"]),
            sampled_end_edges=bool(spec["sampled_end_edges"]),
            graph_rules=GraphRules.from_mapping(spec.get("rules", {})),
            schema=Schema.from_mapping(spec.get("schema", {})),
        )

    def wrap(self, dag: Dag) -> Dag:
        if not self.virtual_start and dag.types[0] != self.vocabulary.start:
            raise TaskError(f"a DAG of {self.name} starts with {self.vocabulary.start!r}, not {dag.types[0]!r}")
        if not self.virtual_end:
            dag = _end_last(dag, self.vocabulary.end)
            if dag.types[-1] != self.vocabulary.end:
                raise TaskError(f"a DAG of {self.name} ends with {self.vocabulary.end!r}, not {dag.types[-1]!r}")
        return add_virtual_ends(dag, self.vocabulary, start=self.virtual_start, end=self.virtual_end)

    def unwrap(self, dag: Dag) -> Dag:
        return drop_virtual_ends(dag, self.vocabulary, start=self.virtual_start, end=self.virtual_end)

    def valid(self, batch: DagBatch) -> Tensor:
        """Start first, end last, and something between virtual ends.

        Where an end is the data's own, every node must hang together with it; a virtual one is only a device, and
        any DAG remains when it is taken away.
        """
        smallest = 2 + int(self.virtual_start or self.virtual_end)
        last = batch.types.gather(1, (batch.num_nodes - 1).clamp(min=0)[:, None])[:, 0]
        framed = (batch.types[:, 0] == START_INDEX) & (last == END_INDEX) & (batch.num_nodes >= smallest)
        valid = framed & well_formed(batch, all_fed=not self.virtual_start, all_used=not self.virtual_end)
        if self.schema:
            valid &= obey_columns(batch, self.schema, self.vocabulary)
        if self.graph_rules == GraphRules():
            return valid
        candidates = valid.nonzero().squeeze(1)
        dags = self.unbatch(batch.select(candidates))
        obeying = torch.tensor([self.graph_rules.problem(dag) is None for dag in dags], dtype=torch.bool)
        valid[candidates] = obeying.to(valid.device)
        return valid

    def why_invalid(self, dag: Dag) -> str | None:
        return self.graph_rules.problem(dag) or super().why_invalid(dag)

    def keys(self, batch: DagBatch) -> list[Hashable]:
        """Canonical labellings, one for every distinct graph of the batch.

        Where the task has columns they count: categories as they are, numbers as far as the schema tells them apart
        (`NumberGrid.tolerance`).
        """
        if self.schema:
            known: dict[Dag, Hashable] = {}
            rounded = [self.schema.rounded(dag) for dag in self.unbatch(batch)]
            for dag in rounded:
                if dag not in known:
                    known[dag] = dag.canonical_key()
            return [known[dag] for dag in rounded]
        rows = torch.cat([batch.num_nodes[:, None], batch.types, batch.adjacency.flatten(1).long()], 1).cpu()
        distinct, which = rows.unique(dim=0, return_inverse=True)
        first = torch.full((len(distinct),), len(rows)).scatter_reduce(0, which, torch.arange(len(rows)), "amin")
        dags = self.unbatch(batch.select(first.to(batch.device)))
        canonical = [dag.canonical_key() for dag in dags]
        return [canonical[index] for index in which.tolist()]


def rules_named(name: str, dags: Sequence[Dag]) -> GraphRules:
    """The rules that `name` means for these DAGs."""
    if name == NO_RULES or not dags:
        return GraphRules()
    if name in (INFERRED, STRICT):
        return GraphRules.infer(dags, strict=name == STRICT)
    return GraphRules.read(name)


def _own_end(dags: Sequence[Dag], ends: Sequence[Sequence[int]]) -> Label | None:
    """The label that marks exactly the one source (or sink) of every DAG, if there is one."""
    if any(len(nodes) != 1 or len(dag) == 1 for dag, nodes in zip(dags, ends, strict=True)):
        return None
    labels = {dag.types[nodes[0]] for dag, nodes in zip(dags, ends, strict=True)}
    if len(labels) != 1:
        return None
    (label,) = labels
    return label if all(dag.types.count(label) == 1 for dag in dags) else None


def _feeds_end_and_more(dag: Dag) -> bool:
    (sink,) = dag.sinks()
    counts = [len(successors) for successors in dag.successors()]
    return any(counts[node] > 1 for node in dag.predecessors()[sink])


def _end_last(dag: Dag, end: Label) -> Dag:
    """The same DAG with its end node in the last place, where any topological order may put the single sink."""
    sinks = dag.sinks()
    if len(sinks) != 1 or sinks[0] == len(dag) - 1 or dag.types[sinks[0]] != end:
        return dag
    order = [node for node in range(len(dag)) if node != sinks[0]] + sinks
    rank = {node: position for position, node in enumerate(order)}
    edges = [(rank[source], rank[target]) for source, target in dag.edges]
    return dag.rebuilt(order, [dag.types[node] for node in order], edges)
