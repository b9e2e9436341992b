"""The commands that search, predict and measure with a run, and those that make a run of something else."""

from __future__ import annotations

import contextlib
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import torch

from faults.scenario import Scenario, called
from models.oracle import KINDS, random_state

Words = Callable[[Path], tuple[object, ...]]
SMALL = ("--set", "model.hidden=6", "--set", "model.latent=3", "--epochs", 1, "--validation", 0.2)
SEARCH = (
    "--heartbeat",
    1,
    "--budget",
    4,
    "--batch",
    2,
    "--strategy",
    "random",
    "--known",
    "none",
    "--initial",
    2,
    "--warm",
    0,
)


def scenarios(folder: Path) -> list[Scenario]:
    ran, table = folder / "asia", folder / "table"

    def on_run(name: str, *words: object, result: str | None = None) -> Scenario:
        return Scenario(name, ran, filled(*words), result=result, prepare=_trained, around=few_trees)

    def on_table(name: str, *words: object, result: str | None = None) -> Scenario:
        return Scenario(name, table, filled(*words), result=result, prepare=_written)

    return [
        on_run("search", "search", "@run", *SEARCH, "--out", "@found.jsonl", "--draw", "@f.svg", result="found.jsonl"),
        on_run("search --retrain", "search", "@run", *SEARCH, "--retrain", 2, "--out", "@found.jsonl"),
        on_run("predictivity", "predictivity", "@run", "--repeats", 1, "--preset", "paper", "--train-limit", 8),
        on_run("predict", "predict", "@run", "@scored.jsonl", "--out", "@p.csv"),
        on_run("predict --refit", "predict", "@predicted", "@scored.jsonl", "--refit", "--out", "@p.jsonl"),
        on_table("bn learn", "bn", "learn", "@t.csv", "--out", "@n.bif", "--bootstrap", 2, "--workers", 1),
        on_table(
            *("bn bootstrap", "bn", "bootstrap", "@t.csv", "--out", "@e.json", "--network", "@n.json"),
            *("--draw", "@n.svg", "-n", 3, "--workers", 1),
            result="e.json",
        ),
        Scenario("import-checkpoint", table, _import, _import_or_use, prepare=_written),
    ]


def filled(*words: object) -> Words:
    """Words of which those that begin with @ are paths in the folder."""

    def fill(at: Path) -> tuple[object, ...]:
        return tuple(at / str(word)[1:] if str(word).startswith("@") else word for word in words)

    return fill


def _import(at: Path) -> tuple[object, ...]:
    return ("import-checkpoint", at / "original.pth", at / "new", "--original", "dvae_bn", "--task", "asia")


def _import_or_use(at: Path) -> tuple[object, ...]:
    """What is imported is never overwritten: where all is there, though its folder could not be synced, it serves."""
    is_there = (at / "new" / "model.safetensors").is_file()
    return ("sample", at / "new", "--count", 1) if is_there else _import(at)


def _trained(before: Path) -> None:
    before.mkdir(parents=True)
    run = before / "run"
    _done("data", "asia", "--size", 80, "--out", before / "scored.jsonl")
    _done("train", "--task", "asia", "--data", before / "scored.jsonl", "--run", run, *SMALL)
    toml = run / "run.toml"
    toml.write_text(toml.read_text().replace(str(before / "scored.jsonl"), "../scored.jsonl"))
    shutil.copytree(run, before / "predicted")
    with few_trees(before):
        _done("predict", before / "predicted", before / "scored.jsonl", "--out", before / "before.csv")


def _done(*words: object) -> None:
    result = called(words)
    assert result.exit_code == 0, result.stderr


@contextlib.contextmanager
def few_trees(_: Path) -> Iterator[None]:
    from dvae.evaluation import prediction

    few = {"seed": 0, "trees": 4, "progress": None}
    with mock.patch.object(prediction.fit_predictor, "__kwdefaults__", few):
        yield


def _written(before: Path) -> None:
    before.mkdir(parents=True)
    chance = random.Random(0)
    rows = [[chance.choice("ab"), chance.choice("cd"), chance.choice("ef")] for _ in range(40)]
    (before / "t.csv").write_text("x,y,z\n" + "".join(f"{x},{y},{z if x == 'a' else 'e'}\n" for x, y, z in rows))
    state = random_state(KINDS["dvae_bn"], hidden=4, latent=3, num_types=10, max_nodes=10)
    torch.save(state, before / "original.pth")
