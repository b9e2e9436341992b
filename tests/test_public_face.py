"""What `import dvae` offers: named, documented, and nothing else; what modules hide stays hidden."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dvae

SOURCE = Path(dvae.__file__).parent
FORBIDDEN = ("../shared", "pip install 'dvae", 'pip install "dvae', "pip install dvae")  # ours, and a stranger's


def test_every_public_name_is_there_and_documented() -> None:
    assert {"Dag", "Dataset", "Task", "VAE", "Run", "Study", "fit", "load", "search"} <= set(dvae.__all__)
    assert [name for name in dvae.__all__ if not has_docstring(getattr(dvae, name))] == []


def test_only_public_names_are_shown_and_all_work_without_further_imports() -> None:
    lines = [
        "import json, sys, dvae",
        "heavy = [name for name in sys.modules if name.split('.')[0] in ('torch', 'numpy')]",
        "names = [name for name in dir(dvae) if not name.startswith('__')]",
        "values = [getattr(dvae, name) for name in names]",
        "print(json.dumps([heavy, names, dir(dvae), callable(dvae.search), dvae.errors.DagError.__name__]))",
    ]
    shown = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    heavy, names, afterwards, is_function, error = json.loads(shown.stdout)
    assert heavy == []
    assert sorted(names) == sorted(dvae.__all__)
    assert sorted(afterwards) == sorted([*dvae.__all__, "__version__"])
    assert is_function
    assert error == "DagError"


def test_an_adapter_is_found_and_says_what_it_needs() -> None:
    hidden = [
        "import sys",
        "sys.modules.update(dict.fromkeys(['sklearn', 'optuna', 'botorch', 'poli']))  # as if not installed",
        "import dvae",
        "for name in ('sklearn', 'optuna', 'botorch'):",
        "    try:",
        "        getattr(dvae, name)",
        "    except dvae.errors.MissingError as error:",
        "        print(error)",
        "try:",
        "    dvae.poli.black_box('asia')",
        "except dvae.errors.MissingError as error:",
        "    print(error)",
    ]
    told = subprocess.run([sys.executable, "-c", "\n".join(hidden)], capture_output=True, text=True, check=True).stdout
    packages = ["scikit-learn", "optuna", "botorch", "poli-core"]
    assert [line.partition(" needs the package ")[2].partition(":")[0] for line in told.splitlines()] == packages
    assert callable(dvae.sklearn.DagEmbedder)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'dvae' has no attribute 'Dags'"):
        dvae.Dags  # noqa: B018


def every_module() -> list[ModuleType]:
    found = pkgutil.walk_packages(dvae.__path__, "dvae.")
    return [importlib.import_module(info.name) for info in found if not info.name.endswith("__main__")]


def has_docstring(thing: Any) -> bool:
    """Whether somebody wrote one; what `dataclass` and `Protocol` make by themselves does not count."""
    text = inspect.getdoc(thing) or ""
    return bool(text) and not text.startswith(f"{getattr(thing, '__name__', '?')}(")


def exported(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The classes and functions that a module's `__all__` names, and the public methods of these classes."""
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            yield f"{module.__name__}.{name}", thing
        if inspect.isclass(thing) and thing.__module__.startswith("dvae"):
            for method, value in vars(thing).items():
                callables = (property, cached_property, classmethod, staticmethod)
                if not method.startswith("_") and (inspect.isfunction(value) or isinstance(value, callables)):
                    yield f"{module.__name__}.{name}.{method}", inspect.getattr_static(thing, method)


@pytest.mark.parametrize("module", every_module(), ids=lambda module: module.__name__)
def test_a_module_and_what_it_exports_is_documented(module: ModuleType) -> None:
    is_empty = not Path(module.__file__ or "").read_text(encoding="utf-8").strip()
    assert module.__doc__ or is_empty
    missing = [name for name, thing in exported(module) if not has_docstring(thing) and not inherits(name, thing)]
    assert missing == []


def inherits(name: str, thing: Any) -> bool:
    """Whether a method's docstring is that of the class it overrides."""
    module, owner, method = name.rsplit(".", 2)
    kind = getattr(sys.modules.get(module), owner, None)
    return inspect.isclass(kind) and has_docstring(getattr(kind, method))


def private_imports(source: str) -> list[str]:
    """Names with a leading underscore that are taken from other modules of the package."""
    found, borrowed = [], set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and ((node.module or "").split(".")[0] == "dvae" or node.level):
            names = [alias.name for alias in node.names]
            found += filter(is_private, names)
            borrowed |= {alias.asname or alias.name for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and is_private(node.attr):
            found += [f"{node.value.id}.{node.attr}"] if node.value.id in borrowed else []
    return found


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def test_no_private_name_crosses_a_module() -> None:
    texts = {path.relative_to(SOURCE): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    assert {str(path): names for path, text in texts.items() if (names := private_imports(text))} == {}


def test_a_private_name_is_seen() -> None:
    assert private_imports("from dvae.dag.value import _sorted") == ["_sorted"]
    assert private_imports("from dvae.dag import value\nvalue._sorted()") == ["value._sorted"]
    assert private_imports("from dvae.dag import Dag\nfrom torch import _C\nself._x") == []


def test_no_page_tells_to_install_a_strangers_package() -> None:
    root = SOURCE.parents[1]
    pages = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("benchmarks/**/*.md"), root / "Makefile"]
    words = [each for each in FORBIDDEN if each.startswith("pip")]
    assert [str(page) for page in pages if any(each in page.read_text(encoding="utf-8") for each in words)] == []


@pytest.mark.parametrize("words", FORBIDDEN)
def test_nothing_in_the_package_speaks_of(words: str) -> None:
    texts = (path for path in SOURCE.rglob("*") if path.suffix in (".py", ".html", ".md", ".toml"))
    assert [str(path) for path in texts if words in path.read_text(encoding="utf-8")] == []
