"""What a page must offer to everybody, checked in the browser: names, texts for pictures, contrast, room.

These are the rules of WCAG 2.1 that most pages break; a tool such as axe-core checks more of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

FAULTS = (Path(__file__).parent / "faults.js").read_text(encoding="utf-8")


def faults(page: Any, root: str | None = None) -> list[str]:
    """The faults of a page, or of the part that a selector names."""
    found: list[str] = page.evaluate(FAULTS, root)
    return found


def sticks_out(page: Any) -> bool:
    """Whether a page is wider than its window."""
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))
