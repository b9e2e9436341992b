"""Pictures as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dvae.errors import ConfigError
from dvae.files import atomic_path


def write_picture(path: str | Path, *, svg: Callable[[], bytes], png: Callable[[], bytes]) -> Path:
    """Write the format that the suffix names, whole or not at all."""
    path = Path(path)
    formats = {".svg": svg, ".png": png}
    draw = formats.get(path.suffix.lower())
    if draw is None:
        ending = repr(path.suffix) if path.suffix else "nothing"
        raise ConfigError(f"{path}: a picture is a file that ends in .svg or .png, not in {ending}")
    content = draw()
    with atomic_path(path) as part:
        part.write_bytes(content)
    return path
