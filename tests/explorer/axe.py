"""Faults that keep people out: found by axe-core where there is a copy, else by our own few checks.

`npm pack axe-core`, unpack it anywhere and name its `axe.min.js` in DVAE_AXE.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from . import accessibility

SERIOUS = ("serious", "critical")
USUAL = (Path("node_modules/axe-core/axe.min.js"), Path("/usr/share/javascript/axe-core/axe.min.js"))


def axe() -> str | None:
    """The text of axe-core, where there is one."""
    named = os.environ.get("DVAE_AXE")
    found = next((path for path in ([Path(named)] if named else USUAL) if path.is_file()), None)
    return None if found is None else found.read_text(encoding="utf-8")


def faults(page: Any) -> list[str]:
    """Serious faults of a page as it is now, one line for each."""
    script = axe()
    if script is None:
        return accessibility.faults(page)
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(script)
    found = page.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then(result => result.violations"
        ".map(v => [v.impact, v.id, v.nodes.map(n => n.target.join(' ') + ' ' + n.failureSummary).slice(0, 4)]))"
    )
    return [f"{name}: {node}" for impact, name, nodes in found if impact in SERIOUS for node in nodes]
