"""Which values a column may have where: a column only where its type has it, and there in categories it has."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dvae.dag import ColumnSchema, ColumnTensors, DagBatch, Schema
from dvae.dag.column_tensors import num_codes
from dvae.dag.schema import Place
from dvae.tasks.vocabulary import END_LABEL, START_LABEL, Vocabulary


class ColumnRules(NamedTuple):
    """For every owner of a value, a type or a pair of types, the codes it may have."""

    allowed: Tensor  # owner code, bool: values where the owner has the column, absence where it may lack them
    known: Tensor  # owner code, bool: as `allowed`, and of categories only those that the owner has in the data

    @classmethod
    def of(cls, column: ColumnSchema, place: Place, vocabulary: Vocabulary) -> ColumnRules:
        """The rules of a column; the owner of an edge's is number (source type) * (number of types) + (target type)."""
        labels = vocabulary.labels
        owners = list(labels) if place == "node" else [(one, other) for one in labels for other in labels]
        allowed = torch.zeros(len(owners), num_codes(column), dtype=torch.bool)
        known = torch.zeros_like(allowed)
        anything = torch.ones(allowed.shape[1], dtype=torch.bool)
        anything[0] = any(holder.optional for holder in column.holders)
        for number, owner in enumerate(owners):
            holder = column.holder_of.get(owner)
            if holder is not None:
                allowed[number] = True
                allowed[number, 0] = holder.optional
                known[number] = allowed[number]
                if column.kind == "category":
                    known[number, 1:] = False
                    known[number, [column.index_of[category] for category in holder.categories]] = True
            elif isinstance(owner, tuple) and owner not in column.bare and not {START_LABEL, END_LABEL} & set(owner):
                allowed[number] = known[number] = anything  # an edge between types that the data never join
            else:
                allowed[number, 0] = known[number, 0] = True
        return cls(allowed, known)


def owners_of(place: Place, batch: DagBatch, columns: ColumnTensors, num_types: int) -> Tensor:
    """The owner of every node's or edge's values, as `ColumnRules` counts them."""  # batch node, or batch edge
    if place == "node":
        return batch.types
    return batch.types.gather(1, columns.sources) * num_types + batch.types.gather(1, columns.targets)


def obey_columns(batch: DagBatch, schema: Schema, vocabulary: Vocabulary) -> Tensor:
    """Which graphs have columns only where their types have them, and there only categories that they have."""
    obeying = torch.ones(len(batch), dtype=torch.bool, device=batch.device)
    columns = batch.columns
    if columns is None:
        return obeying
    for place, some in (("node", schema.node), ("edge", schema.edge)):
        there = batch.node_mask() if place == "node" else columns.edge_there
        codes = columns.node_codes if place == "node" else columns.edge_codes
        owners = owners_of(place, batch, columns, len(vocabulary))  # type: ignore[arg-type]
        for number, column in enumerate(some):
            known = ColumnRules.of(column, place, vocabulary).known.to(batch.device)  # type: ignore[arg-type]
            code = codes[..., number].clamp(min=0)
            obeying &= (known[owners, code] | (code == 0) | ~there).all(1)
    return obeying
