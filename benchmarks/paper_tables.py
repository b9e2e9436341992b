"""The tables of docs/results/report.md and results.json, written anew from all results that are kept.

    python benchmarks/paper_tables.py

Results of `dvae reproduce --preset paper` come back from a GPU in pieces, and their weights and pictures mostly do not.
So a run is put together, in a folder that is thrown away, from what is kept: docs/results/results.json and the stages
in benchmarks/results/*/stages*.tar.gz, the later the stronger. Put what is new there first. results.json gets all that
was measured, and report.md its tables; text and pictures of the report stay as they are.
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from dvae import paper
from dvae.files import read_json, write_json, write_text
from dvae.paper.report import numbers
from dvae.paper.results import SPACES, Results
from dvae.paper.stage_store import RESULT, StageStore
from dvae.paper.tables import search_table, table1, table2, table3, time_table
from dvae.reports.document import Document
from dvae.reports.markdown import to_markdown

ROOT = Path(__file__).parent.parent
REPORT, NUMBERS = ROOT / "docs/results/report.md", ROOT / "docs/results/results.json"
PICTURES = ("circle", "grid", "maps", "cost")  # whose results are not kept whole


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder))


def write_tables(run: Path) -> None:
    """Puts a run together in an empty folder, and writes numbers and tables."""
    settings = paper.preset("paper", paper.architecture_source(run), paper.bayesnet_source(), 3)
    store = StageStore(run)
    known = read_json(NUMBERS)["stages"]
    kept = known | {}
    for stage in paper.stages_of("all", settings):
        one = known.get(stage.title)
        if one is not None and stage.kind not in PICTURES and one["key"] == stage.key:
            result = {"history": [], "provenance": {}, **one["result"]}  # which results.json leaves out
            record = {"stage": stage.kind, "title": stage.title, **one, "result": result, "provenance": {}}
            write_json(store.folder(stage) / RESULT, record)
    for archive in sorted(ROOT.glob("benchmarks/results/*/stages*.tar.gz")):
        unpack(archive, run)
    kept |= numbers(store, settings)["stages"]
    write_json(NUMBERS, {**read_json(NUMBERS), "done": len(kept), "stages": kept})
    results = Results(store, settings)
    tables = [make(results, space) for make in (table1, table2) for space in SPACES]
    tables += [table3(results), *(search_table(results, space) for space in SPACES), time_table(results)]
    text = REPORT.read_text(encoding="utf-8")
    for table in tables:
        if table is not None:
            text = replaced(text, to_markdown(Document("", (table,)), run))
    write_text(REPORT, text)


def unpack(archive: Path, run: Path) -> None:
    """The results of an archive's stages."""
    with tarfile.open(archive) as file:
        for member in file:
            parts = Path(member.name).parts
            if len(parts) == 3 and parts[0] == "stages" and parts[2] == RESULT and member.isfile():
                content = file.extractfile(member)
                assert content is not None
                write_json(run / "stages" / parts[1] / RESULT, json.load(content))


def replaced(text: str, made: str) -> str:
    """The report with the rows of one table as they are now."""
    title = next(line for line in made.splitlines() if line.startswith("**"))
    rows = [line for line in made.splitlines() if line.startswith("|")]
    lines = text.splitlines()
    start = lines.index(title) + 2
    end = next(place for place in range(start, len(lines)) if not lines[place].startswith("|"))
    return "\n".join([*lines[:start], *rows, *lines[end:]]) + "\n"


if __name__ == "__main__":
    main()
