"""The script and the style sheet of the graph view, to be written into a page."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

SCRIPTS = ("paint.js", "files.js", "window.js")


@cache
def viewer_script() -> str:
    """JavaScript that offers `dvaeViewer`; it fetches nothing."""
    return "\n".join(_read(name) for name in SCRIPTS)


@cache
def viewer_style() -> str:
    """The style sheet of the graph view; it takes over the colours of the page around it."""
    return _read("viewer.css")


def _read(name: str) -> str:
    return (files("dvae.figures") / "viewer" / name).read_text(encoding="utf-8")
