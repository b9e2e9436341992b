"""`dvae data`: what a data set holds, or the data set itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import inputs, options, output
from dvae.errors import ConfigError

if TYPE_CHECKING:
    from dvae.dag import ColumnSchema, Dataset
    from dvae.tasks import Task

FETCH = "fetch"
MAX_TYPES = 12  # shown in the table; JSON has all


def data(
    name: Annotated[
        str,
        typer.Argument(metavar="TASK|FILE", help="A task, such as asia, or a file of DAGs; or the word fetch."),
    ],
    what: Annotated[
        str | None, typer.Argument(metavar="[IMAGES]", help="With fetch: cifar10, to be downloaded into DVAE_DATA.")
    ] = None,
    size: Annotated[
        int | None, typer.Option(min=2, help="How many DAGs: the first of a file, or as many samples.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the sampler, where the task has one.")] = 0,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Draw N DAGs from the task's sampler instead.")
    ] = None,
    task: options.TaskOfFile = None,
    rules: options.Rules = None,
    out: options.DagsOut = None,
    json: options.Json = False,
) -> None:
    """Describe the data of a task or of a file; with --out, write them to a file.

    Try: dvae data asia --size 20000, or dvae data enas6 --sample 100 --out some.jsonl, or dvae data fetch cifar10
    """
    from dvae.dag import DataSource, write_jsonl
    from dvae.tasks import load_dataset

    if name == FETCH or what is not None:
        _fetch(name, what, json)
        return

    output.check_outputs(out, None)
    path = Path(name) if inputs.is_file_name(name) else None
    space = _space(name, path, task, rules)
    if sample is not None:
        batch = space.sample_batch(sample, seed)
        output.print_dags(space, batch, out, None, json)
        return
    whole = load_dataset(space, DataSource(None if path is None else str(path), size, seed))
    if out is not None:
        count = write_jsonl(out, whole.everything)
        if json:
            output.print_json({"count": count, "file": str(out)})
        else:
            output.note(f"wrote {output.counted(count, 'DAG')} to {out}")
        return
    facts = _facts(whole, space)
    if json:
        output.print_json(facts)
    else:
        output.print_table([*_rows(facts), *_schema_rows(facts), *_rule_rows(space)], title=f"{whole.name}")


def _space(name: str, path: Path | None, task: str | None, rules: str | None) -> Task:
    if path is None:
        return inputs.get_task(inputs.with_rules(name, rules))
    return inputs.task_of_file(path, task, rules)


def _fetch(name: str, what: str | None, as_json: bool) -> None:
    from dvae.data.downloads import fetch_cifar10

    if name != FETCH:
        raise ConfigError(f"{what!r} is a word too many: dvae data describes one task or file, here {name}")
    if what != "cifar10":
        asked = "say what to fetch" if what is None else f"there is no data set {what!r} to fetch"
        raise ConfigError(f"{asked}; there is cifar10")
    folder = fetch_cifar10(progress=True)
    if as_json:
        output.print_json({"folder": str(folder)})
    else:
        output.note(f"CIFAR-10 is in {folder}")


def _facts(whole: Dataset, task: Task) -> dict[str, object]:
    from dvae.dag import Schema
    from dvae.tasks.vocabulary import END_LABEL, START_LABEL

    dags, rules = whole.everything.dags, task.graph_rules
    schema = task.schema or Schema.infer(dags)
    scores = [score for score in whole.everything.scores if score is not None]
    labels = Counter(label for dag in dags for label in dag.types)
    return {
        "task": task.name,
        "data": whole.name,
        "count": len(whole),
        "train": len(whole.train),
        "test": len(whole.test),
        "nodes": _spread([len(dag) for dag in dags]),
        "edges": _spread([len(dag.edges) for dag in dags]),
        "types": {str(label): count for label, count in labels.most_common()},
        "valid_share": float(task.valid(task.batch(dags)).double().mean()),
        "rules": None if rules is None else rules.to_mapping(),
        "schema": schema.to_mapping(),
        "scored": len(scores),
        "scores": _spread(scores) if scores else None,
        "model": {
            "num_types": task.num_types,
            "max_nodes": task.max_nodes,
            "virtual_start": task.vocabulary.start == START_LABEL,
            "virtual_end": task.vocabulary.end == END_LABEL,
        },
    }


def _schema_rows(facts: dict[str, object]) -> list[tuple[str, str]]:
    from dvae.dag import Schema

    mapping, count = facts["schema"], facts["count"]
    assert isinstance(mapping, dict)
    assert isinstance(count, int)
    schema = Schema.from_mapping(mapping)
    types = facts["types"]
    assert isinstance(types, dict)
    rows = [(f"{place} column {column.name}", _column_text(column, types)) for place, column in schema.columns()]
    for one in schema.properties:
        missing = "" if one.count == count else f"; {one.count:,} DAGs have it"
        rows.append((f"property {one.name}", f"{one.low:.5g} to {one.high:.5g}{missing}"))
    return rows


def _column_text(column: ColumnSchema, types: Collection[str]) -> str:
    grid = column.grid
    if column.kind == "category":
        text = f"{len(column.categories)}: {_listed(column.categories)}"
    elif grid.edges:
        text = f"{grid.low:.5g} to {grid.high:.5g}, median {grid.centre:.5g}"
    else:
        whole = " whole" if grid.integer else ""
        text = f"{len(grid.values)}{whole} numbers, {grid.low:.5g} to {grid.high:.5g}, median {grid.centre:.5g}"
    absent = ", some without" if any(holder.optional for holder in column.holders) else ""
    names = [str(holder.owner) for holder in column.holders if not isinstance(holder.owner, tuple)]
    if len(names) < len(column.holders):
        return f"{text}; on edges between {len(column.holders)} pairs of types{absent}"
    return f"{text}; of {'every type' if set(names) >= set(types) else _listed(names)}{absent}"


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - MAX_TYPES} more" if len(names) > MAX_TYPES else ""
    return ", ".join(names[:MAX_TYPES]) + more


def _rule_rows(task: Task) -> list[tuple[str, str]]:
    rules = task.graph_rules
    if rules is None:
        return []
    said = [f"{rule}: {what}" for rule, what in rules.rows()] or ["none"]
    return [("rules" if place == 0 else "", text) for place, text in enumerate(said)]


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"min": min(values), "mean": sum(values) / len(values), "max": max(values)}


def _rows(facts: dict[str, object]) -> list[tuple[str, str]]:
    model, types, scores = facts["model"], facts["types"], facts["scores"]
    assert isinstance(model, dict)
    assert isinstance(types, dict)
    shown = ", ".join(f"{label} {count:,}" for label, count in list(types.items())[:MAX_TYPES])
    more = f", and {len(types) - MAX_TYPES} more" if len(types) > MAX_TYPES else ""
    ends = {
        (True, True): "a virtual start and a virtual end are added",
        (True, False): "a virtual start is added",
        (False, True): "a virtual end is added",
        (False, False): "none added",
    }[model["virtual_start"], model["virtual_end"]]
    return [
        ("DAGs", f"{facts['count']:,}: {facts['train']:,} to train, {facts['test']:,} to test"),
        ("nodes", _range(facts["nodes"])),
        ("edges", _range(facts["edges"])),
        ("types", f"{len(types)}: {shown}{more}"),
        ("valid", f"{facts['valid_share']:.2%}"),
        ("scores", "none" if scores is None else f"{_range(scores)}; {facts['scored']:,} DAGs have one"),
        ("a model sees", f"{model['num_types']} types, at most {model['max_nodes']} nodes"),
        ("ends", ends),
    ]


def _range(spread: object) -> str:
    assert isinstance(spread, dict)
    low, mean, high = spread["min"], spread["mean"], spread["max"]
    return f"{low:.5g}" if low == high else f"{low:.5g} to {high:.5g}, mean {mean:.4g}"
