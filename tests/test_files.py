"""A file is wholly written or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from dvae import files
from dvae.errors import FormatError, MissingError, StorageError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_new_content_appears_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "weights.json.gz"
    with files.atomic_path(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
        assert temporary.parent == path.parent
        assert temporary.name.endswith(".json.gz")
    assert path.read_text() == "new"
    assert names(path.parent) == ["weights.json.gz"]


def test_a_failure_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write_half() -> None:
        with files.atomic_path(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_half()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_block_that_writes_nothing_fails(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), files.atomic_path(tmp_path / "a.txt"):
        pass
    assert names(tmp_path) == []


def test_a_folder_that_goes_away_is_said_with_the_name_of_the_file(tmp_path: Path) -> None:
    def write() -> None:
        with files.atomic_path(tmp_path / "new" / "a.txt") as temporary:
            temporary.parent.rmdir()
            temporary.write_text("text")

    with pytest.raises(StorageError, match=r"new/a\.txt: cannot be written: no such file or directory"):
        write()


def test_text_is_utf8_with_its_own_line_ends(tmp_path: Path) -> None:
    files.write_text(tmp_path / "a.txt", "é\r\nb\n")
    assert (tmp_path / "a.txt").read_bytes() == "é\r\nb\n".encode()


def test_json_keeps_the_order_of_keys(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    files.write_json(path, {"b": 1, "a": ["é", None, 0.1]})
    assert path.read_text(encoding="utf-8") == '{\n  "b": 1,\n  "a": [\n    "é",\n    null,\n    0.1\n  ]\n}\n'
    assert files.read_json(path) == {"b": 1, "a": ["é", None, 0.1]}


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, {"a": float("inf")}])
def test_what_is_not_json_is_not_written(tmp_path: Path, value: object) -> None:
    with pytest.raises(FormatError, match=r"a\.json: the value cannot be written as JSON"):
        files.write_json(tmp_path / "a.json", value)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1,\n "b": }', r"a\.json:2: not JSON"),
        (b'{"a": 1}\n{"a": 2}', r"a\.json:2: not JSON: Extra data"),
        (b"", r"a\.json:1: not JSON"),
        (b'{"a": 1, "a": 2}', "'a' is given twice"),
        (b"[NaN]", "NaN is not a finite number"),
        (b"[-Infinity]", "-Infinity is not a finite number"),
        (b'"\xff"', "not UTF-8"),
    ],
)
def test_bad_json_is_refused_and_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        files.read_json(path)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"none\.json: there is no such file"):
        files.read_json(tmp_path / "none.json")
    with pytest.raises(MissingError, match="cannot be read"):
        files.read_json(tmp_path)


def test_what_a_killed_writer_left_can_be_removed(tmp_path: Path) -> None:
    (tmp_path / ".tmp-0123456789ab-state.bin").write_text("half")
    (tmp_path / ".tmp-0123456789ab-other.bin").write_text("not ours")
    files.remove_leftovers(tmp_path / "state.bin")
    assert [path.name for path in tmp_path.iterdir()] == [".tmp-0123456789ab-other.bin"]


def test_files_are_as_open_as_their_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with files.atomic_path(tmp_path / "value") as temporary:
        temporary.touch(mode=0o600)
    assert (tmp_path / "value").stat().st_mode & 0o777 == 0o644
