"""What a user can get wrong: one sentence, exit code 2, nothing left behind."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from .conftest import TINY, Call, Refused

GOOD = '{"types": ["load", "clean"], "edges": [[0, 1]]}\n'
BAD_LINES = {
    "a cycle": '{"types": ["a", "b"], "edges": [[0, 1], [1, 0]]}',
    "an index out of range": '{"types": ["a", "b"], "edges": [[0, 7]]}',
    "a self-loop": '{"types": ["a", "b"], "edges": [[1, 1]]}',
    "a repeated edge": '{"types": ["a", "b"], "edges": [[0, 1], [0, 1]]}',
    "no JSON": '{"types": ["a", "b"',
    "no object": "[1, 2]",
    "an unknown key": '{"types": ["a"], "edges": [], "weight": 3}',
    "a score that is no number": '{"types": ["a"], "edges": [], "score": NaN}',
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_bad_line_is_named(line: str, refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(GOOD + line + "\n")
    for words in (
        ("data", path),
        ("data", path, "--out", tmp_path / "out.jsonl"),
        ("draw", path, tmp_path / "out.svg"),
        ("train", "--task", f"file:{path}", "--run", tmp_path / "run"),
    ):
        assert f"{path}:2: " in refused(*words)


def test_a_type_that_the_model_does_not_know_is_named(refused: Refused, run: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text(GOOD + "\n" + GOOD.replace("clean", "polish"))
    sentence = refused("encode", run, path, "--out", tmp_path / "z.npz")
    assert sentence.startswith(f"{path}:3: ")
    assert "'polish'" in sentence
    assert f"{path}:1: " in refused("train", "--task", "asia", "--data", path, "--run", tmp_path / "run")


def test_a_dag_too_large_for_the_model_is_named(refused: Refused, run: Path, tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    path.write_text(GOOD + '{"types": ["load","load","load","load","load","load","load"], "edges": []}\n')
    assert refused("encode", run, path).startswith(f"{path}:2: ")


def test_a_truncated_gzip_file_is_refused(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress((GOOD * 1000).encode())[:-20])
    assert f"{path}:" in refused("data", path)


@pytest.mark.parametrize("command", ["data", "train"])
def test_empty_and_absent_files_are_refused(command: str, refused: Refused, tmp_path: Path) -> None:
    empty, absent = tmp_path / "empty.jsonl", tmp_path / "absent.jsonl"
    empty.write_text("")
    for path in (empty, absent, tmp_path):
        words = ("data", path) if command == "data" else ("train", "--data", path, "--run", tmp_path / "run")
        assert str(path) in refused(*words)


def test_a_line_of_100_megabytes_is_refused_at_once(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.write(b'{"types": ["')
        file.truncate(100 * 2**20)  # zeros that take no room on the disk
    assert f"{path}:1: the line is longer" in refused("data", path)


def test_one_dag_cannot_be_split(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text('{"types": ["a", "b", "c"], "edges": [[0, 1], [1, 2]]}\n')
    assert "at least 2" in refused("train", "--data", path, "--run", tmp_path / "run")


def test_a_reserved_type_is_refused_by_file(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "reserved.jsonl"
    path.write_text(2 * '{"types": ["<start>", "b", "c"], "edges": []}\n')
    assert str(path) in refused("train", "--data", path, "--run", tmp_path / "run")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--task", "nothing"), "'nothing'"),
        (("--task", "asia", "--model", "nothing"), "'nothing'"),
        (("--task", "asia", "--preset", "nothing"), "'nothing'"),
        (("--task", "asia", "--set", "training.epochs"), "key=value"),
        (("--task", "asia", "--set", "training.epoch=3"), "'epochs'"),
        (("--task", "asia", "--set", "training.epochs=many"), "training.epochs"),
        (("--task", "asia", "--epochs", -1), "epochs"),
        (("--task", "asia", "--size", 1), "size"),
        (("--task", "asia", "--time-budget", 0), "time_budget"),
        ((), "--task"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_written(
    words: tuple[object, ...], named: str, refused: Refused, tmp_path: Path
) -> None:
    assert named in refused("train", "--run", tmp_path / "run", "--size", 10, *words)


@pytest.mark.parametrize("text", ['task = "asia"\nmodle = 3\n', 'task = "asia"\n[model]\nhiden = 3\n', "task = \n"])
def test_a_bad_file_of_settings_is_named(text: str, refused: Refused, tmp_path: Path) -> None:
    config = tmp_path / "my.toml"
    config.write_text(text)
    assert str(config) in refused("train", "--config", config, "--run", tmp_path / "run")


def test_a_device_that_is_not_there_leaves_no_run(refused: Refused, pipelines: Path, tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    words = ("train", "--data", pipelines, "--run", tmp_path / "run", "--device", "cuda", *TINY)
    assert "cpu" in refused(*words)


def refused_by_demo(call: Call, run: Path) -> str:
    """The demo says what it does before it looks into the folder, so its last line is the sentence."""
    result = call("demo", "--run", run)
    assert result.exit_code == 2
    return result.stderr.splitlines()[-1]


def test_a_run_is_not_overwritten(call: Call, refused: Refused, run: Path, pipelines: Path, tmp_path: Path) -> None:
    assert "--resume" in refused("train", "--data", pipelines, "--run", run)
    assert "was started with" in refused_by_demo(call, run)
    assert "holds no run" in refused("train", "--run", tmp_path / "none", "--resume")
    assert "model.hidden" in refused("train", "--run", run, "--resume", "--set", "model.hidden=11")
    assert "task" in refused("train", "--run", run, "--resume", "--task", "asia")


@pytest.mark.parametrize("name", ["model.safetensors", "model.toml", "task.json", "run.toml", "checkpoint.safetensors"])
@pytest.mark.parametrize("content", [b"", b"\x00\xff broken", b'{"kind": "generic"}'])
def test_a_corrupt_run_is_refused(name: str, content: bytes, run: Path, refused: Refused, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(run, broken)
    (broken / name).write_bytes(content)
    if name == "checkpoint.safetensors":
        words: tuple[object, ...] = ("train", "--run", broken, "--resume", "--epochs", 4)
    else:
        words = ("evaluate", broken)
    assert "broken" in refused(*words)


def test_commands_on_a_folder_without_a_run_say_so(refused: Refused, pipelines: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    for words in (("evaluate", nowhere), ("sample", nowhere), ("encode", nowhere, pipelines)):
        assert str(nowhere) in refused(*words)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("z.csv", b"1,2,3\n"),
        ("z.csv", b"1,2,3,x\n"),
        ("z.csv", b"1,2,3,inf\n"),
        ("z.csv", b""),
        ("z.jsonl", b'{"mean": [1, 2]}\n'),
        ("z.jsonl", b'{"other": [1, 2, 3, 4]}\n'),
        ("z.jsonl", b"[1, 2, 3, true]\n"),
        ("z.jsonl", b"nothing\n"),
        ("z.npz", b"PK broken"),
        ("z.npz", b""),
        ("z.npy", b"\x93NUMPY"),
    ],
)
def test_bad_latents_are_refused(name: str, content: bytes, run: Path, refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert str(path) in refused("decode", run, path, "--out", tmp_path / "out.jsonl")


def test_pickles_are_not_read(run: Path, refused: Refused, tmp_path: Path) -> None:
    import numpy

    path = tmp_path / "z.npz"
    numpy.savez(path, mean=numpy.array([{"a": 1}], dtype=object))
    assert str(path) in refused("decode", run, path)


def test_outputs_that_cannot_be_written_are_refused_first(run: Path, refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    assert ".jsonl" in refused("sample", run, "--out", tmp_path / "dags.parquet")
    assert ".svg" in refused("sample", run, "--out", tmp_path / "dags.jsonl", "--draw", tmp_path / "dags.bmp")
    assert "folder" in refused("sample", run, "--out", tmp_path / "folder.jsonl")
    (tmp_path / "file").write_text("")
    assert "file" in refused("sample", run, "--out", tmp_path / "file" / "dags.jsonl")


def test_greedy_copies_are_refused(run: Path, refused: Refused, tmp_path: Path) -> None:
    assert "--sample" in refused("decode", run, tmp_path / "z.csv", "--copies", 2)


@pytest.mark.parametrize("content", [b"broken", b""])
def test_a_checkpoint_that_is_none_is_refused(content: bytes, refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "original.pth"
    path.write_bytes(content)
    words = ("import-checkpoint", path, tmp_path / "run", "--original", "dvae", "--task", "enas6")
    assert str(path) in refused(*words)


def test_usage_errors_exit_with_2(call: Call, run: Path) -> None:
    for words in (("nothing",), ("sample",), ("sample", run, "--count", "0"), ("train",), ("sample", run, "--x")):
        result = call(*words)
        assert result.exit_code == 2
        assert result.stdout == ""
