"""What a run's folder holds: settings, task, weights, checkpoint, measurements, lock."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from dvae import compat
from dvae.evaluation import Evaluation, Predictivity
from dvae.files import read_json
from dvae.models import load
from dvae.models.tensor_file import read_tensors
from dvae.reports import run_page
from dvae.runs import Run
from dvae.runs.config import config_file
from dvae.training import checkpoint, loop, resumable
from dvae.training.lock import FILE as LOCK
from dvae.training.lock import locked
from fuzz.mutations import changed_bytes, changed_json, changed_lines, changed_safetensors, changed_toml
from fuzz.target import Target

DAGS = b"".join(
    b'{"types": ["load", "%s", "join"], "edges": [[0, 1], [1, 2]], "score": %d}\n' % (name, score)
    for score, name in enumerate([b"clean", b"clean", b"sort", b"sort"] * 10)
)
MEASUREMENTS = ("evaluation.json", "predictivity.json", "training.json", "metrics.csv")
OWNER = b'{"host": "a", "machine": "b", "pid": 3, "started": 4, "since": 5.0}'


def trained(folder: Path) -> Path:
    """A small run with everything in it."""
    run = folder / "run"
    (folder / "dags.jsonl").write_bytes(DAGS)
    made = Run.create(run, data=folder / "dags.jsonl", hidden=4, latent=2, epochs=2, preset="paper", validation=0.2)
    made.fit(device="cpu", progress=False)
    made.evaluate(device="cpu", decodings=2, encodings=2, prior_latents=5, prior_decodings=2, progress=False)
    made.predictivity(device="cpu", repeats=1, inducing=2, baselines=False, progress=False)
    return run


def targets(folder: Path) -> list[Target]:
    run = trained(folder)
    torch.save({"a.weight": torch.arange(6.0).reshape(2, 3), "b": torch.zeros(3)}, folder / "original.pth")
    original = (folder / "original.pth").read_bytes()

    def prepare(at: Path) -> None:
        for path in run.iterdir():
            if path.is_file():
                shutil.copyfile(path, at / path.name)

    def one(name: str, file: str, read: Any, mutate: Any, share: float = 1.0) -> Target:
        return Target(name, file, read, ((run / file).read_bytes(),), mutate, prepare, share)

    return [
        Target(
            "original", "x.pth", lambda at: compat.read_original(at / "x.pth"), (original,), changed_bytes, share=0.5
        ),
        Target("lock", LOCK, _enter, (OWNER,), changed_json, share=0.3),
        one("run.toml", "run.toml", lambda at: config_file(at / "run.toml"), changed_toml, 2),
        one("run", "run.toml", Run.open, changed_toml, 0.3),
        one("model.toml", "model.toml", load, changed_toml, 0.5),
        one("task.json", "task.json", load, changed_json, 0.5),
        one("task.json of a run", "task.json", Run.open, changed_json, 0.5),
        one("weights", "model.safetensors", lambda at: read_tensors(at / "model.safetensors"), changed_safetensors),
        one("model", "model.safetensors", load, changed_safetensors, 0.5),
        one("checkpoint", checkpoint.FILE, _Resumed(run).resume, changed_safetensors),
        one("evaluation", "evaluation.json", _evaluation, changed_json),
        one("predictivity", "predictivity.json", _predictivity, changed_json),
        *(one(f"report on {name}", name, _report, _of(name), 0.1) for name in (*MEASUREMENTS, "run.toml")),
    ]


def _of(name: str) -> Any:
    return changed_json if name.endswith(".json") else changed_toml if name.endswith(".toml") else changed_lines


def _evaluation(at: Path) -> Any:
    found: Any = read_json(at / "evaluation.json")
    return Evaluation.from_mapping(found, "evaluation.json")


def _predictivity(at: Path) -> Any:
    found: Any = read_json(at / "predictivity.json")
    return Predictivity.from_mapping(found, "predictivity.json")


def _report(at: Path) -> Any:
    """The page but for its pictures, which take long and are drawn of values that were checked before."""
    facts = run_page.folder_facts(at)
    return [
        run_page._title(facts),
        run_page._settings(facts),
        run_page._evaluation(facts),
        run_page._predictivity(facts.predictivity),
        run_page._curves(facts.metrics),
        run_page._training_words(facts.training),
    ]


def _enter(at: Path) -> None:
    with locked(at):
        pass


class _Resumed:
    """Resumes a training, up to its first step."""

    def __init__(self, run: Path) -> None:
        def keep(job: Any, *_: object, **__: object) -> None:
            self.job = job
            raise KeyboardInterrupt

        with mock.patch.object(loop, "run_job", keep), contextlib.suppress(KeyboardInterrupt):
            Run.open(run).fit(resume=True, device="cpu", progress=False)

    def resume(self, at: Path) -> object:
        resumed = resumable._Loop(self.job, at, 30.0, None)
        resumed.open(True)
        return resumed.place
