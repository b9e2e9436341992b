"""Configurations: frozen dataclasses that come from mappings, TOML files and `key=value` words, and go back.

A configuration class is a frozen dataclass whose fields are int, float, bool, str, Literal, tuples, other
such dataclasses, free-form mappings, or one of these `| None`. Types are checked here, where values come from
outside; ranges are checked by the class itself, with `check` in its `__post_init__`.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import json
import os
import re
import tomllib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, Union

from dvae.errors import ConfigError, FormatError, MissingError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

MAX_TOML_BYTES = 2**20

_KINDS = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}


class ChosenBySettings:
    """A base for configurations whose class depends on their settings, as a model's depends on its name."""

    @classmethod
    def class_for(cls, mapping: Mapping[str, object]) -> type[Any]:
        """The class for these settings, or a `ConfigError` if one of them is unknown."""
        raise NotImplementedError


def check(condition: bool, message: str) -> None:
    """Raises `ConfigError(message)` unless `condition` holds."""
    if not condition:
        raise ConfigError(message)


def from_mapping(cls: type[T], mapping: Mapping[str, object], where: str = "config") -> T:
    """Builds a `cls` from plain values; `where` names the mapping's place in error messages."""
    check(isinstance(mapping, Mapping), f"{where}: expected a table of settings, got {_describe(mapping)}")
    cls = _chosen(cls, mapping, where)
    hints = _hints(cls)
    for key in mapping:
        if key not in hints:
            raise _unknown(key, hints, where)
    values = {key: _convert(hints[key], value, f"{where}.{key}") for key, value in mapping.items()}
    for field in _fields(cls):
        if field.name not in values and _default(field) is dataclasses.MISSING:
            # `to_mapping` leaves None out, so an absent optional setting without a default is None.
            check(_is_optional(hints[field.name]), f"{where}: the setting {field.name!r} is missing")
            values[field.name] = None
    return _build(cls, values, where)


def to_mapping(config: DataclassInstance) -> dict[str, object]:
    """The settings as dicts, lists and scalars. None is left out: neither TOML nor a reader needs it."""
    mapping: dict[str, object] = {}
    for field in _fields(type(config)):
        value = getattr(config, field.name)
        if value is not None:
            mapping[field.name] = _plain(value, field.name)
        elif _default(field) not in (None, dataclasses.MISSING):
            raise ConfigError(f"{field.name}: None cannot be written, as the default is not None")
    return mapping


def replace(config: T, **changes: object) -> T:
    """`config` with some settings changed; a dotted key (`**{"training.epochs": 3}`) reaches inside."""
    return with_overrides(config, changes)


def with_overrides(config: T, overrides: Mapping[str, object], where: str = "config") -> T:
    """`config` with the settings named by dotted keys changed, all at once, checked as in `from_mapping`.

    Where the class depends on the settings it is chosen again; settings at their default do not bind it.
    """
    if isinstance(config, ChosenBySettings):
        given = {
            field.name: getattr(config, field.name) for field in _fields(type(config)) if not _is_left(config, field)
        }
        return from_mapping(type(config), given | dict(overrides), where)
    hints = _hints(type(config))
    values: dict[str, object] = {}
    inner: dict[str, dict[str, object]] = {}
    for key, value in overrides.items():
        head, dot, rest = key.partition(".")
        if head not in hints:
            raise _unknown(head, hints, where)
        if dot:
            inner.setdefault(head, {})[rest] = value
        else:
            values[head] = _convert(hints[head], value, f"{where}.{head}")
    for head, changes in inner.items():
        place = f"{where}.{head}"
        check(head not in values, f"{place}: changed both as a whole and in part")
        nested = _nested_class(hints[head])
        if nested is None:
            raise ConfigError(f"{place}: holds a single value, so {next(iter(changes))!r} is not a part of it")
        current = getattr(config, head)
        values[head] = (
            from_mapping(nested, _unflattened(changes), place)
            if current is None
            else with_overrides(current, changes, place)
        )
    kept = {field.name: getattr(config, field.name) for field in _fields(type(config))}
    return _build(type(config), kept | values, where)


def parse_override(text: str) -> tuple[str, object]:
    """Reads `key=value`: the value as TOML (`3`, `true`, `[1, 2]`), else as a string; `none` or nothing is None."""
    key, equals, value = text.partition("=")
    key, value = key.strip(), value.strip()
    check(
        bool(equals) and all(part.isidentifier() for part in key.split(".")),
        f"expected key=value, such as training.epochs=3, got {text!r}",
    )
    if value in ("", "none"):
        return key, None
    try:
        parsed = tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        return key, value
    # More than one key means that the text held a line break; a date or a table is nothing a setting can be.
    if len(parsed) == 1 and isinstance(parsed["value"], bool | int | float | str | list):
        return key, parsed["value"]
    return key, value


def check_types(config: DataclassInstance) -> None:
    """Checks the types of a configuration in its `__post_init__`, for those that are made by hand."""
    for name, hint in _hints(type(config)).items():
        object.__setattr__(config, name, _convert(hint, getattr(config, name), name))


def read_toml(
    cls: type[T],
    path: str | os.PathLike[str],
    migrate: Callable[[dict[str, Any]], Mapping[str, object]] | None = None,
) -> T:
    """Reads a `cls` from a TOML file; every error names the file. `migrate` brings older settings up to date."""
    mapping = load_toml(path)
    return from_mapping(cls, mapping if migrate is None else migrate(mapping), str(path))


def load_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The values of a TOML file; every error names the file."""
    try:
        if Path(path).stat().st_size > MAX_TOML_BYTES:
            raise FormatError(f"{path}: too long for a file of settings ({MAX_TOML_BYTES:,} bytes are allowed)")
        text = Path(path).read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise MissingError(f"{path}: there is no such file") from None
    except OSError as error:
        raise MissingError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise FormatError.at(path, line, "not UTF-8 text") from None
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise FormatError(f"{path}: not TOML that can be read: it is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        problem, found = str(error), re.search(r" \(at line (\d+), ", str(error))
        line = int(found[1]) if found else text.count("\n") + 1  # otherwise "at end of document"
        raise FormatError.at(path, line, f"not TOML: {problem}") from None
    except ValueError as error:  # Python's limit on the digits of an integer, and dates that there are not
        raise FormatError(f"{path}: not TOML that can be read: {error}") from None


def to_toml(config: DataclassInstance) -> str:
    """The settings as TOML that `read_toml` turns into an equal configuration."""
    return "\n".join(_toml_lines(to_mapping(config), ())).lstrip("\n") + "\n"


def _convert(hint: object, value: object, where: str) -> object:
    """`value` as the type `hint` demands, or a `ConfigError` that names `where`."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in _KINDS:
        return _convert_scalar(hint, value, where)
    if hint is types.NoneType:
        check(value is None, f"{where}: expected nothing, got {_describe(value)}")
        return None
    if origin in (Union, types.UnionType):
        return _convert_union(arguments, value, where)
    if origin is Literal:
        if not any(type(value) is type(choice) and value == choice for choice in arguments):
            choices = ", ".join(repr(choice) for choice in arguments)
            raise ConfigError(f"{where}: expected one of {choices}, got {_describe(value)}")
        return value
    if origin is tuple:
        return _convert_tuple(arguments, value, where)
    if origin is Mapping:
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: expected a table, got {_describe(value)}")
        return value
    nested = _nested_class(hint)
    if nested is None:
        raise TypeError(f"{where}: a configuration cannot hold a field of type {hint}")
    if isinstance(value, nested):
        return value
    return from_mapping(nested, typing.cast("Mapping[str, object]", value), where)


def _convert_scalar(kind: type, value: object, where: str) -> object:
    if type(value) is kind:
        return value
    if kind is float and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise ConfigError(f"{where}: {value} is too large for a number") from None
    raise ConfigError(f"{where}: expected {_KINDS[kind]}, got {_describe(value)}")


def _convert_union(members: tuple[object, ...], value: object, where: str) -> object:
    if value is None and types.NoneType in members:
        return None
    candidates = [member for member in members if member is not types.NoneType]
    exact = [member for member in candidates if member is type(value)]
    problems = []
    for member in exact + candidates:
        try:
            return _convert(member, value, where)
        except ConfigError as error:
            problems.append(error)
    if len(candidates) == 1:
        raise problems[0]
    expected = " or ".join(_KINDS.get(typing.cast(type, member), str(member)) for member in candidates)
    raise ConfigError(f"{where}: expected {expected}, got {_describe(value)}")


def _convert_tuple(arguments: tuple[object, ...], value: object, where: str) -> tuple[object, ...]:
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{where}: expected a list, got {_describe(value)}")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        arguments = (arguments[0],) * len(value)
    check(len(value) == len(arguments), f"{where}: expected {len(arguments)} values, got {len(value)}")
    pairs = enumerate(zip(arguments, value, strict=True))
    return tuple(_convert(hint, item, f"{where}[{position}]") for position, (hint, item) in pairs)


def _chosen(cls: type[T], mapping: Mapping[str, object], where: str) -> type[T]:
    if not issubclass(cls, ChosenBySettings):
        return cls
    try:
        return cls.class_for(mapping)
    except ConfigError as error:  # the class does not know its place
        raise ConfigError(f"{where}: {error}") from error


def _build(cls: type[T], values: Mapping[str, object], where: str) -> T:
    try:
        return cls(**values)
    except ConfigError as error:  # a range check of the class, which does not know its place
        raise ConfigError(f"{where}: {error}") from error


def _plain(value: object, where: str) -> object:
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{position}]") for position, item in enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_mapping(value)
    raise ConfigError(f"{where}: {_describe(value)} cannot be written as a setting")


def _toml_lines(table: Mapping[str, object], place: tuple[str, ...]) -> Iterable[str]:
    """A table's own values first, as TOML demands, then the tables inside it."""
    if place:
        yield f"\n[{'.'.join(_toml_key(part) for part in place)}]"
    for key, value in table.items():
        if not isinstance(value, dict):
            yield f"{_toml_key(key)} = {_toml_value(value)}"
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _toml_lines(value, (*place, key))


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml_value(key)


def _toml_value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for the delete character, which TOML wants escaped too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(_toml_value(item) for item in value)}]"
    if isinstance(value, dict):
        members = ", ".join(f"{_toml_key(key)} = {_toml_value(item)}" for key, item in value.items())
        return f"{{{members}}}"
    return repr(value)


def _unflattened(changes: Mapping[str, object]) -> dict[str, object]:
    tree: dict[str, object] = {}
    for key, value in changes.items():
        *parents, last = key.split(".")
        branch = tree
        for parent in parents:
            deeper = branch.setdefault(parent, {})
            if not isinstance(deeper, dict):
                raise ConfigError(f"{parent}: changed both as a whole and in part")
            branch = deeper
        check(last not in branch, f"{last}: changed both as a whole and in part")
        branch[last] = value
    return tree


def _fields(cls: type[DataclassInstance]) -> list[dataclasses.Field[object]]:
    return [field for field in dataclasses.fields(cls) if field.init]


def _hints(cls: type[DataclassInstance]) -> dict[str, object]:
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in _fields(cls)}


def _default(field: dataclasses.Field[object]) -> object:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory


def _is_left(config: DataclassInstance, field: dataclasses.Field[Any]) -> bool:
    """Whether a setting has its default."""
    default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
    return bool(getattr(config, field.name) == default)


def _is_optional(hint: object) -> bool:
    return types.NoneType in typing.get_args(hint)


def _nested_class(hint: object) -> type[DataclassInstance] | None:
    """The configuration class that a field holds, be it optional or not."""
    for member in (hint, *typing.get_args(hint)) if typing.get_origin(hint) is not tuple else ():
        if isinstance(member, type) and dataclasses.is_dataclass(member):
            return member
    return None


def _unknown(key: str, known: Iterable[str], where: str) -> ConfigError:
    names = sorted(known)
    close = difflib.get_close_matches(str(key), names, n=1)
    advice = f"did you mean {close[0]!r}?" if close else f"the known ones are {', '.join(names) or 'none'}"
    return ConfigError(f"{where}: unknown setting {key!r}; {advice}")


def _describe(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    kind = {bool: "the truth value", int: "the integer", float: "the number", str: "the string"}
    return f"{kind.get(type(value), f'the {type(value).__name__}')} {value!r}"


class Setting(NamedTuple):
    """A setting of a configuration, for people."""

    name: str
    kind: str
    default: object
    description: str


def described(cls: type[DataclassInstance]) -> list[Setting]:
    """The settings of a class with their types, defaults and the comments beside them."""
    hints, comments = _hints(cls), _comments(cls)
    found = []
    for field in _fields(cls):
        default = None if _default(field) is dataclasses.MISSING else _default(field)
        if not dataclasses.is_dataclass(default) and not callable(default):
            found.append(Setting(field.name, _kind(hints[field.name]), default, comments.get(field.name, "")))
    return found


def _kind(hint: object) -> str:
    """A type in words."""
    if hint in _KINDS:
        return _KINDS[hint]
    if typing.get_origin(hint) is Literal:
        return " or ".join(str(choice) for choice in typing.get_args(hint))
    if typing.get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_kind(member) for member in typing.get_args(hint) if member is not types.NoneType)
    return "a list" if typing.get_origin(hint) is tuple else str(hint)


def _comments(cls: type[DataclassInstance]) -> dict[str, str]:
    """What stands behind the fields of a class and of the classes it was made of, in their source."""
    found: dict[str, str] = {}
    parts = [base for part in getattr(cls, "settings_classes", ()) for base in part.__mro__]
    for each in (*parts, *cls.__mro__):
        try:
            source = inspect.getsource(each)
        except (OSError, TypeError):  # a class made while the program runs
            continue
        for match in re.finditer(r"^    (\w+): [^#\n]*?# (.*)$", source, re.M):
            found.setdefault(match[1], match[2])
    return found
