"""The report of a reproduction: what was found beside what was published, what it took, and what is not there yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dvae.config import from_mapping, to_mapping
from dvae.errors import FormatError, MissingError
from dvae.files import read_json, write_json, write_text
from dvae.models.migration import current
from dvae.paper.figures import figures
from dvae.paper.plan import stages_of
from dvae.paper.presets import Preset
from dvae.paper.results import SPACES, Results
from dvae.paper.runner import failures
from dvae.paper.sources import ARCHITECTURES
from dvae.paper.stage import Stage
from dvae.paper.stage_store import StageStore
from dvae.paper.tables import (
    overview,
    search_table,
    smoothness_table,
    table1,
    table2,
    table3,
    time_table,
)
from dvae.reports.document import Block, Code, Document, Heading, Items, Paragraph, Table
from dvae.reports.html import to_html
from dvae.reports.markdown import to_markdown
from dvae.reports.numbers import time_words

PLAN = "plan.json"
PAGE, TEXT, NUMBERS, PICTURES = "index.html", "report.md", "results.json", "figures"
MAX_LISTED = 40


def write_plan(run: Path, preset: Preset) -> None:
    """What the run is, so that a report can be made from the folder alone."""
    write_json(run / PLAN, to_mapping(preset))


def read_plan(run: Path) -> Preset:
    """What the run is."""
    path = run / PLAN
    if not path.is_file():
        raise MissingError(f"{run} holds no reproduction ({PLAN} is not there); make one with: dvae reproduce")
    mapping = read_json(path)
    if not isinstance(mapping, dict):
        raise FormatError(f"{path}: this is no plan of a reproduction, which is an object")
    return from_mapping(Preset, current(mapping, path), str(path))


def write_report(run: Path) -> Path:
    """index.html, report.md, results.json and the figures, from what is in the folder; returns the page."""
    preset = read_plan(run)
    store = StageStore(run)
    document = reproduction(store, preset)
    write_json(run / NUMBERS, numbers(store, preset))
    write_text(run / TEXT, to_markdown(document, run))
    write_text(run / PAGE, to_html(document))
    return run / PAGE


def numbers(store: StageStore, preset: Preset) -> dict[str, Any]:
    """Every result by the title of its stage, as it was measured, without the curves of training."""
    stages = stages_of("all", preset)
    found: dict[str, Any] = {}
    for stage in stages:
        record = store.record(stage)
        if record is not None:
            result = {key: value for key, value in record["result"].items() if key not in ("history", "provenance")}
            if stage.kind in ("circle", "grid", "maps"):
                result = {key: value for key, value in result.items() if key not in ("dags", "maps", "scores")}
            found[stage.title] = {"kind": stage.kind, "key": stage.key, "seconds": record["seconds"], "result": result}
    return {
        "preset": preset.name,
        "note": preset.note,
        "done": len(found),
        "planned": len(stages),
        "failed": failures(store),
        "stages": found,
    }


def reproduction(store: StageStore, preset: Preset) -> Document:
    """The report as a value; its figures are written to the run's folder."""
    results = Results(store, preset)
    stages = stages_of("all", preset)
    drawn = {figure.svg.stem: figure for figure in figures(results, store.root / PICTURES)}
    blocks: list[Block] = []
    if preset.note:
        blocks.append(Paragraph(preset.note, warning=True))
    blocks += [
        Paragraph(
            "D-VAE: A Variational Autoencoder for Directed Acyclic Graphs (Zhang, Jiang, Cui, Garnett, Chen; NeurIPS "
            "2019), all tables and figures, made anew by one command. Rows in italics are what papers report; "
            "everything else was measured here."
        ),
        Items(tuple(_data_lines(preset))),
        *_tables([overview(results, space) for space in SPACES]),
        Heading("Reconstruction, validity, uniqueness, novelty"),
        *_tables([table1(results, space) for space in SPACES]),
        Heading("Scores predicted from latents"),
        *_tables([table2(results, space) for space in SPACES]),
        Heading("Ablations"),
        *_tables([table3(results)]),
        Heading("Searching the latent space"),
    ]
    for space in SPACES:
        blocks += _tables([search_table(results, space)])
        blocks += [drawn.pop(name) for name in (f"search_{space}", f"top_{space}") if name in drawn]
    blocks.append(Heading("The latent space"))
    blocks += _tables([smoothness_table(results)])
    blocks += [figure for name, figure in drawn.items() if name.startswith(("circle", "grid", "map"))]
    blocks.append(Heading("Training and cost"))
    blocks += _tables([time_table(results)])
    blocks += [figure for name, figure in drawn.items() if name.startswith(("training", "cost"))]
    blocks += _missing(store, stages)
    blocks += _made_by(store, preset, stages)
    return Document(f"The paper's experiments, preset {preset.name}", tuple(blocks))


def _tables(tables: list[Table | None]) -> list[Block]:
    found: list[Block] = [table for table in tables if table is not None]
    return found or [Paragraph("Not run yet.")]


def _data_lines(preset: Preset) -> list[str]:
    enas, bn = preset.enas.source, preset.bn.source
    size = "all of them" if enas.size is None else f"the first {enas.size:,}"
    if enas.file is None and enas.sha256 != ARCHITECTURES.sha256:
        architectures = f"NOT the paper's, but a file of the same name ({size}; sha256 {str(enas.sha256)[:12]}…)"
    elif enas.file is None:
        architectures = f"the paper's 19,020 scored architectures ({size}; sha256 {ARCHITECTURES.sha256[:12]}…)"
    else:
        architectures = (
            "NOT the paper's, which were neither found nor could be fetched: architectures scored here by a supernet "
            f"on handwritten digits ({enas.file}, {size}). Scores are not comparable with the paper's"
        )
    rows = {
        "asia-bnlearn": "bnlearn's Asia data, as in the paper",
        "asia": "5,000 rows drawn from the Asia network, embedded in this package: BICs differ from the paper's, which "
        "are of bnlearn's rows",
    }
    count = "200,000" if bn.size is None else f"{bn.size:,}"
    return [
        f"Neural architectures: {architectures}.",
        f"Bayesian networks: {count} random ones over the 8 variables of Asia, scored by BIC on {rows[bn.task]}.",
        f"Seeds of training: {preset.seeds}.",
    ]


def _missing(store: StageStore, stages: list[Stage[Any]]) -> list[Block]:
    """What a full run would have and this one has not, and why."""
    reasons = failures(store)
    waiting = [stage for stage in stages if not store.is_done(stage)]
    blocks: list[Block] = [Heading("What is not here")]
    failed = [f"{stage.title}: {reasons[stage.title]}" for stage in waiting if stage.title in reasons]
    open_ones = [stage.title for stage in waiting if stage.title not in reasons]
    if failed:
        blocks += [Paragraph("Could not be made:"), Items(_listed(failed))]
    if open_ones:
        blocks += [Paragraph(f"Not run yet ({len(open_ones)} of {len(stages)} stages):"), Items(_listed(open_ones))]
    if not waiting:
        blocks.append(Paragraph(f"Nothing: all {len(stages)} stages of this preset are done."))
    blocks.append(
        Paragraph(
            "Full training on CIFAR-10 of the architectures found, and the 12-layer search, are not part of this "
            "command."
        )
    )
    return blocks


def _listed(lines: list[str]) -> tuple[str, ...]:
    more = len(lines) - MAX_LISTED
    return (*lines[:MAX_LISTED], f"and {more} more") if more > 0 else tuple(lines)


def _made_by(store: StageStore, preset: Preset, stages: list[Stage[Any]]) -> list[Block]:
    """Machines, versions, dates, wall times and the command."""
    records = [record for stage in stages if (record := store.record(stage)) is not None]
    machines: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    commits: dict[str, None] = {}
    dates: list[str] = []
    for record in records:
        machine = _machine(record["provenance"])
        commits.setdefault(_commit(record["provenance"]))
        machines[machine] += 1
        seconds[machine] += record["seconds"]
        dates.append(str(record["provenance"]["date"]))
    total = sum(seconds.values())
    lines = [f"{machine}: stages {count}, {time_words(seconds[machine])}" for machine, count in machines.most_common()]
    lines.append(f"Commits: {', '.join(commits)}")
    kinds = Counter[str]()
    for record in records:
        kinds[record["stage"]] += record["seconds"]
    blocks: list[Block] = [
        Heading("How it was made"),
        Code(f"dvae reproduce all --preset {preset.name} --seeds {preset.seeds}"),
    ]
    if records:
        blocks += [
            Paragraph(
                f"{len(records)} of {len(stages)} stages, {time_words(total)} of work between {min(dates)} and "
                f"{max(dates)}. By kind: "
                + ", ".join(f"{kind} {time_words(spent)}" for kind, spent in kinds.most_common())
                + "."
            ),
            Items(tuple(lines)),
        ]
    return blocks


def _machine(record: Mapping[str, Any]) -> str:
    versions = record["versions"]
    place = record["gpu"] or f"{record['cpu']['name']}, {record['cpu']['cores']} cores"
    return f"{place}; Python {versions['python']}, torch {versions['torch']}"


def _commit(record: Mapping[str, Any]) -> str:
    git = record["git"]
    return "unknown" if git is None else f"{git['commit'][:10]}{' with changes' if git['modified'] else ''}"
