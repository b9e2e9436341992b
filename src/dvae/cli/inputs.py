"""Tasks and DAGs as a user names them on the command line."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

from dvae.errors import ConfigError, FormatError, TaskError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dvae.dag import ScoredDag
    from dvae.tasks import Task

FILE_ENDINGS = (".jsonl", ".json", ".gz", ".txt", ".dot", ".gv", ".graphml", ".csv")
PREFIXES = ("file:", "bn:", "nasbench201")


def is_file_name(text: str) -> bool:
    """Whether a word means a file of DAGs and not a task."""
    if text.startswith(PREFIXES):
        return False
    return text.endswith(FILE_ENDINGS) or os.sep in text or Path(text).is_file()


def task_name(text: str) -> str:
    """The name of the task that `text`, a task or a file of DAGs, means; paths are made absolute."""
    if is_file_name(text):
        text = f"file:{text}"
    if text.startswith("file:"):
        from dvae.tasks.generic import RULES_MARK

        path, mark, rules = text.removeprefix("file:").partition(RULES_MARK)
        name = f"file:{Path(path).absolute()}"
        return with_rules(name, rules) if mark else name
    if text.startswith("bn:"):
        from dvae.bayesnet.tables import absolute_name

        return absolute_name(text)
    return text


def conditions(given: list[str] | None) -> dict[str, float] | None:
    """The conditions of `--given NAME=NUMBER`, several times or with commas between."""
    if not given:
        return None
    found: dict[str, float] = {}
    for part in (part for text in given for part in text.split(",")):
        name, equals, value = part.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not name or not equals or not math.isfinite(number):
            raise ConfigError(f"--given {part}: a condition is NAME=NUMBER, such as gain=2.5")
        if name in found:
            raise ConfigError(f"--given {part}: {name} is given twice")
        found[name] = number
    return found


def with_rules(name: str, rules: str | None) -> str:
    """The name of the task of a file of DAGs that obey `rules`: a TOML file, or a word for what is inferred."""
    from dvae.tasks.generic import RULE_WORDS, RULES_MARK

    if rules is None:
        return name
    if not name.startswith("file:"):
        raise ConfigError(f"--rules are those of a file of your own DAGs; {name} has its own")
    if rules not in RULE_WORDS:
        if not Path(rules).is_file():
            raise ConfigError(f"there is no file of rules {rules}; give a TOML file or one of {', '.join(RULE_WORDS)}")
        rules = str(Path(rules).absolute())
    return f"{name.partition(RULES_MARK)[0]}{RULES_MARK}{rules}"


def get_task(name: str) -> Task:
    """The task called `name`; what is wrong with a file of DAGs is said with its name."""
    from dvae import tasks

    try:
        return tasks.get(name)
    except TaskError as error:
        path = name.removeprefix("file:").partition("?rules=")[0]
        if not name.startswith("file:") or path in str(error):
            raise
        raise FormatError(f"{path}: {error}") from None


def task_of_file(path: Path, task: str | None, rules: str | None = None) -> Task:
    """The task named, or the smallest one that holds the DAGs of the file, which obey `rules`."""
    if task is not None:
        return get_task(with_rules(task_name(task), rules))
    if path.suffix == ".txt":
        raise TaskError(f"{path}: the original text format needs its task: add --task enas6 or --task asia")
    return get_task(with_rules(f"file:{path}", rules))


def dags_of_file(path: Path, task: str | None) -> Iterable[ScoredDag]:
    """The DAGs of a file; the original text format is read with its task."""
    if task is not None or path.suffix == ".txt":
        from dvae.tasks import read_dags

        return read_dags(task_of_file(path, task), path)
    from dvae.dag import load_dags

    return load_dags(path)
