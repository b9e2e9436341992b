"""What new users tripped over, as they typed it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import TINY, Call, Refused

TRAIN = ("--epochs", 1, "--model", "dvae", *TINY)


@pytest.fixture
def trained(call: Call, pipelines: Path, tmp_path: Path) -> Path:
    """A run on a file that tests may move."""
    file = tmp_path / "dags.jsonl"
    file.write_text(pipelines.read_text())
    result = call("train", "--data", file, "--run", tmp_path / "run", *TRAIN)
    assert result.exit_code == 0, result.stderr
    return tmp_path / "run"


def test_training_without_any_setting_says_what_it_chose(call: Call, pipelines: Path, tmp_path: Path) -> None:
    done = call("train", "--data", pipelines, "--run", tmp_path / "run", "--minutes", 0.02)
    assert done.exit_code == 0, done.stderr
    assert "Preset auto: name pace, hidden 128" in done.stderr
    assert "minutes on this machine" in done.stderr
    assert "dvae search" in done.stderr, "searching is among what to try next"


def test_plain_options_for_common_settings(call: Call, pipelines: Path, tmp_path: Path) -> None:
    words = ("--hidden", 12, "--latent", 3, "--lr", 0.01, "--batch", 8, "--epochs", 1, "--model", "dvae")
    assert call("train", "--data", pipelines, "--run", tmp_path / "run", *words).exit_code == 0
    text = (tmp_path / "run" / "run.toml").read_text()
    for line in ("hidden = 12", "latent = 3", "learning_rate = 0.01", "batch_size = 8"):
        assert line in text


def test_all_parts_of_an_evaluation_have_limits(call: Call, trained: Path, pipelines: Path) -> None:
    limits = ("--encodings", 1, "--decodings", 1, "--prior-latents", 5, "--prior-decodings", 2)
    done = call("evaluate", trained, "--test", pipelines, "--test-limit", 7, *limits, "--minutes", 1, "--json")
    measured = json.loads(done.stdout)
    assert (measured["test_graphs"], measured["prior"]["latents"], measured["prior"]["decodings"]) == (7, 5, 2)
    closeness = measured["greedy"]["closeness"]
    assert {"nodes", "types", "edges", "edits"} <= closeness.keys()


def test_moved_data_are_named_once(call: Call, refused: Refused, trained: Path) -> None:
    file = trained.parent / "dags.jsonl"
    moved = file.rename(trained.parent / "moved.jsonl")
    assert "dags.jsonl" in refused("evaluate", trained)
    limits = ("--test-limit", 2, "--prior-latents", 2)
    assert call("evaluate", trained, "--data", moved, *limits).exit_code == 0
    assert call("evaluate", trained, *limits).exit_code == 0
    assert call("train", "--run", trained, "--resume", "--epochs", 2).exit_code == 0
    assert call("report", trained).exit_code == 0


def test_other_data_are_refused_and_a_new_run_is_offered(
    call: Call, refused: Refused, trained: Path, tmp_path: Path
) -> None:
    file = trained.parent / "dags.jsonl"
    file.write_text(file.read_text() + '{"types": ["load", "join"], "edges": [[0, 1]]}\n')
    assert "--from" in refused("train", "--run", trained, "--resume", "--epochs", 2)
    done = call("train", "--data", file, "--from", trained, "--run", tmp_path / "new", "--epochs", 2)
    assert done.exit_code == 0, done.stderr


def test_settings_are_listed_with_their_defaults(call: Call) -> None:
    listed = json.loads(call("settings", "--model", "pace", "--json").stdout)
    assert listed["model.attention_width"]["default"] == 32
    assert listed["training.learning_rate"]["default"] == 1e-4
    assert "rounds" not in str(listed.keys())
    assert all(each["description"] for name, each in listed.items() if name in ("model.hidden", "training.clip"))


def test_validation_is_measured_and_the_best_weights_are_kept(call: Call, pipelines: Path, tmp_path: Path) -> None:
    words = ("--validation", 0.25, "--epochs", 2, "--model", "dvae", *TINY)
    assert call("train", "--data", pipelines, "--run", tmp_path / "run", *words).exit_code == 0
    header = (tmp_path / "run" / "metrics.csv").read_text().splitlines()[0]
    assert "validation_loss" in header
    assert "validation_reconstruction" in header
    assert call("evaluate", tmp_path / "run", "--best", "--test-limit", 2, "--prior-latents", 2).exit_code == 0


def test_a_table_is_not_taken_for_dags(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    assert "bn:" in refused("data", tmp_path / "table.csv")
