"""Optional packages: what is said where one is missing, in words that work for this very installation."""

from __future__ import annotations

import re
from importlib import metadata

from dvae.errors import MissingError

DISTRIBUTION = "dvae-dags"  # on the package index `dvae` is another project


def missing(package: str, extra: str, purpose: str = "this") -> MissingError:
    """The error of a function that needs `package`, which belongs to an extra of this distribution."""
    wanted = requirements(extra)
    if wanted == [extra]:  # an installation that knows nothing of the extra
        wanted = [package]
    return MissingError(f"{purpose} needs the package {package}: pip install {' '.join(wanted)}")


def requirements(extra: str) -> list[str]:
    """The packages of an extra, quoted for a shell."""
    pattern = re.compile(rf"(?P<package>[^;]+);\s*extra\s*==\s*['\"]{re.escape(extra)}['\"]")
    try:
        declared = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        declared = []
    found = [match["package"].strip() for match in map(pattern.fullmatch, declared) if match]
    return [f"'{each}'" for each in found] or [extra]
