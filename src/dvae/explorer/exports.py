"""DAGs as files to download."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dvae.dag import ScoredDag, to_dot
from dvae.dag.jsonl import format_line
from dvae.errors import DvaeError
from dvae.explorer.graph_view import DIRECTION, task_style
from dvae.explorer.places import RequestError
from dvae.figures import Direction, arrangement, to_svg
from dvae.tasks import ExportFormat, Task

MAX_DAGS = 1_000  # in one file
MAX_DRAWN = 100


@dataclass(frozen=True)
class Export:
    """A file: its name and its content."""

    name: str
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()


@dataclass(frozen=True)
class Format:
    """A kind of file that holds any number of DAGs."""

    key: str
    label: str
    ending: str
    write: Callable[[Sequence[ScoredDag], Task, Direction], str]


def formats_of(task: Task) -> tuple[Format | ExportFormat, ...]:
    """The kinds of file that DAGs of `task` can be written to."""
    return (JSONL, DOT, SVG, *task.exports())


def export(items: Sequence[ScoredDag], key: object, task: Task, direction: Direction = DIRECTION) -> Export:
    """The file of these DAGs; a zip archive where the format holds one DAG and there are several."""
    formats = formats_of(task)
    chosen = next((format for format in formats if format.key == key), None)
    if chosen is None:
        raise RequestError(f"{task.name} has no such format; choose one of {', '.join(f.key for f in formats)}")
    if not items:
        raise RequestError("choose at least one DAG to export")
    if len(items) > MAX_DAGS:
        raise RequestError(f"one file holds at most {MAX_DAGS:,} DAGs, not {len(items):,}")
    stem = re.sub(r"[^A-Za-z0-9]+", "-", task.name.split("/")[-1]).strip("-").lower() or "dvae"
    plural = "dag" if len(items) == 1 else f"{len(items)}-dags"
    try:
        if isinstance(chosen, Format):
            return Export(f"{stem}-{plural}{chosen.ending}", chosen.write(items, task, direction).encode())
        texts = [chosen.write(item.dag) for item in items]
    except RequestError:
        raise
    except DvaeError as error:  # of the task: this DAG has no such file
        raise RequestError(str(error)) from None
    if len(texts) == 1:
        return Export(f"{stem}-{plural}{chosen.ending}", texts[0].encode())
    names = [f"{stem}-dag-{number}{chosen.ending}" for number in range(1, len(texts) + 1)]
    return Export(f"{stem}-{plural}.zip", _zip(dict(zip(names, texts, strict=True))))


def _zip(files: dict[str, str]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, text in files.items():
            opened.writestr(name, text)
    return archive.getvalue()


def _jsonl(items: Sequence[ScoredDag], task: Task, direction: Direction) -> str:
    return "".join(format_line(item) + "\n" for item in items)


def _dot(items: Sequence[ScoredDag], task: Task, direction: Direction) -> str:
    return "\n".join(to_dot(item.dag) for item in items)


def _svg(items: Sequence[ScoredDag], task: Task, direction: Direction) -> str:
    if len(items) > MAX_DRAWN:
        raise RequestError(f"one picture holds at most {MAX_DRAWN} DAGs, not {len(items)}")
    titles = ["" if item.score is None else f"{item.score:,.4f}" for item in items]
    style = replace(task_style(task), background="#ffffff")
    dags, shown = [item.dag for item in items], titles if any(titles) else None
    return to_svg(dags, titles=shown, style=style, arrange=arrangement(direction))


JSONL = Format("jsonl", "JSONL", ".jsonl", _jsonl)
DOT = Format("dot", "DOT (Graphviz)", ".dot", _dot)
SVG = Format("svg", "SVG picture", ".svg", _svg)
