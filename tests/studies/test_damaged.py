"""Study databases that are damaged, foreign or hostile: one sentence, never a traceback, a hang or a loss."""

from __future__ import annotations

import importlib.util
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import dvae
from dvae.dag import ScoredDag
from dvae.errors import DvaeError, StudyError
from dvae.models import VAE
from dvae.reports.study_section import StudyFacts
from dvae.studies import Study, studies_of, study_names

TASK = dvae.tasks.get("asia")
needs_optuna = pytest.mark.skipif(
    importlib.util.find_spec("optuna") is None, reason="Optuna is not installed (extra: search)"
)
NASTY: tuple[Any, ...] = (
    None, "", "nonsense", b"\xff\x00", 0, -1, 7, 2**62, 0.5, float("inf"), -1e308, "null", "[]", "{}", "3", '"text"',
    "NaN", "[" * 100_000, "9" * 5_000, '{"round": 99999999999, "strategy": null}', '{"round": -1, "strategy": 1}',
    '{"round": 0, "strategy": {"a": "b"}}', '{"types": ["a"], "edges": [[0, 0]]}', '{"pid": "x"}',
    '{"host": 3, "pid": [], "seen": "now", "token": {}}', '{"direction": "sideways"}', '{"task": 3}', "\ud800",
    '{"known_before": {"types": 3, "edges": [], "score": 1}, "task": "asia"}', '{"worker": 1, "round": "two"}',
)  # fmt: skip


TEXTS = ("value_json", "state", "study_name", "version_num")


def few_edges(dag: dvae.Dag) -> float:
    return -float(len(dag.edges))


@pytest.fixture(scope="module")
def vae() -> VAE:
    return dvae.models.build("dvae", TASK, hidden=8, latent=3, seed=0)


@pytest.fixture(scope="module")
def made(vae: VAE, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small study in each format: files `dvae.db` and `sqlite.db`."""
    folder = tmp_path_factory.mktemp("studies")
    for scheme in ("dvae", "sqlite"):
        if scheme == "dvae" or importlib.util.find_spec("optuna"):
            searched(vae, f"{scheme}:///{folder / scheme}.db")
    return folder


def searched(vae: VAE, storage: str, budget: int = 4) -> Study:
    warm = [ScoredDag(dag, few_edges(dag)) for dag in TASK.sample(3, seed=1)]
    options: dict[str, Any] = {"strategy": "evolution", "batch": 2, "initial": 2, "warm": warm, "heartbeat": 1}
    return dvae.search(vae, TASK, score=few_edges, budget=budget, storage=storage, name="one", **options)


def looked_at(storage: str) -> None:
    """All that anybody reads of a study."""
    for name in study_names(storage):
        study = Study.open(storage, name)
        try:
            _ = study.trials, study.ended, study.best(), study.failures, study.scored, study.description
            _ = study.known_before, study.improved, study.higher_is_better, StudyFacts.of(study)
            study.ledger.reports_of_finished()
            study.ledger.reclaim()
        finally:
            study.close()


def survives(vae: VAE, storage: str, what: str, *, go_on: bool = True) -> None:
    for action in (lambda: looked_at(storage), lambda: searched(vae, storage, 6))[: 2 if go_on else 1]:
        try:
            action()
        except DvaeError as error:
            if "\n" in str(error) or len(str(error)) > 1_000:
                raise AssertionError(f"{what}: not a sentence: {error!s:.100}") from error
        except Exception as error:
            raise AssertionError(f"{what}: {type(error).__name__}: {error!s:.100}") from error


def columns(path: Path) -> list[tuple[str, str]]:
    with sqlite3.connect(path) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = [(table, row[1]) for table in tables for row in connection.execute(f"PRAGMA table_info({table})")]
    connection.close()
    return found


def damaged(path: Path, table: str, column: str, value: Any) -> bool:
    connection = sqlite3.connect(path)
    try:
        connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
        connection.commit()
    except (sqlite3.Error, UnicodeEncodeError):  # the format itself refuses it
        return False
    finally:
        connection.close()
    return True


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that is damaged gets better by waiting."""
    monkeypatch.setattr("dvae.studies.presence.WATCH_SECONDS", 0.01)
    monkeypatch.setattr("dvae.studies.optuna_ledger.ATTEMPTS", 1)
    monkeypatch.setattr("dvae.studies.optuna_ledger.OPENINGS", 1)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("scheme", "count"),
    [
        ("dvae", 2),
        pytest.param("sqlite", 1, marks=needs_optuna),
        pytest.param("dvae", len(NASTY), marks=pytest.mark.slow),
        pytest.param("sqlite", len(NASTY), marks=[needs_optuna, pytest.mark.slow]),
    ],
)
def test_every_column_with_nasty_values(scheme: str, count: int, vae: VAE, made: Path, tmp_path: Path) -> None:
    path, chance = tmp_path / "study.db", random.Random(0)
    for table, column in columns(made / f"{scheme}.db"):
        if count == 1 and column not in TEXTS:
            continue  # Optuna takes a quarter of a second to open a file
        for value in chance.sample(NASTY, count):
            shutil.copy(made / f"{scheme}.db", path)
            if damaged(path, table, column, value):
                survives(vae, f"{scheme}:///{path}", f"{table}.{column} = {value!r:.60}", go_on=count > 1)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("scheme", ["dvae", pytest.param("sqlite", marks=[needs_optuna, pytest.mark.slow])])
def test_every_table_missing(scheme: str, vae: VAE, made: Path, tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    for table in {table for table, _ in columns(made / f"{scheme}.db")}:
        shutil.copy(made / f"{scheme}.db", path)
        connection = sqlite3.connect(path)
        connection.execute(f"DROP TABLE {table}")
        connection.close()
        survives(vae, f"{scheme}:///{path}", f"without {table}")


def test_changed_bytes(made: Path, tmp_path: Path) -> None:
    whole, chance, path = (made / "dvae.db").read_bytes(), random.Random(0), tmp_path / "study.db"
    for _ in range(150):
        content = bytearray(whole[: chance.randrange(len(whole))] if chance.random() < 0.2 else whole)
        for _ in range(chance.randint(1, 20)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        path.write_bytes(content)
        for action in (looked_at, study_names):
            try:
                action(f"dvae:///{path}")
            except DvaeError:
                continue


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (
            "DROP TABLE notes; CREATE VIEW notes AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "
            "SELECT 1 AS study, 'dvae' AS key, n AS value FROM r",
            "it holds the view notes",  # which would never end
        ),
        (
            "CREATE TRIGGER t AFTER UPDATE ON trials BEGIN DELETE FROM trials; END",
            "it holds the trigger t",
        ),
        ("DROP TABLE reports", "it lacks the table reports"),
    ],
)
def test_a_file_that_holds_programs_is_refused(program: str, words: str, made: Path, tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    shutil.copy(made / "dvae.db", path)
    connection = sqlite3.connect(path)
    connection.executescript(program)
    connection.close()
    with pytest.raises(StudyError, match=words):
        study_names(f"dvae:///{path}")


def test_a_round_that_cannot_be_is_not_counted_to(vae: VAE, made: Path, tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    shutil.copy(made / "dvae.db", path)
    connection = sqlite3.connect(path)
    changed = '{"round": 99999999999, "strategy": null}'
    connection.execute("UPDATE notes SET value = ? WHERE key = 'dvae:state'", (changed,))
    connection.commit()
    connection.close()
    with pytest.raises(StudyError, match="where its strategy stood cannot be read"):
        searched(vae, f"dvae:///{path}", 6)


def test_a_run_whose_studies_are_damaged_says_so(made: Path, tmp_path: Path) -> None:
    (tmp_path / "studies.db").write_bytes((made / "dvae.db").read_bytes()[:5000])
    with pytest.raises(StudyError, match=r"studies\.db"):
        _ = [study.trials for study in studies_of(tmp_path)]
