"""Settings of the documentation site; `build.py` calls Sphinx with them on the pages it has put together."""

from __future__ import annotations

import re

import dvae

project = "dvae"
copyright = "the dvae authors"
version = release = dvae.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns: list[str] = []
myst_heading_anchors = 4  # as GitHub has them, so that a link works in both places
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["misc.highlighting_failure"]  # blocks that show a part of an output
templates_path: list[str] = []
smartquotes = False  # `--option` outside of code keeps its dashes
highlight_language = "bash"  # blocks without a language are commands

html_theme = "furo"
html_title = f"dvae {version}"
html_static_path = ["static"]
html_css_files = ["dvae.css"]
html_show_sphinx = False
html_copy_source = False

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

_CODE = re.compile(r"(`+)(.+?)\1", re.S)
_SPECIAL = re.compile(r"([*|\\]|_(?=\W|$))")


def as_rst(text: str) -> str:
    """A docstring with `code` in single backticks and nothing else marked up, as reStructuredText."""
    parts, end = [], 0
    for found in _CODE.finditer(text):
        parts += [_SPECIAL.sub(r"\\\1", text[end : found.start()]), f"``{found[2]}``"]
        if text[found.end() : found.end() + 1].isalnum():
            parts.append("\\ ")
        end = found.end()
    return "".join([*parts, _SPECIAL.sub(r"\\\1", text[end:])])


def _process(app: object, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    lines[:] = as_rst("\n".join(lines)).split("\n")


def setup(app: object) -> None:
    app.connect("autodoc-process-docstring", _process)  # type: ignore[attr-defined]
