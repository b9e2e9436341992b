"""Nothing is lost or half-written, whatever fails: a part of what `make faults` does in full."""

from __future__ import annotations

import os
import random
import resource
import signal
from pathlib import Path

import pytest

from dvae.bayesnet import bootstrap
from dvae.errors import StorageError, StudyError
from dvae.files import write_text
from dvae.studies import open_ledger
from faults.campaign import FAULTS, fail, kill, two_writers, writes_of
from faults.disk import Disk
from faults.scenario import Scenario, all_scenarios, called
from forks import forked
from training.runs import model


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scenario]:
    return {each.name.split(" @")[0]: each for each in all_scenarios(tmp_path_factory.mktemp("before") / "x")}


@pytest.mark.parametrize("name", ["train", "train --resume", "encode", "sample", "data", "import"])
def test_a_write_that_fails_is_one_sentence_and_loses_nothing(
    name: str, scenarios: dict[str, Scenario], tmp_path: Path
) -> None:
    writes, chance = writes_of(scenarios[name], tmp_path / "x"), random.Random(name)
    for fault in FAULTS:
        fail(scenarios[name], tmp_path / "x", chance.randint(1, writes), fault)


@pytest.mark.parametrize("name", ["search", "predict --refit", "bn bootstrap", "import-checkpoint", "nas dataset"])
def test_so_it_is_of_commands_that_take_longer(name: str, scenarios: dict[str, Scenario], tmp_path: Path) -> None:
    writes, chance = writes_of(scenarios[name], tmp_path / "x"), random.Random(name)
    fail(scenarios[name], tmp_path / "x", chance.randint(1, writes), chance.choice(FAULTS))


@pytest.mark.parametrize("name", ["train", "train --resume"])
def test_two_writers_at_once_do_not_harm_each_other(name: str, scenarios: dict[str, Scenario], tmp_path: Path) -> None:
    two_writers(scenarios[name], tmp_path / "x", 0.0)


@pytest.mark.parametrize("name", ["train", "encode"])
def test_a_kill_at_a_write_loses_nothing(name: str, scenarios: dict[str, Scenario], tmp_path: Path) -> None:
    writes = writes_of(scenarios[name], tmp_path / "x")
    assert kill(scenarios[name], tmp_path / "x", None, number=random.Random(1).randint(1, writes))


@pytest.mark.slow
def test_every_write_of_every_command(scenarios: dict[str, Scenario], tmp_path: Path) -> None:
    for scenario in scenarios.values():
        for number in range(1, writes_of(scenario, tmp_path / "x") + 1):
            for fault in FAULTS:
                fail(scenario, tmp_path / "x", number, fault)


def test_an_import_that_ends_before_its_weights_is_done_again(scenarios: dict[str, Scenario], tmp_path: Path) -> None:
    writes = writes_of(scenarios["import-checkpoint"], tmp_path / "x")
    assert fail(scenarios["import-checkpoint"], tmp_path / "x", writes - 4, "full")


def test_a_change_of_a_study_that_is_refused_at_its_end_is_taken_back(tmp_path: Path) -> None:
    with Disk(tmp_path, fault="once").inserted() as disk:
        ledger = open_ledger(f"dvae:///{tmp_path / 'study.db'}", "one", create="maximize")
        disk.at = disk.count + 3  # BEGIN, INSERT, COMMIT
        with pytest.raises(StudyError, match="disk I/O error"):
            ledger.describe("a", 1)
        ledger.describe("b", 2)
    assert ledger.description() == {"b": 2}
    ledger.close()


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_replicates_that_do_not_fit_on_the_disk_are_said_with_their_file(number: int, tmp_path: Path) -> None:
    table, store = {"x": list("abab"), "y": list("aabb")}, tmp_path / "replicates.jsonl"
    with (
        Disk(tmp_path, number, "full").inserted(),
        pytest.raises(StorageError, match=r"replicates\.jsonl: cannot be w"),
    ):
        bootstrap(table, 2, store=store)
    assert bootstrap(table, 2, store=store) == bootstrap(table, 2)


def test_weights_that_do_not_fit_on_the_disk_are_said_by_the_system(tmp_path: Path) -> None:
    """The writer of tensors is not written in Python: the system itself refuses to let a file grow."""
    model().save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        with pytest.raises(StorageError, match=r"model\.safetensors: cannot be written: file too large"):
            model(seed=1).save(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    process = forked()
    if process == 0:
        from dvae.files import atomic_path

        with atomic_path(tmp_path / "x.json") as temporary:
            temporary.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(process, 0)
    (left,) = tmp_path.iterdir()
    foreign = tmp_path / left.name.replace(left.name.split("-")[1], "0" * 8)  # of another machine
    foreign.write_text("at work")
    own = tmp_path / f".tmp-{'-'.join(left.name.split('-')[1:2])}-{os.getpid()}-0-abcdef-x.json"
    own.write_text("at work")
    write_text(tmp_path / "y.json", "{}")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([foreign.name, own.name, "y.json"])


def test_a_full_output_is_one_sentence(scenarios: dict[str, Scenario], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dvae.cli.models.output.print_table", broken)
    result = called(("models",))
    assert (result.exit_code, result.stderr) == (2, "Error: the output: No space left on device\n")
