"""DAGs that somebody wants to find again, kept in a file of the run's folder."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dvae.errors import FormatError
from dvae.explorer.places import MAX_NAME, RequestError
from dvae.files import read_json, write_json

FILE = "bookmarks.json"
MAX_BOOKMARKS = 1_000


@dataclass(frozen=True)
class Bookmark:
    """A place and what the page called it."""

    name: str
    place: Mapping[str, Any]  # as `places.to_json` writes it


class Bookmarks:
    """The bookmarks of a run; without a file they last as long as the page."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self._lock = threading.Lock()
        self._kept: tuple[Bookmark, ...] = ()

    def read(self) -> tuple[Bookmark, ...]:
        """All bookmarks, in the order in which they were set."""
        if self.file is None:
            return self._kept
        return _from_plain(read_json(self.file), self.file) if self.file.exists() else ()

    def toggle(self, bookmark: Bookmark) -> bool:
        """Sets a bookmark, or removes the one on the same place; whether it is set now."""
        with self._lock:
            before = self.read()
            after = tuple(each for each in before if each.place != bookmark.place)
            added = len(after) == len(before)
            if added:
                if len(before) >= MAX_BOOKMARKS:
                    raise RequestError(f"a run keeps at most {MAX_BOOKMARKS:,} bookmarks; remove one first")
                after = (*before, bookmark)
            self._kept = after
            if self.file is not None:
                write_json(self.file, [{"name": each.name, "place": each.place} for each in after])
        return added


def _from_plain(plain: object, file: Path) -> tuple[Bookmark, ...]:
    if not isinstance(plain, list) or len(plain) > MAX_BOOKMARKS:
        raise FormatError(
            f"{file}: expected a list of at most {MAX_BOOKMARKS:,} bookmarks; remove the file to start anew"
        )
    found = []
    for number, item in enumerate(plain, start=1):
        if (
            not isinstance(item, dict)
            or not isinstance(item.get("place"), dict)
            or not isinstance(item.get("name"), str)
        ):
            raise FormatError(f'{file}: bookmark {number} is no object with a "name" and a "place"')
        found.append(Bookmark(item["name"][:MAX_NAME], item["place"]))
    return tuple(found)
