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

Words = Callable[[Path], tuple[object, ...]]
SMALL = ("--set", "model.hidden=6", "--set", "model.latent=3", "--epochs", 1, "--validation", 0.2)
SEARCH = ("--budget", 6, "--batch", 3, "--strategy", "random", "--known", "none", "--initial", 2, "--warm", 0)


def scenarios(folder: Path) -> list[Scenario]:
    ran, table = folder / "asia", folder / "table"

    def on_run(name: str, *words: object, result: str | None = None) -> Scenario:
        return Scenario(name, ran, filled(*words), result=result, prepare=_trained, around=_few_trees)

    def on_table(name: str, *words: object, result: str | None = None) -> Scenario:
        return Scenario(name, table, filled(*words), result=result, prepare=_written)

    return [
        on_run("search", "search", "@run", *SEARCH, "--out", "@found.jsonl", "--draw", "@f.svg", result="found.jsonl"),
        on_run("search --retrain", "search", "@run", *SEARCH, "--retrain", 3, "--out", "@found.jsonl"),
        on_run("predictivity", "predictivity", "@run", "--repeats", 1, "--preset", "paper", "--train-limit", 8),
        on_run("predict", "predict", "@run", "@scored.jsonl", "--out", "@p.csv"),
        on_run("predict --refit", "predict", "@predicted", "@scored.jsonl", "--refit", "--out", "@p.jsonl"),
        on_table("bn learn", "bn", "learn", "@t.csv", "--out", "@n.bif", "--bootstrap", 2, "--workers", 1),
        on_table(
            *("bn bootstrap", "bn", "bootstrap", "@t.csv", "--out", "@e.json", "--network", "@n.json"),
            *("--draw", "@n.svg", "-n", 3, "--workers", 1),
            result="e.json",
        ),
        on_table(
            *("import-checkpoint", "import-checkpoint", "@original.pth", "@new", "--original", "dvae_bn"),
            *("--task", "asia"),
        ),
    ]


def filled(*words: object) -> Words:
    """Words of which those that begin with @ are paths in the folder."""

    def fill(at: Path) -> tuple[object, ...]:
        return tuple(at / str(word)[1:] if str(word).startswith("@") else word for word in words)

    return fill


def _trained(before: Path) -> None:
    before.mkdir(parents=True)
    run = before / "run"
    _done("data", "asia", "--size", 80, "--out", before / "scored.jsonl")
    _done("train", "--task", "asia", "--data", before / "scored.jsonl", "--run", run, *SMALL)
    toml = run / "run.toml"
    toml.write_text(toml.read_text().replace(str(before / "scored.jsonl"), "../scored.jsonl"))
    shutil.copytree(run, before / "predicted")
    with _few_trees(before):
        _done("predict", before / "predicted", before / "scored.jsonl", "--out", before / "before.csv")


def _done(*words: object) -> None:
    result = called(words)
    assert result.exit_code == 0, result.stderr


@contextlib.contextmanager
def _few_trees(_: Path) -> Iterator[None]:
    from dvae.evaluation import prediction

    few = {"seed": 0, "trees": 4, "progress": None}
    with mock.patch.object(prediction.fit_predictor, "__kwdefaults__", few):
        yield


def _written(before: Path) -> None:
    before.mkdir(parents=True)
    chance = random.Random(0)
    rows = [[chance.choice("ab"), chance.choice("cd"), chance.choice("ef")] for _ in range(40)]
    (before / "t.csv").write_text("x,y,z\n" + "".join(f"{x},{y},{z if x == 'a' else 'e'}\n" for x, y, z in rows))
    torch.save(
        {name: torch.randn(shape) for name, shape in _shapes(types=10, hidden=4, latent=3)}, before / "original.pth"
    )


def _shapes(types: int, hidden: int, latent: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The tensors of the original D-VAE of Bayesian networks, by its names."""
    for cell in ("grue_forward", "grue_backward", "grud"):
        yield from ((f"{cell}.weight_ih", (3 * hidden, types)), (f"{cell}.weight_hh", (3 * hidden, hidden)))
        yield from ((f"{cell}.bias_{end}", (3 * hidden,)) for end in ("ih", "hh"))
    sizes = {"fc1": (latent, hidden), "fc2": (latent, hidden), "fc3": (hidden, latent)}
    sizes |= {"add_vertex.0": (2 * hidden, hidden), "add_vertex.2": (types, 2 * hidden)}
    sizes |= {"add_edge.0": (hidden, 2 * hidden + types), "add_edge.2": (1, hidden)}
    sizes |= {"gate_forward.0": (hidden, types), "gate_backward.0": (hidden, types)}
    for name, size in sizes.items():
        yield from ((f"{name}.weight", size), (f"{name}.bias", size[:1]))
    yield from ((f"mapper_{way}.0.weight", (hidden, types)) for way in ("forward", "backward"))
