"""Every command does what its help says, on tiny data."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from typer.testing import Result

from dvae.dag import load_jsonl

from .conftest import TINY, Call, Refused


def answer(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    value = json.loads(result.stdout)
    assert isinstance(value, dict)
    return value


def test_data_describes_a_task(call: Call) -> None:
    facts = answer(call("data", "asia", "--size", 50, "--json"))
    assert (facts["count"], facts["train"], facts["test"]) == (50, 45, 5)
    assert facts["nodes"] == {"min": 8, "mean": 8, "max": 8}
    assert facts["valid_share"] == 1
    assert facts["scored"] == 50
    assert facts["scores"]["max"] < -11_000
    assert facts["model"] == {"num_types": 10, "max_nodes": 10, "virtual_start": True, "virtual_end": True}
    assert "45 to train" in call("data", "asia", "--size", 50).stdout


def test_data_describes_a_file(call: Call, pipelines: Path) -> None:
    facts = answer(call("data", pipelines, "--json"))
    items = load_jsonl(pipelines)
    assert facts["count"] == len(items) == facts["scored"]
    assert facts["scores"]["max"] == max(item.score for item in items)
    assert sum(facts["types"].values()) == sum(len(item.dag) for item in items)
    assert "virtual start" in call("data", pipelines).stdout


def test_data_reads_the_original_text_format(call: Call, tmp_path: Path, refused: Refused) -> None:
    path = tmp_path / "some.txt"
    path.write_text("[[1], [4, 0], [5, 0, 1]], 0.7\n[[0], [0, 1], [1, 1, 1]], 0.8\n")
    facts = answer(call("data", path, "--task", "enas3", "--json"))
    assert facts["scores"]["max"] == 0.8
    assert "--task" in refused("data", path)


def test_data_writes_samples_and_data_sets(call: Call, tmp_path: Path, pipelines: Path) -> None:
    out = tmp_path / "new" / "asia.jsonl.gz"
    assert answer(call("data", "asia", "--sample", 7, "--seed", 3, "--out", out, "--json"))["count"] == 7
    assert len(load_jsonl(out)) == 7
    assert len(call("data", "asia", "--sample", 3).stdout.splitlines()) == 3
    copy = tmp_path / "copy.jsonl"
    assert call("data", pipelines, "--out", copy).exit_code == 0
    key = repr
    assert sorted(map(key, load_jsonl(copy))) == sorted(map(key, load_jsonl(pipelines)))


def test_a_run_keeps_its_settings_and_is_resumed_with_nothing_else(call: Call, pipelines: Path, tmp_path: Path) -> None:
    from dvae.runs import Run

    run = tmp_path / "run"
    first = answer(
        call("train", "--data", pipelines, "--run", run, "--epochs", 1, "--seed", 5, "--batch-size", 8,
             "--preset", "original", *TINY, "--json")
    )  # fmt: skip
    assert first["ended"] == "epochs"
    assert first["epochs"] == 1
    settings = Run.open(run).config
    assert settings.task == f"file:{pipelines}"
    assert (settings.model.hidden, settings.model.noise_scale, settings.training.seed) == (10, 0.01, 5)
    assert answer(call("train", "--run", run, "--resume", "--epochs", 3, "--json"))["epochs"] == 3
    assert Run.open(run).config.training.epochs == 3
    done = call("train", "--run", run, "--resume")
    assert done.exit_code == 0
    assert "What to try next" in done.stderr


def test_a_file_of_settings_starts_a_run_and_words_change_it(call: Call, pipelines: Path, tmp_path: Path) -> None:
    config = tmp_path / "my.toml"
    config.write_text(
        f'task = "file:{pipelines}"\nsize = 20\n[model]\nhidden = 8\nlatent = 3\n[training]\nepochs = 9\n'
    )
    run = tmp_path / "run"
    done = answer(call("train", "--config", config, "--run", run, "--set", "training.epochs=1", "--size", 10, "--json"))
    assert (done["epochs"], done["graphs"]) == (1, 9)


def test_a_file_of_settings_may_serve_many_tasks(call: Call, pipelines: Path, tmp_path: Path) -> None:
    config = tmp_path / "small.toml"
    config.write_text("[model]\nhidden = 8\nlatent = 3\n[training]\nepochs = 1\n")
    for name, words in {"own": ("--data", pipelines), "asia": ("--task", "asia", "--size", 10)}.items():
        done = answer(call("train", "--config", config, "--run", tmp_path / name, *words, "--json"))
        assert done["epochs"] == 1


def test_own_dags_go_the_whole_way(call: Call, run: Path, pipelines: Path, tmp_path: Path) -> None:
    ruled = answer(call("evaluate", run, "--test-limit", 2, "--prior-latents", 5, "--valid", "--json"))
    assert ruled["prior"]["rules"] is True
    measured = answer(call("evaluate", run, "--test-limit", 2, "--json"))
    assert measured["prior"]["rules"] is False
    assert 0 <= measured["prior"]["validity"]["value"] <= 1
    assert json.loads((run / "evaluation.json").read_text()).keys() == measured.keys()
    decoded = []
    for ending in ("npz", "csv", "jsonl"):
        latents, out = tmp_path / f"latents.{ending}", tmp_path / f"{ending}.jsonl"
        facts = answer(call("encode", run, pipelines, "--out", latents, "--json"))
        assert facts == {"count": 40, "latent": 4, "file": str(latents)}
        assert call("decode", run, latents, "--out", out).exit_code == 0
        decoded.append(load_jsonl(out))
    assert decoded[0] == decoded[1] == decoded[2]
    assert len(decoded[0]) == 40


def test_evaluate_prints_a_table(call: Call, run: Path) -> None:
    result = call("evaluate", run, "--test-limit", 1)
    assert result.exit_code == 0
    assert "reconstruction, posterior" in result.stdout
    assert "95% interval" in result.stdout


def test_encode_prints_means_and_variances(call: Call, run: Path, pipelines: Path) -> None:
    lines = [json.loads(line) for line in call("encode", run, pipelines).stdout.splitlines()]
    whole = answer(call("encode", run, pipelines, "--json"))
    assert [line["mean"] for line in lines] == whole["mean"]
    assert [line["logvar"] for line in lines] == whole["logvar"]


def test_latent_files_are_plain(call: Call, run: Path, pipelines: Path, tmp_path: Path) -> None:
    call("encode", run, pipelines, "--out", tmp_path / "z.npz")
    call("encode", run, pipelines, "--out", tmp_path / "z.csv")
    with numpy.load(tmp_path / "z.npz", allow_pickle=False) as arrays:
        assert sorted(arrays) == ["logvar", "mean"]
        mean = arrays["mean"]
    rows = list(csv.DictReader((tmp_path / "z.csv").read_text().splitlines()))
    assert [float(row["mean_3"]) for row in rows] == mean[:, 3].tolist()


def test_decode_takes_latents_a_person_wrote(call: Call, run: Path, tmp_path: Path) -> None:
    (tmp_path / "z.csv").write_text("0,0.5,-1,2\n1,1,1,1\n")
    (tmp_path / "z.jsonl").write_text("[0, 0.5, -1, 2]\n[1, 1, 1, 1]\n")
    first, second = (call("decode", run, tmp_path / name) for name in ("z.csv", "z.jsonl"))
    assert first.exit_code == 0
    assert first.stdout == second.stdout
    sampled = answer(
        call("decode", run, tmp_path / "z.csv", "--sample", "--copies", 3, "--valid", "--seed", 1, "--json")
    )
    assert (sampled["count"], sampled["valid"]) == (6, 6)


def test_samples_are_repeatable_and_drawn(call: Call, run: Path, tmp_path: Path) -> None:
    words = ("sample", run, "--count", 70, "--seed", 4, "--valid")
    result = call(*words, "--draw", tmp_path / "new.svg")
    assert "the first 64 of 70" in result.stderr
    assert result.stdout == call(*words).stdout
    assert len(result.stdout.splitlines()) == 70
    assert (tmp_path / "new.svg").read_text().startswith("<svg")
    assert answer(call(*words, "--out", tmp_path / "new.jsonl", "--json"))["valid"] == 70
    assert answer(call("sample", run, "--greedy", "--json"))["count"] == 10


def test_draw_makes_a_picture_of_a_file(call: Call, pipelines: Path, tmp_path: Path) -> None:
    assert call("draw", pipelines, tmp_path / "a.png", "--limit", 2).exit_code == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_models_are_listed_with_their_sizes(call: Call) -> None:
    facts = answer(call("models", "--task", "asia", "--json"))
    sizes = {row["name"]: row["parameters"] for row in facts["models"]}
    assert sizes["dvae"] > 100_000
    assert "dvae" in call("models").stdout


@pytest.mark.shared
def test_weights_of_the_original_become_a_run(call: Call, tmp_path: Path) -> None:
    golden = Path(__file__).parents[3] / "shared" / "golden" / "dvae_bn_bn8.npz"
    if not golden.is_file():
        pytest.skip("the golden files are not here")
    with numpy.load(golden, allow_pickle=False) as arrays:
        state = {
            name.removeprefix("param/"): torch.from_numpy(arrays[name]) for name in arrays if name.startswith("param/")
        }
    torch.save(state, tmp_path / "original.pth")
    words = ("import-checkpoint", tmp_path / "original.pth", tmp_path / "run", "--original", "dvae_bn")
    assert answer(call(*words, "--task", "asia", "--json"))["latent"] == 6
    assert answer(call("sample", tmp_path / "run", "--count", 2, "--valid", "--json"))["valid"] == 2
    again = call(*words, "--task", "asia")
    assert (again.exit_code, again.stderr.count("\n")) == (2, 1)


def test_the_demo_shows_the_whole_way_twice(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dvae.cli import demo

    small = demo._settings

    def tiny(minutes: float) -> object:
        from dvae.config import replace

        return replace(small(minutes), **{"size": 100, "model.hidden": 8, "model.latent": 3, "training.epochs": 1})

    monkeypatch.setattr(demo, "_settings", tiny)
    monkeypatch.setattr(demo, "TEST_NETWORKS", 3)
    monkeypatch.setattr(demo, "PRIOR_LATENTS", 5)
    monkeypatch.setattr(demo, "PAIRS_DRAWN", 2)
    monkeypatch.setattr(demo, "SAMPLES_DRAWN", 2)
    monkeypatch.setattr(demo, "KNOWN_SCORES", 40)
    monkeypatch.setattr(demo, "EVALUATIONS", 10)
    run = tmp_path / "runs" / "demo"
    first = answer(call("demo", "--run", run, "--json"))
    assert {Path(picture).suffix for picture in first["pictures"]} == {".svg", ".png"}
    assert all(Path(picture).is_file() for picture in first["pictures"])
    assert {row["strategy"] for row in first["search"]["searches"]} == {"trust-region", "evolution", "random"}
    assert all(row["gap"] >= 0 for row in first["search"]["searches"])
    assert "Best score found" in Path(first["report"]).read_text()
    again = call("demo", "--run", run)
    assert again.exit_code == 0
    assert "Going on" in again.stderr
    (run / "checkpoint.safetensors").write_bytes(b"broken")
    mended = call("demo", "--run", run)
    assert mended.exit_code == 0
    assert "starting over" in mended.stderr
    assert "comes back" in mended.stdout
    assert "Going on" not in call("demo", "--run", run, "--fresh").stderr
