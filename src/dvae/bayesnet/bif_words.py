"""Names in BIF files: the words that other programs read, and the names that they stand for.

A name that is no such word, `blood pressure` say, becomes one, `blood_pressure`; the name itself is kept beside it as
a property, which other programs skip.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dvae.files import strict_json

PLAIN = re.compile(r"[A-Za-z0-9_<>=+.-][A-Za-z0-9_<>=+./-]*")  # as the networks that are passed around have them
NAME, STATES = "name", "states"


def words_of(names: Iterable[str]) -> dict[str, str]:
    """A word for every name, in their order, no two of them equal."""
    names = list(names)
    words = {name: name for name in names if PLAIN.fullmatch(name)}
    taken = set(words.values())
    for name in names:
        if name in words:
            continue
        word = base = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "_"
        number = 2
        while word in taken:
            word, number = f"{base}_{number}", number + 1
        words[name] = word
        taken.add(word)
    return {name: words[name] for name in names}


def property_line(key: str, value: str | Sequence[str]) -> str:
    """A property that holds a name or several."""
    text = _quoted(value) if isinstance(value, str) else f"[{', '.join(map(_quoted, value))}]"
    return f"  property {key} = {text};"


def read_property(text: str) -> tuple[str, str | list[str]] | None:
    """The key and the value of a property of ours; None for those of other programs."""
    key, mark, value = text.partition("=")
    if not mark or key.strip() not in (NAME, STATES):
        return None
    try:
        found = strict_json(value)
    except ValueError:
        return None
    whole = isinstance(found, list) and all(isinstance(each, str) for each in found)
    fits = isinstance(found, str) if key.strip() == NAME else whole
    return (key.strip(), found) if fits else None


def _quoted(text: str) -> str:
    """A JSON string in which nothing means anything to a reader of BIF."""
    return '"' + "".join(c if re.fullmatch(r"[A-Za-z0-9 _.,-]", c) else _escaped(c) for c in text) + '"'


def _escaped(character: str) -> str:
    raw = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{raw[k : k + 2].hex()}" for k in range(0, len(raw), 2))
