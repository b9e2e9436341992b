"""Builds the documentation site: `make docs`.

The pages of docs/ are put together with those that are written from the code and a few files of the repository's root;
links are turned so that they lead to the same place in the site. Then Sphinx makes HTML of them, with every warning an
error, and all links of the result are followed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pages
from links import dead_links

from dvae.dag import Dag
from dvae.figures import save_dags

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
OUT = ROOT / "build" / "site"
# Pages that lie elsewhere in the repository, and where the site has them.
BORROWED = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "benchmarks/results/README.md": "results/benchmarks.md",
}
SAME_AS = {"README.md": "index.md"}  # what a link to the README leads to
RENAMED = {"search.md": "searches.md"}  # Sphinx has a search.html of its own
WRITTEN = ("reference/cli.md", "reference/settings.md", "api/index.md")  # by `pages`; they lie in no folder
RESULTS = "results/README.md"  # all other pages of its folder come below it in the navigation
LINK = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]\[]*)\]\((?P<target>[^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.M | re.S)
MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.M | re.S)
CONTENTS = re.compile(r"<!-- pages(?: of (?P<caption>[^:]+))?: (?P<pages>[^>]*) -->")
ARROW = re.compile(r"(\w+) -->\|\d+\| (\w+)")


class Stage:
    """The folder in which the sources of the site are put together."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.places = {**BORROWED, **SAME_AS, **{f"docs/{page}": page for page in WRITTEN}}  # repository -> site
        for path in sorted(DOCS.rglob("*")):
            inside = path.relative_to(DOCS)
            if path.is_file() and inside.parts[0] != "site":
                self.places[f"docs/{inside.as_posix()}"] = RENAMED.get(inside.as_posix(), inside.as_posix())
        self.problems: list[str] = []

    def fill(self) -> None:
        """Copies and writes everything; dead links are remembered in `problems`."""
        for source, place in list(self.places.items()):
            if source in SAME_AS or place in WRITTEN:
                continue
            target = self.folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.endswith(".md"):
                target.write_text(self.page((ROOT / source).read_text(encoding="utf-8"), source), encoding="utf-8")
            else:
                shutil.copyfile(ROOT / source, target)
        self.write("reference/cli.md", pages.cli_page())
        self.write("reference/settings.md", pages.settings_page())
        for name, text in pages.api_pages().items():
            self.write(f"api/{name}.md", text)
        for name in ("conf.py", "static"):
            source = DOCS / "site" / name
            copy = shutil.copytree if source.is_dir() else shutil.copyfile
            copy(source, self.folder / name)

    def write(self, place: str, text: str) -> None:
        (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / place).write_text(text, encoding="utf-8")

    def page(self, text: str, source: str) -> str:
        """A page with its links turned, and its graphs as pictures; code stays as it is."""
        text = MERMAID.sub(lambda found: self.drawn(found[1]), text)
        text = CONTENTS.sub(lambda found: contents(found["pages"].split(), found["caption"]), text)
        if source == "docs/index.md":
            text += f"\n{contents(unlisted(), 'More')}\n"
        if self.places[source] == RESULTS:
            below = sorted(Path(place) for place in self.places.values() if Path(place).match("results/*.md"))
            text += f"\n{contents([page.stem for page in below if str(page) != RESULTS])}\n"
        parts, end = [], 0
        for code in CODE.finditer(text):
            parts += [self.turned(text[end : code.start()], source), code[0]]
            end = code.end()
        return "".join([*parts, self.turned(text[end:], source)])

    def turned(self, text: str, source: str) -> str:
        return LINK.sub(lambda found: self.link(found, source), text)

    def link(self, found: re.Match[str], source: str) -> str:
        path, hash_mark, anchor = found["target"].partition("#")
        if "://" in found["target"] or path.startswith("mailto:") or not path:
            return found[0]
        meant = os.path.normpath(os.path.join(os.path.dirname(source), path))  # noqa: PTH118, PTH120
        if found["mark"] and meant not in self.places and (ROOT / meant).is_file():
            self.bring(meant)
        if meant in self.places or meant in (
            "docs/reference/cli.md",
            "docs/reference/settings.md",
            "docs/api/index.md",
        ):
            here = os.path.dirname(self.places[source])  # noqa: PTH120
            there = self.places.get(meant, meant.removeprefix("docs/"))
            return f"{found['mark']}[{found['text']}]({os.path.relpath(there, here or '.')}{hash_mark}{anchor})"
        if not (ROOT / meant).exists():
            self.problems.append(f"{source}: {found['target']} leads nowhere")
        return found["text"]  # a file that the site does not show

    def bring(self, picture: str) -> None:
        """Copies a picture that lies outside of docs/."""
        self.places[picture] = picture
        (self.folder / picture).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / picture, self.folder / picture)

    def drawn(self, mermaid: str) -> str:
        """The graph of a Mermaid block, drawn by our own figures."""
        arrows = [(target, source) for source, target in ARROW.findall(mermaid)]
        names = list(dict.fromkeys(name for arrow in arrows for name in arrow))
        order = {name: place for place, name in enumerate(names)}
        self.places["docs/rooms.svg"] = "rooms.svg"
        save_dags(self.folder / "rooms.svg", Dag(names, [(order[one], order[other]) for one, other in arrows]))
        return "![The rooms; an arrow leads from each to those that use it](rooms.svg)\n\n" + (
            "*Here an arrow leads from a room to those that use it.*"
        )


def contents(names: Sequence[str], caption: str | None = None) -> str:
    """A list of pages as Sphinx wants it, for the navigation beside the text."""
    title = [] if caption is None else [f":caption: {caption}"]
    pages = [RENAMED.get(f"{name}.md", f"{name}.md") for name in names]
    return "\n".join(["```{toctree}", ":hidden:", *title, "", *pages, "```"])


def unlisted() -> list[str]:
    """Pages of docs/ that no list names; results list themselves."""
    pages = {path.relative_to(DOCS) for path in DOCS.rglob("*.md")}
    named = {Path("index.md")}
    for page in pages:
        for found in CONTENTS.finditer((DOCS / page).read_text(encoding="utf-8")):
            named |= {Path(os.path.normpath(page.parent / f"{name}.md")) for name in found["pages"].split()}
    return sorted(page.with_suffix("").as_posix() for page in pages - named if page.parts[0] not in ("site", "results"))


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--out", type=Path, default=OUT, help="the folder of the site")
    out = words.parse_args().out
    source = out.with_name(out.name + "-source")
    for folder in (source, out):
        shutil.rmtree(folder, ignore_errors=True)
    source.mkdir(parents=True)
    stage = Stage(source)
    stage.fill()
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(source), str(out)]
    failed = subprocess.run(command, check=False).returncode
    problems = [*stage.problems, *(dead_links(out) if not failed else [])]
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    if not failed and not problems:
        print(f"{sum(1 for _ in out.rglob('*.html'))} pages, every link leads somewhere: {out / 'index.html'}")
    return int(bool(failed or problems))


if __name__ == "__main__":
    sys.exit(main())
