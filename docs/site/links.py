"""Looks for links of a built site that lead nowhere, and for anything it would fetch from elsewhere."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("link", "href"), ("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src")}
HARMLESS = {"canonical", "search", "index"}  # links that say something about a page, and load nothing


class Page(HTMLParser):
    """The anchors of a page, where it links to, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.anchors |= {str(values[key]) for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        for key in ("href", "src"):
            if (tag, key) in LOADED and values.get(key) and values.get("rel") not in HARMLESS:
                self.loads.append(str(values[key]))


def dead_links(site: Path) -> list[str]:
    """What is wrong with the pages below a folder, a sentence each."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        found += [f"{name}: loads {url} from elsewhere" for url in page.loads if urlsplit(url).netloc]
        for url in [*page.links, *(load for load in page.loads if not urlsplit(load).netloc)]:
            parts = urlsplit(url)
            if parts.scheme in ("http", "https", "mailto", "data") or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append(f"{name}: {url} leads nowhere")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name}: {url} names an anchor that is not there")
    return sorted(set(found))


if __name__ == "__main__":
    problems = dead_links(Path(sys.argv[1]))
    print("\n".join(problems) or "every link leads somewhere")
    sys.exit(bool(problems))
