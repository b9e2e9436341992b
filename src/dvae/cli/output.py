"""How results look: JSON and DAGs on standard output, tables for people, notes on standard error."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dvae.errors import ConfigError
from dvae.files import finite

if TYPE_CHECKING:
    from dvae.dag import Dag, DagBatch, ScoredDag
    from dvae.figures import DagStyle, Direction
    from dvae.tasks import Task

MAX_DRAWN = 64  # more than these no one can see in one picture
MAX_EXPLAINED = 1000  # invalid DAGs are asked for the rule they break
MAX_REASONS = 3  # told to a person
MAX_DAG_TEXT = 400  # characters of a DAG in a table
PROGRAM = "dvae"
COMMANDS = (
    *(
        "demo",
        "train",
        "evaluate",
        "predictivity",
        "predict",
        "search",
        "worker",
        "sample",
        "encode",
        "decode",
        "explore",
    ),
    *("import", "import-checkpoint", "reproduce", "report", "nas", "bn", "data", "score", "draw", "diff", "models"),
    *("settings", "runs", "compare"),
)
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")  # what JSON may hold and a terminal may not
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
COMMAND = re.compile(rf"(?<![\w/.:=-])dvae (?=({'|'.join(COMMANDS)})\b)")
DAG_ENDINGS = (".jsonl", ".jsonl.gz")
PICTURE_ENDINGS = (".svg", ".png")


def print_json(answer: object) -> None:
    """One JSON value and nothing else."""
    text = json.dumps(finite(answer), indent=2, ensure_ascii=False, allow_nan=False)
    print(_UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def note(sentence: str) -> None:
    """A sentence for the person at the terminal, which no program reads; commands in it can be typed as they are."""
    print(printable(COMMAND.sub(f"{program()} ", sentence)), file=sys.stderr)


def printable(text: str) -> str:
    """The text as a terminal may show it: names can hold control characters and halves of surrogate pairs."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def program() -> str:
    """How this program is called here: `dvae` where the shell finds it, else as it was called."""
    called = Path(sys.argv[0])
    found = shutil.which(PROGRAM)
    if called.name == "__main__.py" and called.parent.name == PROGRAM and found is None:
        return f"{_python()} -m {PROGRAM}"
    if called.name != PROGRAM or (found is not None and Path(found).exists() and Path(found).samefile(called)):
        return PROGRAM
    return str(called)


def _python() -> str:
    """The interpreter, by its name where the shell's path leads to its folder."""
    python = Path(sys.executable)
    return python.name if str(python.parent) in os.get_exec_path() else str(python)


def print_table(
    rows: Iterable[Sequence[str]], *, title: str | None = None, header: Sequence[str] | None = None
) -> None:
    """Aligned columns; the first names the others. In a file or a pipe: plain text, one line per row."""
    rows = [tuple(printable(cell).replace("\n", "\\n") for cell in row) for row in rows]
    title = None if title is None else printable(title)
    if not sys.stdout.isatty():
        _print_plain([*([header] if header else []), *rows], title)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_header=header is not None, title=title, title_justify="left")
    for position in range(len(rows[0])):
        name = "" if header is None else header[position]
        table.add_column(name, style="bold" if position == 0 else None, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def dag_cell(dag: Dag, task: Task) -> str:
    """A DAG in a table: as the task writes it, or its size where that would fill the screen."""
    text = task.format(dag)
    return text if len(text) <= MAX_DAG_TEXT else f"{len(dag)} nodes, {len(dag.edges)} edges"


def _print_plain(rows: Sequence[Sequence[str]], title: str | None) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if title is not None:
        print(title)
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def check_ending(path: Path | None, endings: Sequence[str], what: str) -> None:
    """Refuses a file that could not be written, before any work is done for it."""
    if path is not None and not path.name.lower().endswith(tuple(endings)):
        raise ConfigError(f"{path}: {what} goes to a file that ends in {' or '.join(endings)}")
    if path is not None and path.is_dir():
        raise ConfigError(f"{path}: this is a folder where a file is to be written")


def check_outputs(out: Path | None, picture: Path | None) -> None:
    check_ending(out, DAG_ENDINGS, "a list of DAGs")
    check_ending(picture, PICTURE_ENDINGS, "a picture")


def check_folder(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise ConfigError(f"{path} is a file; results need a folder")


def print_note(text: str) -> None:
    """What must be said beside numbers, if anything."""
    if text:
        note(f"Note: {text}.")


def broken_rules(task: Task, dags: Sequence[Dag]) -> dict[str, tuple[int, str]]:
    """How many of these invalid DAGs break which rule first, and how the first of them does, most frequent first."""
    counts: Counter[str] = Counter()
    example: dict[str, str] = {}
    for dag in dags[:MAX_EXPLAINED]:
        rule, _, detail = (task.why_invalid(dag) or f"it breaks the rules of {task.name}").partition(": ")
        counts[rule] += 1
        example.setdefault(rule, detail)
    return {rule: (count, example[rule]) for rule, count in counts.most_common()}


def print_dags(task: Task, batch: DagBatch, out: Path | None, picture: Path | None, as_json: bool) -> None:
    """DAGs as an answer: to a file, as JSON, or a line each on standard output; and perhaps as a picture."""
    from dvae.dag import to_plain, write_jsonl
    from dvae.dag.jsonl import format_line

    dags, valid = task.unbatch(batch), task.valid(batch).tolist()
    broken = broken_rules(task, [dag for dag, good in zip(dags, valid, strict=True) if not good])
    if picture is not None:
        from dvae.figures import task_style

        draw_dags(picture, dags, style=task_style(task))
    if out is not None:
        write_jsonl(out, dags)
    if as_json:
        answer: dict[str, object] = {"count": len(dags), "valid": sum(valid)}
        answer["broken_rules"] = {rule: count for rule, (count, _) in broken.items()}
        if out is None:
            answer["dags"] = [to_plain(dag) for dag in dags]
        else:
            answer["file"] = str(out)
        if picture is not None:
            answer["picture"] = str(picture)
        print_json(answer)
        return
    if out is None:
        for dag in dags:
            print(format_line(dag))
    note(f"{counted(len(dags), 'DAG')}, {sum(valid):,} valid" + (f", in {out}" if out else ""))
    for rule, (count, detail) in list(broken.items())[:MAX_REASONS]:
        note(f"  not valid: {counted(count, 'DAG')}, {rule}" + (f" (the first: {detail})" if detail else ""))


def draw_dags(
    picture: Path,
    dags: Sequence[Dag],
    titles: Sequence[str] | None = None,
    style: DagStyle | None = None,
    direction: Direction = "down",
) -> None:
    """A grid of DAGs in a file, at most as many as anybody can see."""
    from dvae.figures import arrangement, save_dags

    shown = list(dags)[:MAX_DRAWN]
    words = None if titles is None else list(titles)[:MAX_DRAWN]
    save_dags(picture, shown, titles=words, style=style, arrange=arrangement(direction))
    drawn = f"the first {MAX_DRAWN} of {len(dags):,} DAGs" if len(dags) > len(shown) else counted(len(dags), "DAG")
    note(f"drew {drawn} to {picture}")


def score_titles(items: Sequence[ScoredDag]) -> list[str] | None:
    """The scores as titles, if there are any."""
    if all(item.score is None for item in items):
        return None
    return ["" if item.score is None else f"{item.score:.4g}" for item in items]


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
