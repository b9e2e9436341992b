"""Names with control characters, line breaks and half surrogate pairs harm neither files nor terminals."""

from __future__ import annotations

import json
from pathlib import Path

from dvae.errors import FormatError
from dvae.files import read_json, write_json

from .conftest import TINY, Call

TYPES = ["in\ud800", "b\x1b[31mred\x9b", "c\nd", "\u2028"]


def test_a_training_on_odd_names_is_not_lost(call: Call, tmp_path: Path) -> None:
    lines = [json.dumps({"types": TYPES[: 2 + number % 3], "edges": [[0, 1]]}) for number in range(12)]
    (tmp_path / "odd.jsonl").write_text("\n".join(lines))
    words = ("--data", tmp_path / "odd.jsonl", "--run", tmp_path / "run", "--epochs", 1, "--preset", "paper", *TINY)
    for command in (
        ("train", *words),
        ("sample", tmp_path / "run", "--count", 2, "--draw", tmp_path / "s.svg"),
        ("report", tmp_path / "run"),
        ("data", tmp_path / "odd.jsonl"),
    ):
        result = call(*command)
        assert result.exit_code == 0, result.stderr
        assert not {"\x1b", "\x9b", "\u2028"} & set(result.output)
    task = read_json(tmp_path / "run" / "task.json")
    assert isinstance(task, dict)
    assert set(TYPES) < set(task["labels"])


def test_messages_have_one_line() -> None:
    assert str(FormatError("a\nb\u2028c")) == "a b c"


def test_half_a_pair_is_escaped_in_json(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"a": "\udfff"})
    assert read_json(tmp_path / "x.json") == {"a": "\udfff"}
