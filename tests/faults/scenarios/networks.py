"""The commands of `dvae nas`, and those that go a whole way: the demonstrations and the paper's tables, in small."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from faults.plain import plain_pictures
from faults.scenario import Scenario, called
from faults.scenarios.measurements import filled

NET = ("--space", "enas2", "--data", "digits", "--epochs", 1, "--width", 2, "--validation", 100, "--batch", 600)
TRAIN = ("--recipe", "digits", "--data", "digits", "--epochs", 1, "--top", 1, "--set", "network.width=2")
DEMO = {"TEST_NETWORKS": 2, "PRIOR_LATENTS": 2, "PAIRS_DRAWN": 1, "SAMPLES_DRAWN": 1, "KNOWN_SCORES": 10}


def scenarios(folder: Path) -> list[Scenario]:
    empty, net = folder / "nothing", folder / "net"

    def on_net(name: str, *words: object, result: str | None = None) -> Scenario:
        return Scenario(f"nas {name}", net, filled("nas", name, *words), result=result, prepare=_trained)

    return [
        Scenario(
            "nas train-supernet",
            empty,
            filled("nas", "train-supernet", "@net", *NET),
            filled("nas", "train-supernet", "@net", *NET, "--resume"),
            "net/supernet.safetensors",
            _nothing,
            _often_saved,
        ),
        on_net("score", "@net", "@some.jsonl", "--out", "@scored.jsonl"),
        on_net("dataset", "@net", "--count", 3, "--out", "@set.jsonl", result="set.jsonl"),
        on_net("search", "@run", "@net", "--out", "@found.jsonl", "--budget", 2, "--batch", 1, "--strategy", "random"),
        on_net("train", "@some.jsonl", *TRAIN, "--out", "@trained"),
        Scenario("demo", empty, filled("demo", "--run", "@run"), prepare=_nothing, around=_small_demo),
        Scenario(
            "reproduce",
            folder / "paper",
            filled("reproduce", "table1", "--preset", "tiny", "--device", "cpu", "--only", "svae", "--run", "@run"),
            prepare=_architectures,
            around=_small_paper,
        ),
    ]


def _nothing(before: Path) -> None:
    before.mkdir(parents=True, exist_ok=True)


def _trained(before: Path) -> None:
    from dvae.dag import write_jsonl
    from dvae.tasks import EnasTask

    before.mkdir(parents=True)
    write_jsonl(before / "some.jsonl", EnasTask(2).sample(3, seed=3))
    _done("nas", "train-supernet", before / "net", *NET)
    small = ("--set", "model.hidden=6", "--set", "model.latent=3", "--epochs", 1)
    _done("train", "--task", "enas2", "--data", before / "some.jsonl", "--run", before / "run", *small)
    toml = before / "run" / "run.toml"
    toml.write_text(toml.read_text().replace(str(before / "some.jsonl"), "../some.jsonl"))


def _done(*words: object) -> None:
    result = called(words)
    assert result.exit_code == 0, result.stderr


def _architectures(before: Path) -> None:
    """A file where the paper's is looked for, so that nothing is fetched."""
    from dvae.dag import ScoredDag
    from dvae.dag.original import write_enas
    from dvae.tasks import EnasTask
    from dvae.tasks.enas import BURN_IN

    path = before / "data" / "enas" / "final_structures6.txt"
    path.parent.mkdir(parents=True)
    dags = EnasTask(6).sample(90, seed=0)
    write_enas(path, [ScoredDag(dags[0], 0.5)] * BURN_IN + [ScoredDag(dag, len(dag.edges) / 30) for dag in dags])


@contextlib.contextmanager
def _small_paper(at: Path) -> Iterator[None]:
    with mock.patch.dict(os.environ, DVAE_DATA=str(at / "data")), plain_pictures():
        yield


@contextlib.contextmanager
def _often_saved(_: Path) -> Iterator[None]:
    with mock.patch("dvae.nas.supernet_training.SECONDS_BETWEEN_SAVES", 0.0):
        yield


@contextlib.contextmanager
def _small_demo(_: Path) -> Iterator[None]:
    from dvae.cli import demo
    from dvae.config import replace

    real: Any = getattr(demo, "_settings")  # noqa: B009  the demo has no settings but its time

    def small(minutes: float) -> Any:
        changes = {"size": 40, "model.hidden": 6, "model.latent": 3, "training.epochs": 1}
        return replace(real(minutes), **changes)

    fewer: Any = {"_settings": small, "EVALUATIONS": 2, "RIVALS": ("evolution", "random"), **DEMO}
    # What a killed search had begun waits for its worker's silence: here two seconds.
    soon = mock.patch("dvae.studies.sqlite_ledger.MISSED_HEARTBEATS", 0.2)
    with mock.patch.multiple(demo, **fewer), plain_pictures(), soon:
        yield
