"""Where data that are not part of the package are kept: the folder `DVAE_DATA`, or the user's cache folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "DVAE_DATA"


def data_folder() -> Path:
    """The folder that data are looked for in and downloaded to."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else user_cache_folder() / "dvae"


def user_cache_folder() -> Path:
    """Where programs of this user keep what can be had again."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
