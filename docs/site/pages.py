"""Pages that are written from the code: the command line, the settings, the public names."""

from __future__ import annotations

import importlib
import inspect
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from dvae.cli.main import app
from dvae.config import described
from dvae.models import DECODERS, ENCODERS, MODELS, ModelConfig
from dvae.nas.supernet_config import SupernetConfig
from dvae.runs import RunConfig
from dvae.studies import SearchConfig
from dvae.training import TrainingConfig

EMPTY = (None, "")
ROOMS = (
    *("dag", "tasks", "models", "runs", "training", "evaluation", "strategies", "studies"),
    *("bayesnet", "nas", "figures", "regression", "data", "importers", "compat", "errors"),
    *("sklearn", "optuna", "botorch", "poli"),
)


def cli_page() -> str:
    """Every command with its arguments and options."""
    group: Any = typer.main.get_command(app)
    parts = [
        "# The command line",
        "Written from the commands themselves; `dvae COMMAND --help` prints the same. `python -m dvae` is `dvae`.",
        "Bad input ends with one sentence and exit code 2, a training that diverges or a stage that fails with 1, "
        "Ctrl-C with 130. `--json` prints one JSON value on standard output and nothing else; notes and progress go to "
        "standard error.",
        *_command(group, "dvae", 2),
    ]
    return "\n\n".join(parts) + "\n"


def _command(command: Any, name: str, level: int) -> Iterator[str]:
    yield f"{'#' * level} {name}"
    if level > 2 and command.help:
        yield _words(command.help)
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    usage = " ".join([name, *(["[OPTIONS]"] if options else []), *map(_metavar, arguments)])
    yield f"```text\n{usage}{' COMMAND ...' if hasattr(command, 'commands') else ''}\n```"
    rows = [(_metavar(each), getattr(each, "help", "") or "", each) for each in arguments]
    rows += [(_option_names(each), each.help or "", each) for each in options]
    if rows:
        lines = [f"| {_code(names)} | {_cell(text)} | {_default(each)} |" for names, text, each in rows]
        yield "\n".join(["| | | default |", "| --- | --- | --- |", *lines])
    for inner in getattr(command, "commands", {}).values():
        yield from _command(inner, f"{name} {inner.name}", 3 if level == 2 else 4)


def _words(text: str) -> str:
    """A command's help without the marks of the terminal; what to try becomes code."""
    text = re.sub(r"\[/?(bold|dim|italic)\]", "", inspect.cleandoc(text)).replace("\\[", "[")
    return re.sub(r"Try: (dvae .+)$", r"Try: `\1`", text.replace("\f", ""), flags=re.M)


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or (parameter.name or "").upper())


def _option_names(option: Any) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    if option.is_flag or option.count:
        return names
    return f"{names} {option.metavar or _kind(option)}"


def _kind(option: Any) -> str:
    """What stands for an option's value; Typer's own types differ from version to version."""
    hint = getattr(getattr(option, "type_descriptor", None), "annotation", None)
    if typing.get_origin(hint) is typing.Literal:
        return "|".join(map(str, typing.get_args(hint)))
    return {int: "N", float: "NUMBER", str: "TEXT", Path: "PATH"}.get(hint, "VALUE")


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.required:
        return "needed"
    if value is None or value is False or callable(value) or (value in ((), [], 0) and getattr(parameter, "count", 0)):
        return ""
    return _code(str(value))


def settings_page() -> str:
    """All settings, from the classes that hold them."""
    parts = [
        "# Settings",
        "Written from the classes that hold them. `--set model.hidden=128` changes one on the command line, a TOML "
        "file (`--config`) several, and in Python they are arguments by name (`dvae.Run.create(..., hidden=128)`). "
        "`dvae settings --model NAME` prints those of one model. An empty default means: what the task suggests, as "
        "published, or no limit.",
        "## Of a run",
        _table(RunConfig),
        "## Of training",
        "With the prefix `training.`, e.g. `--set training.clip=5`.",
        _table(TrainingConfig),
        "## Of every model",
        "With the prefix `model.`, e.g. `--set model.hidden=128`.",
        _table(ModelConfig),
    ]
    common = {each.name for each in described(ModelConfig)}
    for name in MODELS:
        own = [each for each in described(ModelConfig.class_for({"name": name})) if each.name not in common]
        if own:
            parts += [f"### Of {name}", _rows(own)]
    encoders, decoders = (", ".join(f"`{name}`" for name in kind.names()) for kind in (ENCODERS, DECODERS))
    parts += [
        f"Any encoder ({encoders}) goes with any decoder ({decoders}): `--model ENCODER+DECODER` has the settings of "
        "both.",
        "## Of a search",
        "In Python the fields of `dvae.studies.SearchConfig`; on the command line options of "
        "[`dvae search`](cli.md#dvae-search).",
        _table(SearchConfig),
        "## Of a supernet",
        "`dvae nas train-supernet --set KEY=VALUE`.",
        _table(SupernetConfig),
    ]
    return "\n\n".join(parts) + "\n"


def _table(cls: type[Any]) -> str:
    return _rows(described(cls))


def _rows(settings: list[Any]) -> str:
    lines = [
        f"| `{each.name}` | {_code(str(each.default)) if each.default not in EMPTY else ''} | {_cell(each.kind)} "
        f"| {_cell(each.description)} |"
        for each in settings
    ]
    return "\n".join(["| setting | default | value | meaning |", "| --- | --- | --- | --- |", *lines])


def api_pages() -> dict[str, str]:
    """A page for every room that users need, and one that leads to them."""
    links = {room: importlib.import_module(f"dvae.{room}") for room in ROOMS}
    rows = [f"| [`dvae.{room}`]({room}.md) | {_summary(module)} |" for room, module in links.items()]
    toc = "\n".join(["```{toctree}", ":hidden:", "", *ROOMS, "```"])
    index = [
        "# The library",
        "Written from the docstrings. `import dvae` offers the six nouns and the functions below, and imports nothing "
        "heavy until a name is used.",
        "\n".join(["| | |", "| --- | --- |", *_face()]),
        "\n".join(["| module | |", "| --- | --- |", *rows]),
        toc,
    ]
    pages = {"index": "\n\n".join(index) + "\n"}
    for room in ROOMS:
        pages[room] = f"# dvae.{room}\n\n```{{eval-rst}}\n.. automodule:: dvae.{room}\n   :members:\n```\n"
    return pages


def _face() -> Iterator[str]:
    import dvae

    for name in dvae.__all__:
        thing = getattr(dvae, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            room = thing.__module__.split(".")[1]
            if room in ROOMS:
                yield f"| {{py:obj}}`dvae.{name} <dvae.{room}.{name}>` | {_summary(thing)} |"


def _summary(thing: object) -> str:
    return _cell((inspect.getdoc(thing) or "").split("\n")[0])


def _cell(text: str) -> str:
    return " ".join(_words(text).split()).replace("|", "\\|").replace("<", "&lt;")


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")
