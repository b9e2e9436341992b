"""Links between the pages of the repository lead somewhere, anchors included; so do those of the built site."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += sorted((ROOT / "benchmarks").rglob("*.md"))
WRITTEN = {ROOT / "docs" / name for name in ("reference/cli.md", "reference/settings.md", "api/index.md")}
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.M | re.S)
LINK = re.compile(r"\[[^\]\[]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.M)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = (re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", found) for found in HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def dead(page: Path) -> list[str]:
    found = []
    for target in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        path, _, anchor = target.partition("#")
        if "://" in target or path.startswith("mailto:"):
            continue
        meant = (page.parent / path).resolve() if path else page
        if meant in WRITTEN:
            continue
        if not meant.exists() or (anchor and meant.suffix == ".md" and anchor not in anchors(meant)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert dead(page) == []


def test_a_dead_link_is_seen(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A `fine` heading, truly\n")
    page = tmp_path / "page.md"
    page.write_text("[a](there.md#a-fine-heading-truly) [b](there.md#no) [c](nowhere.md) `[d](code.md)`\n")
    assert dead(page) == ["there.md#no", "nowhere.md"]


def load(name: str) -> object:
    spec = importlib.util.spec_from_file_location(name, SITE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_dead_links_of_a_site_are_seen(tmp_path: Path) -> None:
    links = load("links")
    (tmp_path / "a.html").write_text('<a href="b.html#x">1</a><a href="b.html#y">2</a><a href="c.html">3</a>')
    (tmp_path / "b.html").write_text('<p id="x"></p><script src="https://example.org/x.js"></script>')
    found = links.dead_links(tmp_path)  # type: ignore[attr-defined]
    assert [sentence.split(": ")[1].split(" ")[0] for sentence in found] == ["b.html#y", "c.html", "loads"]


def test_a_picture_from_elsewhere_comes_along(tmp_path: Path) -> None:
    load("links"), load("pages")
    stage = load("build").Stage(tmp_path)  # type: ignore[attr-defined]
    picture = "benchmarks/results/2026-11-16-quality/enas6.svg"
    turned = stage.page(f"![Curves](../../{picture}) [rows](../../{picture[:-3]}json)", "docs/results/README.md")
    assert turned.startswith(f"![Curves](../{picture}) rows")
    assert (tmp_path / picture).read_bytes() == (ROOT / picture).read_bytes()
    assert stage.problems == []


def test_pages_are_written_from_the_code() -> None:
    pages = load("pages")
    commands = pages.cli_page()  # type: ignore[attr-defined]
    for words in ("### dvae compare", "#### dvae bn learn", "`--known", "`--device auto\\|cpu\\|cuda`"):
        assert words in commands
    settings = pages.settings_page()  # type: ignore[attr-defined]
    assert "| `learning_rate` | `0.0001` | a number |" in settings
    assert "automodule:: dvae.dag" in pages.api_pages()["dag"]  # type: ignore[attr-defined]


def test_lists_of_pages_name_each_once() -> None:
    """A page that is named nowhere comes under "More"; one that is named twice has two places."""
    lists = re.compile(r"<!-- pages(?: of [^:]+)?: ([^>]*) -->")
    named: list[Path] = []
    for page in (ROOT / "docs").rglob("*.md"):
        for found in lists.findall(page.read_text(encoding="utf-8")):
            named += [(page.parent / f"{name}.md").resolve() for name in found.split()]
    assert len(named) > 20
    assert len(named) == len(set(named))
    borrowed = {ROOT / "docs" / name for name in ("contributing.md", "changes.md")}
    assert [page for page in named if not page.is_file() and page not in WRITTEN | borrowed] == []
