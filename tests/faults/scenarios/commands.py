"""The commands that write files: a run, its measurements and reports, DAGs, latents and pictures."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from faults.plain import plain_pictures
from faults.scenario import Scenario, called
from pipelines import pipeline_lines

TINY = ("--set", "model.hidden=6", "--set", "model.latent=3", "--set", "training.checkpoint_seconds=0", "--batch", 8)
FEW = ("--set", "training.validation_decodings=2", "--validation", 0.2)


def scenarios(folder: Path) -> list[Scenario]:
    empty, ran = folder / "empty", folder / "ran"

    def go_on(at: Path) -> tuple[object, ...]:
        return ("train", "--run", at / "run", "--resume") if (at / "run" / "run.toml").is_file() else _new(at)

    def resume(at: Path) -> tuple[object, ...]:
        return ("train", "--run", at / "run", "--resume", "--epochs", 3)

    def on_run(*words: object) -> Scenario:
        def fill(at: Path) -> tuple[object, ...]:
            return tuple(at / str(word)[1:] if str(word).startswith("@") else word for word in words)

        return Scenario(" ".join(map(str, words)), ran, fill, prepare=_trained)

    return [
        Scenario("train", empty, _new, go_on, "run/model.safetensors", _written),
        Scenario("train --resume", ran, resume, resume, "run/model.safetensors", _trained),
        on_run("evaluate", "@run", "--test-limit", 2, "--prior-latents", 3),
        on_run("sample", "@run", "--count", 3, "--out", "@s.jsonl.gz", "--draw", "@s.svg"),
        on_run("encode", "@run", "@dags.jsonl", "--out", "@l.npz"),
        on_run("encode", "@run", "@dags.jsonl", "--out", "@l.csv"),
        on_run("encode", "@run", "@dags.jsonl", "--out", "@l.jsonl"),
        on_run("decode", "@run", "@latents.npz", "--out", "@d.jsonl"),
        on_run("data", "@dags.jsonl", "--out", "@copy.jsonl"),
        on_run("import", "@tasks.json", "--out", "@imported.jsonl"),
        on_run("draw", "@dags.jsonl", "@d.png"),
        dataclasses.replace(on_run("report", "@run"), around=lambda _: plain_pictures()),
    ]


def _new(at: Path) -> tuple[object, ...]:
    words = ("train", "--data", at / "dags.jsonl", "--run", at / "run", "--epochs", 2, "--preset", "paper")
    return (*words, *TINY, *FEW)


def _written(before: Path) -> None:
    before.mkdir(parents=True)
    (before / "dags.jsonl").write_text(pipeline_lines(20, 4, scored=False))
    (before / "tasks.json").write_text('{"load": ["extract"], "extract": []}')


def _trained(before: Path) -> None:
    _written(before)
    assert called(_new(before)).exit_code == 0
    assert called(("encode", before / "run", before / "dags.jsonl", "--out", before / "latents.npz")).exit_code == 0
    # What a run in another place than this one refers to its data by.
    toml = before / "run" / "run.toml"
    toml.write_text(toml.read_text().replace(str(before / "dags.jsonl"), "../dags.jsonl"))
