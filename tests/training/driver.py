"""Runs in a process of their own, ended from outside. Called by test_processes.py; prints JSON.

Processes are forked from here, so that the packages are imported once. This process computes nothing itself.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import lightning_fabric  # noqa: F401  imported before forking, as it takes long
from safetensors.torch import load_file

from dvae.training.checkpoint import FILE
from training.runs import model, same, train

EPOCHS = 15
PATIENCE = 120  # seconds to wait for anything


def start(folder: Path) -> int:
    """A process that trains (or goes on training) in `folder` and says how it ended."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        result = train(model(), folder, resume=True, epochs=EPOCHS, checkpoint_seconds=0.0)
        (folder / "ended.txt").write_text(result.ended)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def finish(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def weights_of(folder: Path) -> dict:
    return load_file(folder / "model.safetensors")


def killed_run(folder: Path, kills: int, seconds: float, reference: dict) -> dict:
    """Kills at random moments of a run that takes `seconds` in one piece, then lets it end."""
    chance, killed = random.Random(kills), 0
    for _ in range(kills):
        process = start(folder)
        time.sleep(chance.uniform(0.0, seconds / kills))
        os.kill(process, signal.SIGKILL)
        killed += finish(process) == -signal.SIGKILL
    status = finish(start(folder))
    left = [path.name for path in folder.iterdir() if path.name.startswith(".tmp")]
    return {"killed": killed, "status": status, "equal": same(weights_of(folder), reference), "left": left}


def interrupted_run(folder: Path, reference: dict) -> dict:
    """Ctrl-C once the run has begun, then the rest of it."""
    process = start(folder)
    deadline = time.monotonic() + PATIENCE
    while not (folder / FILE).is_file() and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(process, signal.SIGINT)
    status = finish(process)
    ended = (folder / "ended.txt").read_text()
    checkpoint, saved = (folder / FILE).is_file(), (folder / "model.safetensors").is_file()
    status_after = finish(start(folder))
    return {
        "status": status,
        "ended": ended,
        "checkpoint": checkpoint,
        "model": saved,
        "ended_after": (folder / "ended.txt").read_text(),
        "status_after": status_after,
        "equal": same(weights_of(folder), reference),
    }


def main(root: Path, kills: int) -> None:
    for name in ("reference", "killed", "interrupted"):
        (root / name).mkdir()
    began = time.monotonic()
    status = finish(start(root / "reference"))
    seconds = time.monotonic() - began
    reference = weights_of(root / "reference")
    answer = {
        "reference": {"status": status, "seconds": seconds},
        "killed": killed_run(root / "killed", kills, seconds, reference),
        "interrupted": interrupted_run(root / "interrupted", reference),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
