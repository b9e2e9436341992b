"""Fails every write of every command once, kills commands at every write and at random, and lets two write at once.

    python tests/faults/campaign.py --kills 500 --seed 1

Prints what was done as JSON, and what was lost, which makes it end with code 1. A module of `scenarios` with a
function `campaign(folder, seed)` adds its own: it returns a table of figures, or raises.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

import lightning_fabric  # noqa: E402, F401  imported before forking, as it takes long

from faults.disk import Disk, Fault  # noqa: E402
from faults.scenario import (  # noqa: E402
    Scenario,
    all_scenarios,
    check_whole,
    contents,
    fresh,
    same_result,
)
from forks import forked  # noqa: E402

FAULTS: tuple[Fault, ...] = ("full", "read-only", "once")


def writes_of(scenario: Scenario, folder: Path) -> int:
    """How many things the command writes, when all goes well."""
    at = fresh(scenario, folder)
    with Disk(at).inserted() as disk:
        result = scenario.run(at)
    assert result.exit_code == 0, f"{scenario.name}: {result.stderr}"
    return disk.count


def fail(scenario: Scenario, folder: Path, number: int, fault: Fault) -> bool:
    """Fails one write, looks at what is left, and ends the command; whether it was the command that failed."""
    at = fresh(scenario, folder)
    before = contents(at)
    with Disk(at, number, fault).inserted():
        result = scenario.run(at)
    where = f"{scenario.name}, write {number}, {fault}"
    failed = result.exit_code != 0
    if failed:
        assert result.exit_code == 2, f"{where}: code {result.exit_code}: {result.output}"
        errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
        assert len(errors) == 1, f"{where}: {result.stderr}"
        assert "Traceback" not in result.stderr, where
    check_whole(at, before)
    ended = scenario.run_again(at) if failed else result
    assert ended.exit_code == 0, f"{where}, then again: {ended.stderr}"
    return failed


def kill(scenario: Scenario, folder: Path, reference: Path | None, *, number: int = 0, seconds: float = 0.0) -> bool:
    """Kills the command at a write, or after some seconds, and ends it; whether it was killed."""
    at = fresh(scenario, folder)
    before = contents(at)
    process = forked()
    if process == 0:
        _as_child(scenario, at, number)
    if not number:
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
    killed = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL
    where = f"{scenario.name}, killed at {number or f'{seconds:.3f} s'}"
    check_whole(at, before, killed=True)
    ended = scenario.run_again(at)
    assert ended.exit_code == 0, f"{where}, then again: {ended.stderr}"
    if reference is not None and scenario.result is not None:
        assert same_result(at / scenario.result, reference), f"{where}: the result differs"
    return killed


def _as_child(scenario: Scenario, at: Path, number: int) -> None:
    code = 1
    try:
        with Disk(at, number or None, "kill").inserted() if number else contextlib.nullcontext():
            code = scenario.run(at).exit_code
    finally:
        os._exit(code)


def two_writers(scenario: Scenario, folder: Path, delay: float) -> str:
    """Starts the command twice at once: one does it, the other is told; what is left is whole, and goes on."""
    at = fresh(scenario, folder)
    processes = []
    for number in range(2):
        process = forked()
        if process == 0:
            _as_child(scenario, at, 0)
        processes.append(process)
        time.sleep(delay if number == 0 else 0.0)
    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes)
    assert codes in ([0, 2], [0, 0]), f"{scenario.name} twice at once: codes {codes}"
    check_whole(at, contents(at))
    for name in contents(at):
        assert not name.name.startswith((".tmp-", ".lock")), f"{name} was left behind by two writers"
    ended = scenario.run_again(at)
    assert ended.exit_code == 0, f"{scenario.name} after two writers: {ended.stderr}"
    return "one refused" if codes == [0, 2] else "one after the other"


def main() -> None:
    parser = argparse.ArgumentParser(description="Fails and kills commands in every way.")
    parser.add_argument("--kills", type=int, default=50, help="at random moments, beside one at every write")
    parser.add_argument("--pairs", type=int, default=10, help="of writers at once")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--thorough", action="store_true", help="fail every write in three ways, not in one of them")
    parser.add_argument("--writes", action=argparse.BooleanOptionalAction, default=True, help="fail and kill at each")
    parser.add_argument("--killed", action=argparse.BooleanOptionalAction, default=True, help="also kill at each write")
    parser.add_argument("--most", type=int, default=10**6, metavar="N", help="fail at most N writes of a command")
    parser.add_argument("--only", action="append", help="scenarios whose names hold this text; may be repeated")
    parser.add_argument("--skip", action="append", default=[], help="no scenario of this name; may be repeated")
    options = parser.parse_args()
    chance, began, done = random.Random(options.seed), time.monotonic(), Counter[str]()
    lost: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scenarios = [each for each in all_scenarios(folder / "before") if _is_wanted(each, options)]
        trainings = [each for each in scenarios if each.result is not None]
        for scenario in scenarios if options.writes else ():
            lost += _every_write(scenario, folder, done, options)
        for scenario in trainings:
            _at_random(scenario, folder, options.kills // len(trainings), chance, done)
            for _ in range(options.pairs):
                done[two_writers(scenario, folder / "two", chance.uniform(0, 0.2))] += 1
        own = {} if options.only or options.skip else _own_campaigns(folder, options.seed)
    seconds = round(time.monotonic() - began)
    print(json.dumps({"seed": options.seed, "seconds": seconds, "lost": len(lost), **done, **own}))
    print(*lost, sep="\n", file=sys.stderr)
    sys.exit(1 if lost else 0)


def _is_wanted(scenario: Scenario, options: argparse.Namespace) -> bool:
    named = options.only is None or any(text in scenario.name for text in options.only)
    return named and scenario.name not in options.skip


def _every_write(scenario: Scenario, folder: Path, done: Counter[str], options: argparse.Namespace) -> list[str]:
    """Fails and kills at every write; what was lost."""
    writes = writes_of(scenario, folder / "count")
    done["writes"] += writes
    reference, lost = _reference(scenario, folder), []
    for number in range(1, writes + 1, -(-writes // options.most)):
        try:
            for fault in FAULTS if options.thorough else FAULTS[number % 3 :][:1]:
                done["a write failed"] += 1
                done[f"failed, {fault}"] += fail(scenario, folder / "fail", number, fault)
            if options.killed:
                done["killed at a write"] += kill(scenario, folder / "kill", reference, number=number)
        except Exception as error:  # whatever it is, it is to be told, and the others to be tried
            lost.append(f"{scenario.name}, write {number}: {type(error).__name__}: {error}")
            print(lost[-1], file=sys.stderr, flush=True)
        print(f"{scenario.name}: {number} of {writes}", end="\r", file=sys.stderr, flush=True)
    print(f"{scenario.name}: {writes} writes", file=sys.stderr, flush=True)
    return lost


def _at_random(scenario: Scenario, folder: Path, kills: int, chance: random.Random, done: Counter[str]) -> None:
    reference = _reference(scenario, folder)
    at = fresh(scenario, folder / "time")
    began = time.monotonic()
    scenario.run(at)
    seconds = time.monotonic() - began
    for _ in range(kills):
        moment = chance.uniform(0.0, seconds)
        done["killed at random"] += kill(scenario, folder / "kill", reference, seconds=moment)
    print(f"{scenario.name}: {kills} kills at random", file=sys.stderr, flush=True)


def _reference(scenario: Scenario, folder: Path) -> Path | None:
    if scenario.result is None:
        return None
    at = fresh(scenario, folder / "reference")
    assert scenario.run(at).exit_code == 0
    return at / scenario.result


def _own_campaigns(folder: Path, seed: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in sorted((Path(__file__).parent / "scenarios").glob("*.py")):
        module = importlib.import_module(f"faults.scenarios.{path.stem}")
        if hasattr(module, "campaign"):
            found[path.stem] = module.campaign(folder / path.stem, seed)
    return found


if __name__ == "__main__":
    main()
