"""Recipes by name, by path, by entry point, and as objects."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dvae.errors import ConfigError, MissingError
from dvae.nas import RECIPES, Recipe, get_recipe, train_network
from nas.examples import some_architectures, stripes

MODULE = """
from dvae.config import replace
from dvae.nas import get_recipe

gentle = replace(get_recipe("digits"), epochs=2, batch=16, **{"network.width": 4})
wrong = 3

def made():
    return replace(gentle, epochs=1)
"""


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of somebody else's, installed: a module and its entry points."""
    (tmp_path / "gentle_recipes.py").write_text(MODULE)
    info = tmp_path / "gentle_recipes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gentle-recipes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dvae.recipes]\ngentle = gentle_recipes:gentle\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "gentle_recipes", raising=False)
    return tmp_path


def test_a_recipe_of_another_package_trains_as_a_built_in_one_does(outside: Path) -> None:
    assert RECIPES.names()[:3] == ["paper", "fast", "digits"]
    assert "gentle" in RECIPES.names()
    named, by_path = get_recipe("gentle"), get_recipe("gentle_recipes:made")
    assert (named.epochs, by_path.epochs) == (2, 1)
    architecture = some_architectures(1, depth=3)[0]
    trained = [train_network(architecture, stripes(), recipe) for recipe in ("gentle", named)]
    assert trained[0].accuracy == trained[1].accuracy
    assert trained[0].epochs == 2


def test_what_is_no_recipe_is_refused(outside: Path) -> None:
    with pytest.raises(ConfigError, match=r"the recipe 'gentle_recipes:wrong' is int, not a dvae.nas.Recipe"):
        get_recipe("gentle_recipes:wrong")
    with pytest.raises(ConfigError, match="did you mean 'fast'"):
        get_recipe("fats")
    with pytest.raises(MissingError, match="needs the package 'nowhere'"):
        get_recipe("nowhere:recipe")
    assert get_recipe(Recipe(epochs=3)).epochs == 3
