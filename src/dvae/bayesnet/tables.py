"""The data that Bayesian networks are scored on, by name: embedded Asia rows, bnlearn's, or a user's CSV file."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np

from dvae.bayesnet.discrete import DiscreteData
from dvae.data.cache import data_folder
from dvae.errors import MissingError, TaskError

ASIA_VARIABLES = ("A", "S", "T", "L", "B", "E", "X", "D")
ASIA_ROWS = 5_000  # as many as the paper's (appendix I)
ASIA_SEED = 0
EMBEDDED = "asia"
BNLEARN = "asia-bnlearn"
BNLEARN_FILE = Path("asia/asia.csv")
PREFIX = "bn:"
TABLE_ENDINGS = (".csv", ".csv.gz")
ORDER_MARK = "?order="


def load_table(table: str) -> DiscreteData:
    """The data of a table: `asia`, `asia-bnlearn`, or the path of a CSV file."""
    if table == EMBEDDED:
        return embedded_asia()
    if table != BNLEARN:
        return DiscreteData.read_csv(table)
    path = data_folder() / BNLEARN_FILE
    if not path.is_file():
        raise MissingError(
            f"bnlearn's Asia data are not at {path}: set DVAE_DATA to the folder that holds {BNLEARN_FILE} "
            f"(in R: write.csv(bnlearn::asia, row.names = FALSE)), or take the embedded rows, the task {EMBEDDED}"
        )
    return DiscreteData.read_csv(path)


def table_of(name: str) -> str | None:
    """The table that the task called `name` scores its networks on, if it has one."""
    base, _ = split_order(name)
    if base in (EMBEDDED, BNLEARN):
        return base
    path = base.removeprefix(PREFIX)
    is_file = path != base and (path.lower().endswith(TABLE_ENDINGS) or os.path.isfile(path))  # noqa: PTH113 - any text
    return path if is_file else None


def absolute_table(table: str) -> str:
    """The same table, from wherever it is asked for."""
    return table if table in (EMBEDDED, BNLEARN) else str(Path(table).absolute())


def absolute_name(name: str) -> str:
    """The same task, from wherever it is asked for: the path of its table, if it is a file, made absolute."""
    table, (base, _) = table_of(name), split_order(name)
    if table is None or table == base:
        return name
    return PREFIX + absolute_table(table) + name.removeprefix(base)


def split_order(name: str) -> tuple[str, tuple[str, ...] | None]:
    """`bn:my.csv?order=A,S,T` as `bn:my.csv` and the variables in their order; names with commas are quoted."""
    base, mark, text = name.partition(ORDER_MARK)
    if not mark or name.startswith("file:"):
        return name, None
    return base, parse_order(text)


def parse_order(text: str) -> tuple[str, ...]:
    try:
        (names,) = csv.reader([text], strict=True, skipinitialspace=True)
    except (csv.Error, ValueError):
        raise TaskError(f"the order {text!r} is not a list of names, separated by commas") from None
    return tuple(name.strip() for name in names)


def with_order(name: str, order: Sequence[str]) -> str:
    """The name of a task with the order of its variables."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(order)
    return f"{name}{ORDER_MARK}{text.getvalue()}"


def embedded_asia() -> DiscreteData:
    """The rows of `sample_asia`, kept as counts: they stay the same whatever becomes of numpy's generators."""
    text = resources.files("dvae.bayesnet").joinpath("asia_counts.csv").read_text(encoding="utf-8")
    header, *lines = csv.reader(text.splitlines())
    rows = [row for *row, count in lines for _ in range(int(count))]
    return DiscreteData.from_columns(header[:-1], list(zip(*rows, strict=True)))


def sample_asia(rows: int, seed: int) -> DiscreteData:
    """Rows drawn from the published Asia network (Lauritzen and Spiegelhalter, 1988)."""
    chance = np.random.Generator(np.random.PCG64(seed)).random((len(ASIA_VARIABLES), rows))
    visit = chance[0] < 0.01
    smoking = chance[1] < 0.5
    tuberculosis = chance[2] < np.where(visit, 0.05, 0.01)
    cancer = chance[3] < np.where(smoking, 0.1, 0.01)
    bronchitis = chance[4] < np.where(smoking, 0.6, 0.3)
    either = tuberculosis | cancer
    xray = chance[6] < np.where(either, 0.98, 0.05)
    dyspnoea = chance[7] < np.where(either, np.where(bronchitis, 0.9, 0.7), np.where(bronchitis, 0.8, 0.1))
    table = np.stack([visit, smoking, tuberculosis, cancer, bronchitis, either, xray, dyspnoea], axis=1)
    return DiscreteData(ASIA_VARIABLES, table.astype(np.intp), (("no", "yes"),) * len(ASIA_VARIABLES))
