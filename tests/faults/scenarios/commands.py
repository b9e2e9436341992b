"""The commands that write files: a run, its measurements and reports, DAGs, latents and pictures."""

from __future__ import annotations

import json
import random
from pathlib import Path

from faults.scenario import Scenario, called

TINY = ("--set", "model.hidden=6", "--set", "model.latent=3", "--set", "training.checkpoint_seconds=0", "--batch", 8)
FEW = ("--set", "training.validation_decodings=2", "--validation", 0.2)


def scenarios(folder: Path) -> list[Scenario]:
    empty, ran = folder / "empty", folder / "ran"
    empty.mkdir(parents=True)
    (empty / "dags.jsonl").write_text(dags())
    ran.mkdir()
    (ran / "dags.jsonl").write_text(dags())
    train = (
        "train",
        "--data",
        ran / "dags.jsonl",
        "--run",
        ran / "run",
        "--epochs",
        2,
        "--preset",
        "paper",
        *TINY,
        *FEW,
    )
    assert called(train).exit_code == 0
    assert called(("encode", ran / "run", ran / "dags.jsonl", "--out", ran / "latents.npz")).exit_code == 0
    # What a run in another place than this one refers to its data by.
    toml = ran / "run" / "run.toml"
    toml.write_text(toml.read_text().replace(str(ran / "dags.jsonl"), "../dags.jsonl"))

    def new(at: Path) -> tuple[object, ...]:
        return (
            "train",
            "--data",
            at / "dags.jsonl",
            "--run",
            at / "run",
            "--epochs",
            2,
            "--preset",
            "paper",
            *TINY,
            *FEW,
        )

    def go_on(at: Path) -> tuple[object, ...]:
        return ("train", "--run", at / "run", "--resume") if (at / "run" / "run.toml").is_file() else new(at)

    def resume(at: Path) -> tuple[object, ...]:
        return ("train", "--run", at / "run", "--resume", "--epochs", 3)

    def on_run(*words: object) -> Scenario:
        def fill(at: Path) -> tuple[object, ...]:
            return tuple(at / str(word)[1:] if str(word).startswith("@") else word for word in words)

        return Scenario(" ".join(map(str, words)), ran, fill)

    return [
        Scenario("train", empty, new, go_on, "run/model.safetensors"),
        Scenario("train --resume", ran, resume, resume, "run/model.safetensors"),
        on_run("evaluate", "@run", "--test-limit", 2, "--prior-latents", 3),
        on_run("sample", "@run", "--count", 3, "--out", "@s.jsonl.gz", "--draw", "@s.svg"),
        on_run("encode", "@run", "@dags.jsonl", "--out", "@l.npz"),
        on_run("encode", "@run", "@dags.jsonl", "--out", "@l.csv"),
        on_run("encode", "@run", "@dags.jsonl", "--out", "@l.jsonl"),
        on_run("decode", "@run", "@latents.npz", "--out", "@d.jsonl"),
        on_run("data", "@dags.jsonl", "--out", "@copy.jsonl"),
        on_run("draw", "@dags.jsonl", "@d.png"),
        on_run("report", "@run"),
    ]


def dags() -> str:
    chance, lines = random.Random(0), []
    for _ in range(20):
        count = chance.randint(2, 4)
        edges = [[u, v] for v in range(count) for u in range(v) if chance.random() < 0.5]
        types = [chance.choice(["load", "clean", "join"]) for _ in range(count)]
        lines.append(json.dumps({"types": types, "edges": edges}))
    return "\n".join(lines) + "\n"
