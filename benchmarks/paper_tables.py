"""The tables of docs/results (report.md, README.md) and results.json, written anew from all results that are kept.

    python benchmarks/paper_tables.py [--check]

Results of `dvae reproduce --preset paper` come back from a GPU in pieces, and their weights and pictures mostly do not.
So a run is put together, in a folder that is thrown away, from what is kept: docs/results/results.json and the stages
in benchmarks/results/*/stages*.tar.gz, the later the stronger. Put what is new there first. results.json gets all that
was measured, and each page those of the tables that it has; text and pictures stay as they are. --check writes nothing,
and says whether the tables are those of the results.
"""

from __future__ import annotations

import argparse
import json
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from dvae import paper
from dvae.bayesnet.tables import BNLEARN
from dvae.files import read_json, write_json, write_text
from dvae.paper.report import numbers
from dvae.paper.results import SPACES, Results
from dvae.paper.sources import ARCHITECTURES, Source
from dvae.paper.stage_store import RESULT, StageStore
from dvae.paper.tables import overview, search_table, table1, table2, table3, time_table
from dvae.reports.document import Document
from dvae.reports.markdown import to_markdown

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "docs/results/report.md", ROOT / "docs/results/README.md")
NUMBERS = ROOT / "docs/results/results.json"
WAITING = "not run yet"
PICTURES = ("circle", "grid", "maps", "cost")  # whose results are not kept whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where tables are others")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured, pages = put_together(Path(folder))
    if options.check:
        others = [page.name for page, text in pages.items() if text != page.read_text(encoding="utf-8")]
        sys.exit(f"the tables of {', '.join(others)} are not those of the results" if others else 0)
    write_json(NUMBERS, measured)
    for page, text in pages.items():
        write_text(page, text)


def put_together(run: Path) -> tuple[dict[str, Any], dict[Path, str]]:
    """What results.json and the pages should be, by way of a run in an empty folder."""
    settings = paper.preset("paper", Source("enas6", sha256=ARCHITECTURES.sha256), Source(BNLEARN), 3)
    store = StageStore(run)
    known = read_json(NUMBERS)["stages"]
    for stage in paper.stages_of("all", settings):
        one = known.get(stage.title)
        if one is not None and stage.kind not in PICTURES and one["key"] == stage.key:
            result = {"history": [], "provenance": {}, **one["result"]}  # which results.json leaves out
            record = {"stage": stage.kind, "title": stage.title, **one, "result": result, "provenance": {}}
            write_json(store.folder(stage) / RESULT, record)
    for archive in sorted(ROOT.glob("benchmarks/results/*/stages*.tar.gz")):
        unpack(archive, run)
    kept = known | numbers(store, settings)["stages"]
    measured = {**read_json(NUMBERS), "done": len(kept), "stages": kept}
    results = Results(store, settings)
    tables = [make(results, space) for make in (overview, table1, table2) for space in SPACES]
    tables += [table3(results), *(search_table(results, space) for space in SPACES), time_table(results)]
    pages = {page: page.read_text(encoding="utf-8") for page in PAGES}
    for table in tables:
        for page, text in pages.items() if table is not None else ():
            pages[page] = replaced(text, to_markdown(Document("", (table,)), run))
    return measured, pages


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
    """A page with the rows of one table, if it has it, as they are now.

    A row that was measured, and is not kept, stays.
    """
    title = next(line for line in made.splitlines() if line.startswith("**"))
    rows = [line for line in made.splitlines() if line.startswith("|")]
    lines = text.splitlines()
    if title not in lines:
        return text
    start = lines.index(title) + 2
    end = next(place for place in range(start, len(lines)) if not lines[place].startswith("|"))
    before = {tuple(line.split("|")[1:3]): line for line in lines[start:end]}
    rows = [before.get(tuple(row.split("|")[1:3]), row) if WAITING in row else row for row in rows]
    return "\n".join([*lines[:start], *rows, *lines[end:]]) + "\n"


if __name__ == "__main__":
    main()
