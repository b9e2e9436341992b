"""Where a result comes from: versions, machine, commit, command and date, to be stored beside it.

Nothing of the environment is recorded, and passwords inside URLs (`postgresql://user:password@host`) are
blanked (`passwords`).
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from dvae.extras import DISTRIBUTION
from dvae.passwords import masked

_GIT_SECONDS = 10


def record(seed: int | None, config: Mapping[str, object] | None = None) -> dict[str, object]:
    """A JSON-able record of this run; facts that cannot be found out are None."""
    import torch

    gpus = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": [_without_passwords(word) for word in sys.argv],
        "seed": seed,
        "config": None if config is None else _without_passwords(dict(config)),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "dvae": _version(DISTRIBUTION),
        },
        "platform": platform.platform(),
        "cpu": {"name": _cpu_name(), "cores": os.cpu_count()},
        "gpu": gpus[0] if gpus else None,
        "gpu_count": len(gpus),
        "git": git_commit(Path(__file__).resolve().parents[2]),
    }


def git_commit(checkout: Path) -> dict[str, object] | None:
    """The commit that `checkout` is at and whether files differ from it; None outside a checkout."""
    # An installed package may lie inside somebody else's repository, whose commit would say nothing.
    if not (checkout / ".git").exists():
        return None
    commit = _git(checkout, "rev-parse", "--verify", "--quiet", "HEAD")
    if not commit:
        return None
    changes = _git(checkout, "status", "--porcelain")
    return {"commit": commit, "modified": None if changes is None else bool(changes)}


def _git(checkout: Path, *arguments: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", str(checkout), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout.strip()


def _cpu_name() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine() or None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _without_passwords(value: object) -> object:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {key: _without_passwords(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_passwords(item) for item in value]
    return value
