"""Code and shell blocks of Markdown files, with what the comment before a block says about running it.

<!-- run with: --budget 200 -> --budget 6; epochs=20 -> epochs=1 -->   smaller settings for the test
<!-- not run: needs CIFAR-10 -->                                       and why
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r"(?:<!-- (?P<how>run with|not run): (?P<what>.*?) -->\s*)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    """A fenced block; `text` is what is to be run."""

    file: str
    line: int
    language: str
    text: str
    skipped: str | None = None  # why it is not run

    @property
    def is_shell(self) -> bool:
        return self.language in ("", "sh", "bash") and bool(self.commands())

    def commands(self) -> list[str]:
        """Commands of this program, in order; lines continued by a backslash are one."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line.split("  #")[0].strip() for line in lines if line.startswith("dvae ")]


def blocks_of(path: Path) -> list[Block]:
    text = path.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        body, skipped = match["text"], None
        if match["how"] == "not run":
            skipped = match["what"]
        elif match["how"] == "run with":
            for change in match["what"].split(";"):
                old, _, new = change.strip().partition(" -> ")
                if old not in body:
                    raise ValueError(f"{path.name}: the block has no {old!r} to run with {new!r}")
                body = body.replace(old, new)
        line = text.count("\n", 0, match.start("text"))
        found.append(Block(path.name, line, match["language"], body, skipped))
    return found
