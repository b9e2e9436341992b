"""Changes good files at random, by a seed, and reads them: a value or an error of ours, within seconds and gigabytes.

    python tests/fuzz/campaign.py --inputs 1000000 --seed 1

What comes out otherwise is kept under tests/fuzz/crashes, where the tests read it ever after.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import logging
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from dvae.errors import DvaeError  # noqa: E402
from fuzz.target import Target, all_targets  # noqa: E402

CRASHES = Path(__file__).parent / "crashes"
SECONDS = 5.0  # of the processor: a busy machine is no hang ...
PATIENCE = 120.0  # ... but waiting for ever is
BYTES = 2 * 2**30


class Hang(BaseException):
    """A reader that takes too long."""


@dataclass
class Findings:
    """What came of the inputs."""

    inputs: Counter[str] = field(default_factory=Counter)
    values: int = 0  # inputs that were read
    refused: int = 0  # with an error of ours
    crashes: dict[str, str] = field(default_factory=dict)  # what went wrong, by target and place
    slowest: float = 0.0


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Memory beyond what is used now is limited, and a reader that hangs is interrupted."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + BYTES, before[1]))

    def ring(number: int, frame: object) -> None:
        raise Hang

    handlers = {number: signal.signal(number, ring) for number in (signal.SIGPROF, signal.SIGALRM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def problem_of(target: Target, content: bytes, folder: Path) -> tuple[str | None, bool]:
    """What is wrong with how a file is read, if anything, and whether it was read."""
    (folder / target.file).write_bytes(content)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        target.read(folder)
        return None, True
    except DvaeError as error:
        lines = str(error).splitlines()
        return (None if len(lines) == 1 else f"a message of {len(lines)} lines: {error!r}"), False
    except Hang:
        return f"more than {SECONDS:g} seconds", False
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {str(error)[:120]}", False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def campaign(
    inputs: int, seed: int, folder: Path, keep: bool, seconds: float | None = None, only: list[str] | None = None
) -> Findings:
    """Reads so many changed files, as many of each target as its share says."""
    (folder / "examples").mkdir(parents=True)
    targets, found = all_targets(folder / "examples", only), Findings()
    whole, ends = sum(target.share for target in targets), time.monotonic() + (seconds or 1e9)
    before = logging.getLogger("dvae").level
    logging.getLogger("dvae").setLevel(logging.CRITICAL)
    try:
        with bounded(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for target in targets:
                count = max(1, round(inputs * target.share / whole))
                _of_target(target, count, seed, folder, found, keep, ends)
    finally:
        logging.getLogger("dvae").setLevel(before)
    return found


def _of_target(target: Target, count: int, seed: int, folder: Path, found: Findings, keep: bool, ends: float) -> None:
    chance = random.Random(f"{seed} {target.name}")
    at = Path(tempfile.mkdtemp(dir=folder))
    target.prepare(at)
    for _ in range(count):
        if time.monotonic() > ends:
            return
        content = chance.choice(target.examples)
        for _ in range(1 if chance.random() < 0.7 else 2):
            # What was changed once may no longer be of its format.
            with contextlib.suppress(Exception):
                content = target.mutate(content, chance)
        began = time.process_time()
        problem, was_read = problem_of(target, content, at)
        found.slowest = max(found.slowest, time.process_time() - began)
        found.inputs[target.name] += 1
        found.values += was_read
        found.refused += not was_read and problem is None
        if problem is not None and f"{target.name}: {problem[:60]}" not in found.crashes:
            found.crashes[f"{target.name}: {problem[:60]}"] = problem
            if keep:
                CRASHES.mkdir(exist_ok=True)
                name = f"{target.name.replace(' ', '_')}-{hashlib.sha256(content).hexdigest()[:10]}"
                (CRASHES / name).write_bytes(content)


def main() -> None:
    parser = argparse.ArgumentParser(description="Reads files that were changed at random.")
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=None, help="end after so many, whatever is left")
    parser.add_argument("--only", action="append", metavar="MODULE", help="of tests/fuzz/targets; may be repeated")
    options = parser.parse_args()
    began = time.monotonic()
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=base) as folder:
        found = campaign(options.inputs, options.seed, Path(folder), True, options.seconds, options.only)
    took = time.monotonic() - began
    count = sum(found.inputs.values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    facts = {"seed": options.seed, "inputs": count, "read": found.values, "refused": found.refused}
    facts |= {"crashes": len(found.crashes), "slowest_seconds": round(found.slowest, 3)}
    facts |= {"peak_gigabytes": round(peak, 2), "per_second": round(count / took), "targets": dict(found.inputs)}
    print(json.dumps(facts))
    for place, problem in found.crashes.items():
        print(place, problem, sep="\n    ", file=sys.stderr)
    sys.exit(1 if found.crashes else 0)


if __name__ == "__main__":
    main()
