"""What commands keep for later: predictors, bookmarks, studies, trained networks; and what others publish as tables."""

from __future__ import annotations

import contextlib
import json
import pickle
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any
from unittest import mock

import dvae
from dvae.dag import Dag, ScoredDag, load_dags, write_jsonl
from dvae.evaluation import prediction
from dvae.explorer import places
from dvae.explorer.bookmarks import FILE as BOOKMARKS
from dvae.explorer.bookmarks import Bookmarks
from dvae.files import read_json
from dvae.nas import trained_module
from dvae.paper import searches
from dvae.reports.study_section import StudyFacts
from dvae.runs import Run, chooser
from dvae.runs.listing import summary
from dvae.runs.predictor import DESCRIPTION, TENSORS
from dvae.studies import Study, study_names
from dvae.studies.ledger import MemoryLedger
from dvae.tasks import EnasTask
from dvae.tasks.expressions import ExpressionsTask
from dvae.tasks.plain_pickle import read_table
from dvae.training.tracking import FILE as TRACKING
from dvae.training.tracking import recalled
from faults.scenario import called
from fuzz.mutations import changed_bytes, changed_json, changed_lines, changed_safetensors, changed_value
from fuzz.target import Target

PLACES = (
    b'{"known": 2}', b'{"latent": [0.5, 1, -2]}', b'{"types": ["a", "b"], "edges": [[0, 1]], "called": "mine"}',
    b'{"base": {"known": 1}, "given": {"gain": 2.5}}',
)  # fmt: skip
FORMULAS = b"expression,log1p_mse\nsin(x) + 2 * x,0.5\nexp(x / 3),1.25\n"
TABLE = {number: {"perf": number / 7, "valid_perf": 0.5, "latency": 1e-3} for number in (17, 1204, 90003)}
ROUNDS = (
    b'{"rounds": [{"scores": [0.5, -1], "dags": [{"types": ["a", "b"], "edges": [[0, 1]]}, {"types": ["a"], '
    b'"edges": []}], "seconds": 1.5}], "strategy": {"seed": 3}}'
)
MEASURED = b'{"gain": {"property": "gain", "labels": 10}, "noise": {"x": [1, 2.5, null]}}'


def targets(folder: Path) -> list[Target]:
    run, study, trained = _predicted(folder), _study(folder), _trained(folder)

    def in_run(name: str, file: str, read: Any, mutate: Any, share: float, content: bytes | None = None) -> Target:
        example = (run / file).read_bytes() if content is None else content
        return Target(name, file, read, (example,), mutate, lambda at: _copied(run, at), share)

    def in_network(name: str, file: str, mutate: Any) -> Target:
        example = (trained / file).read_bytes()
        return Target(name, file, trained_module, (example,), mutate, lambda at: _copied(trained, at), 0.1)

    return [
        in_run("predictor", DESCRIPTION, _predictor, changed_json, 0.1),
        in_run("predictor's tensors", TENSORS, _predictor, changed_safetensors, 0.1),
        in_run("chooser", chooser.DESCRIPTION, _chooser, changed_json, 0.1),
        in_run("chooser's tensors", chooser.TENSORS, _chooser, changed_safetensors, 0.1),
        in_run("training in a list", "training.json", summary, changed_json, 0.3),
        in_run("generation", "generation.json", summary, changed_json, 0.2, MEASURED),
        in_run("trackers", TRACKING, lambda at: recalled(at, "mlflow"), changed_json, 0.3, b'{"mlflow": "abc"}'),
        Target("bookmarks", BOOKMARKS, lambda at: Bookmarks(at / BOOKMARKS).read(),
               (b'[{"name": "a", "place": {"known": 1}}, {"name": "b", "place": {"latent": [1.5]}}]',), changed_json),
        Target("places of a page", "x.json", _place, PLACES, changed_json),
        Target("rounds of a search", "x.json", lambda at: searches._resumed(MemoryLedger(), at / "x.json"), (ROUNDS,),
               changed_json),
        Target("expressions", "x.csv", lambda at: ExpressionsTask().read(at / "x.csv"), (FORMULAS,), changed_lines),
        Target("pickle", "x.bench", lambda at: read_table(at / "x.bench"),
               tuple(pickle.dumps(TABLE, protocol) for protocol in (2, 4)), changed_bytes, share=2),
        Target("study", "x.db", _look, (study,), _changed_database, share=0.5),
        in_network("trained network", "result.json", changed_json),
        in_network("trained network's weights", "checkpoint.safetensors", changed_safetensors),
    ]  # fmt: skip


def _copied(source: Path, at: Path) -> None:
    for path in source.iterdir():
        if path.is_file():
            shutil.copyfile(path, at / path.name)


def _predicted(folder: Path) -> Path:
    """A run with a predictor, and regressors to choose by."""
    items = []
    for number in range(70):
        types = ("in", *["amp"] * (1 + number % 3), "out")
        edges = tuple((node, node + 1) for node in range(len(types) - 1))
        items.append(ScoredDag(Dag(types, edges, properties={"gain": float(len(types))}), number / 7))
    write_jsonl(folder / "amps.jsonl", items)
    run = folder / "predicted"
    small = {"hidden": 4, "latent": 2, "epochs": 1, "preset": "paper", "conditions": ("gain",)}
    made = Run.create(run, data=folder / "amps.jsonl", validation=0.2, **small)
    made.fit(device="cpu", progress=False)
    few = {"seed": 0, "trees": 4, "progress": None}
    with mock.patch.object(prediction.fit_predictor, "__kwdefaults__", few):
        made.predictor(device="cpu")
    made.chooser(["gain"], device="cpu")
    return run


def _predictor(at: Path) -> Any:
    """What is kept, or the reason why there is nothing; it is not fitted anew."""
    opened = Run.open(at)
    dags = [item.dag for item in load_dags(str(opened.config.data))[:2]]
    with mock.patch("dvae.runs.run.fit_predictor", side_effect=dvae.errors.DvaeError("no predictor of this run")):
        return opened.predict(dags, device="cpu")


def _chooser(at: Path) -> Any:
    """What is kept to choose by, or the reason why there is nothing; it is not fitted anew."""
    opened = Run.open(at)
    dags = [item.dag for item in load_dags(str(opened.config.data))[:2]]
    with mock.patch("dvae.evaluation.choice.fit_chooser", side_effect=dvae.errors.DvaeError("nobody to choose")):
        return opened.chooser(["gain"], device="cpu").surrogates["gain"].predict(dags)


def _place(at: Path) -> Any:
    return places.from_json(read_json(at / "x.json"), known=5, latent=3)


def _study(folder: Path) -> bytes:
    """A finished search in a database."""
    task, storage = dvae.tasks.get("asia"), f"dvae:///{folder / 'study.db'}"
    vae = dvae.models.build("dvae", task, hidden=4, latent=2, seed=0)
    dvae.search(vae, task, storage=storage, name="one", strategy="evolution", budget=4, batch=2, initial=2).close()
    return (folder / "study.db").read_bytes()


def _look(at: Path) -> None:
    """All that anybody reads of a study."""
    storage = f"dvae:///{at / 'x.db'}"
    for name in study_names(storage):
        with contextlib.closing(Study.open(storage, name)) as study:
            _ = study.trials, study.ended, study.best(), study.failures, study.scored, study.known_before
            StudyFacts.of(study)


def _changed_database(content: bytes, chance: random.Random) -> bytes:
    """Another value in a row, inside its JSON or instead of it; or other bytes."""
    if chance.random() < 0.3:
        return changed_bytes(content, chance)
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(content)
        table = chance.choice(["notes", "trials"])
        names = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        name, row = chance.choice(names), chance.choice(database.execute(f"SELECT rowid FROM {table}").fetchall())[0]
        (value,) = database.execute(f"SELECT {name} FROM {table} WHERE rowid = ?", (row,)).fetchone()
        with contextlib.suppress(sqlite3.Error, OverflowError, UnicodeError):  # a value that no database takes
            database.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", (_other(value, chance), row))
            database.commit()
        return database.serialize()


def _other(value: Any, chance: random.Random) -> Any:
    try:
        return json.dumps(changed_value(json.loads(value), chance))
    except (TypeError, ValueError):
        return chance.choice([None, "", "x", -1, 2**62, 0.5, float("inf"), b"\xff\x00", "[" * 10_000])


def _trained(folder: Path) -> Path:
    """A network as `dvae nas train` leaves it."""
    write_jsonl(folder / "cell.jsonl", EnasTask(2).sample(1, seed=0))
    words = ("--recipe", "digits", "--data", "digits", "--epochs", 1, "--top", 1, "--set", "network.width=2")
    result = called(("nas", "train", folder / "cell.jsonl", *words, "--out", folder / "trained"))
    assert result.exit_code == 0, result.stderr
    return next(path.parent for path in sorted((folder / "trained").rglob("result.json")))
