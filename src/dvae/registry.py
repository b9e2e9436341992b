"""Things by name: built-in ones, those of installed packages (entry points), and `package.module:name`.

A registry holds one kind of thing (tasks, encoders, strategies, ...). What an outside package declares under the
registry's entry point group stands beside the built-in things; whatever is importable can be named by its path.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from dvae.errors import ConfigError, MissingError

T = TypeVar("T")


class Registry(Generic[T]):
    """Things of one kind; `adapt` turns what an outside package offers into one, or raises `ConfigError`."""

    def __init__(self, noun: str, group: str, adapt: Callable[[str, Any], T]) -> None:
        self.noun, self.group, self.adapt = noun, group, adapt
        self._own: dict[str, T] = {}
        self._outside: dict[str, T] = {}

    def register(self, name: str, thing: Any) -> None:
        """Adds a thing under `name`; a name is given once."""
        if name in self._own:
            raise ConfigError(f"there is a {self.noun} {name!r} already")
        self._own[name] = self.adapt(name, thing)

    def names(self) -> list[str]:
        """All names: built-in and registered ones in their order, then those of installed packages."""
        return [*self._own, *sorted(self._points().keys() - self._own.keys())]

    def is_local(self, name: str) -> bool:
        """Whether `name` was registered in this process, so that no other may know it."""
        return name in self._own

    def get(self, name: str) -> T:
        """The thing called `name`, or at `package.module:name`."""
        if name in self._own:
            return self._own[name]
        if name not in self._outside:
            self._outside[name] = self.adapt(name, self._load(name))
        return self._outside[name]

    def resolve(self, given: Any) -> tuple[str, T]:
        """A thing and its name, from a name or from an object such as an outside package offers."""
        if isinstance(given, str):
            return given, self.get(given)
        name = path_of(given)
        return name, self.adapt(name, given)

    def items(self) -> Iterable[tuple[str, T]]:
        return ((name, self.get(name)) for name in self.names())

    def _load(self, name: str) -> Any:
        points = self._points()
        if name in points:
            return load_object(points[name].value, f"the {self.noun} {name!r}")
        if ":" in name:
            return load_object(name, f"the {self.noun} {name!r}")
        raise ConfigError(f"there is no {self.noun} {name!r}; {suggestion(name, self.names())}, or package.module:name")

    def _points(self) -> Mapping[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}


def load_object(path: str, what: str) -> Any:
    """What stands at `package.module:name`; errors open with `what`."""
    module_name, colon, attribute = path.partition(":")
    if not colon or not module_name or not all(part.isidentifier() for part in attribute.split(".")):
        raise ConfigError(f"{what} is not of the form package.module:name")
    try:
        found = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        if module_name == missing or module_name.startswith(missing + "."):
            package = module_name.partition(".")[0]
            raise MissingError(f"{what} needs the package {package!r}, which is not installed here") from None
        raise MissingError(f"{what} cannot be imported: it needs the package {missing!r}") from None
    except Exception as error:  # whatever a foreign module raises while it is imported, a SyntaxError for one
        raise ConfigError(f"{what} cannot be imported: {type(error).__name__}: {error}") from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"{what} cannot be found: {module_name} has no {attribute!r}")
        found = getattr(found, part)
    return found


def path_of(thing: Any) -> str:
    """`package.module:name` of a class, a function, or an object's class."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}:{named.__qualname__}"


def suggestion(name: str, known: Iterable[str]) -> str:
    """The nearest of the known names, or all of them."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}? There are {', '.join(names)}" if close else f"there are {', '.join(names)}"
