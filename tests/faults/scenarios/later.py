"""The other commands that write: tables and pictures, conditions and fronts, networks for elsewhere, downloads."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from dvae.dag import Dag, ScoredDag, write_jsonl
from faults.plain import plain_pictures
from faults.scenario import Scenario, called
from faults.scenarios.measurements import few_trees, filled

SMALL = ("--set", "model.hidden=6", "--set", "model.latent=3", "--epochs", 1, "--validation", 0.2)
SEARCH = ("--heartbeat", 1, "--budget", 4, "--batch", 2, "--strategy", "random", "--initial", 2)
NAS_DEMO = {
    "_strategy": lambda: "random",
    "SAMPLED": 2,
    "VALIDATION": 10,
    "TOP": 0,
    "BUDGET": 2,
    "SUPERNET_SHARE": 0.001,
    "MODEL_SHARE": 0.001,
    "SEARCH_SHARE": 0.1,
}
EXPORT = ("--width", 2, "--side", 8, "--channels", 1)


def scenarios(folder: Path) -> list[Scenario]:
    amps, table, cells = folder / "amps", folder / "networks", folder / "cells"

    def on_amps(name: str, *words: object, result: str | None = None) -> Scenario:
        return Scenario(name, amps, filled(*words), result=result, prepare=_conditioned, around=few_trees)

    def on_table(name: str, *words: object) -> Scenario:
        return Scenario(name, table, filled("bn", *words), prepare=_learned)

    return [
        on_amps("evaluate --surrogate", "evaluate", "@run", "--surrogate", "gain", "--surrogate-epochs", 2),
        on_amps("sample --like", "sample", "@run", "--like", "@two.jsonl", "--given", "gain=2", "--out", "@s.jsonl"),
        on_amps("diff --draw", "diff", "@two.jsonl", "--draw", "@d.svg"),
        dataclasses.replace(
            on_amps("report --out", "report", "@run", "--out", "@elsewhere/page.html"),
            around=lambda _: plain_pictures(),
        ),
        on_amps("search --maximize", "search", "@run", *SEARCH, "--maximize", "gain", "--lower", "noise",
                "--out", "@f.jsonl", "--draw", "@f.svg", result="f.jsonl"),
        Scenario("train --from", amps, _from, _from_or_resume, prepare=_conditioned),
        Scenario("worker", folder / "waiting", _worker, prepare=_waiting),
        on_table("bn learn --out JSON", "learn", "@t.csv", "--out", "@new.json"),
        on_table("bn draw", "draw", "@n.bif", "@n.png"),
        on_table("bn sample", "sample", "@n.bif", "--count", 5, "--out", "@rows.csv"),
        on_table("bn predict", "predict", "@n.bif", "@t.csv", "--column", "z", "--out", "@z.csv.gz"),
        *(
            Scenario(f"nas export {kind}", cells, filled("nas", "export", "@c.jsonl", "--out", f"@c{kind}", *EXPORT),
                     prepare=_architecture)
            for kind in (".onnx", ".pt2")
        ),
        Scenario("nas demo", folder / "empty", filled("nas", "demo", "--run", "@nas", "--minutes", 0.05),
                 prepare=_nothing, around=_small_nas),
        Scenario("data fetch", folder / "served", filled("data", "fetch", "cifar10"), prepare=_served, around=_near),
    ]  # fmt: skip


def _done(*words: object) -> None:
    result = called(words)
    assert result.exit_code == 0, result.stderr


def _nothing(before: Path) -> None:
    before.mkdir(parents=True, exist_ok=True)


def _conditioned(before: Path) -> None:
    """A run whose samples can be asked for a gain."""
    before.mkdir(parents=True)
    items = []
    for number in range(70):
        types = ("in", *["amp"] * (1 + number % 3), "out")
        edges = tuple((node, node + 1) for node in range(len(types) - 1))
        properties = {"gain": float(len(types)), "noise": float(number % 5)}
        items.append(ScoredDag(Dag(types, edges, properties=properties), float(number)))
    write_jsonl(before / "amps.jsonl", items)
    write_jsonl(before / "two.jsonl", items[:2])
    _done("train", "--data", before / "amps.jsonl", "--run", before / "run", "--condition", "gain", *SMALL)
    toml = before / "run" / "run.toml"
    toml.write_text(toml.read_text().replace(str(before / "amps.jsonl"), "../amps.jsonl"))


def _from(at: Path) -> tuple[object, ...]:
    return ("train", "--from", at / "run", "--data", at / "amps.jsonl", "--run", at / "new", "--epochs", 1)


def _from_or_resume(at: Path) -> tuple[object, ...]:
    return ("train", "--run", at / "new", "--resume") if (at / "new" / "run.toml").is_file() else _from(at)


def _waiting(before: Path) -> None:
    """A study in which two candidates wait for a worker."""
    import dvae
    from dvae.studies import open_ledger

    before.mkdir(parents=True)
    task, storage = dvae.tasks.get("asia"), f"dvae:///{before / 'study.db'}"
    vae = dvae.models.build("dvae", task, hidden=6, latent=3, seed=0)
    dvae.search(vae, task, storage=storage, name="one", strategy="random", budget=2, batch=2)
    ledger = open_ledger(storage, "one")
    for place, dag in enumerate(task.sample(2, seed=0)):
        ledger.propose(dag, {"round": 9, "place": place})
    ledger.close()


def _worker(at: Path) -> tuple[object, ...]:
    return ("worker", "--storage", f"dvae:///{at / 'study.db'}", "--count", 2, "--idle", 2, "--isolate", "no")


def _learned(before: Path) -> None:
    before.mkdir(parents=True)
    rows = "".join(f"{'ab'[n % 2]},{'cd'[n // 2 % 2]},{'ef'[n % 2 and n // 3 % 2]}\n" for n in range(40))
    (before / "t.csv").write_text(f"x,y,z\n{rows}")
    _done("bn", "learn", before / "t.csv", "--out", before / "n.bif")


def _architecture(before: Path) -> None:
    from dvae.tasks import EnasTask

    before.mkdir(parents=True)
    write_jsonl(before / "c.jsonl", EnasTask(2).sample(1, seed=0))


@contextlib.contextmanager
def _small_nas(_: Path) -> Iterator[None]:
    """A handful of images, architectures and steps."""
    from dvae.cli import nas_demo
    from dvae.data import images

    real = images.load_images("digits")
    few: Any = mock.Mock(return_value=images.ImageData(
        "digits", real.train.part(0, 140), real.test.part(0, 10), real.classes, real.mirrored
    ))  # fmt: skip
    with mock.patch.multiple(nas_demo, **NAS_DEMO), mock.patch.object(images, "load_images", few), plain_pictures():
        yield


def _served(before: Path) -> None:
    """An archive as CIFAR-10 comes in."""
    from dvae.data.images import CIFAR_TEST, CIFAR_TRAIN

    before.mkdir(parents=True)
    with tarfile.open(before / "served.tar.gz", "w:gz") as tar:
        for name in (*CIFAR_TRAIN, CIFAR_TEST):
            entry = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            entry.size = len(name)
            tar.addfile(entry, io.BytesIO(name.encode()))


@contextlib.contextmanager
def _near(at: Path) -> Iterator[None]:
    from dvae.data import downloads

    content = (at / "served.tar.gz").read_bytes()
    source = downloads.Download(
        (at / "served.tar.gz").absolute().as_uri(), len(content), hashlib.sha256(content).hexdigest()
    )
    near = {"source": source, "progress": None}
    with (
        mock.patch.object(downloads.fetch_cifar10, "__kwdefaults__", near),
        mock.patch.dict(os.environ, DVAE_DATA=str(at / "data")),
    ):
        yield
