"""Seeded changes of files: bytes, lines, and the structure of JSON, TOML, tensors and arrays."""

from __future__ import annotations

import gzip
import io
import json
import random
import struct
import zipfile
from collections.abc import Callable
from typing import Any

Mutate = Callable[[bytes, random.Random], bytes]

BYTES = (0, 1, 9, 10, 13, 27, 34, 44, 46, 48, 57, 91, 92, 93, 123, 125, 127, 128, 155, 192, 237, 255)
WORDS = (
    *(b"NaN", b"Infinity", b"-Infinity", b"null", b"true", b"1e999", b"-1", b"0", b"9" * 400, b"9" * 5000, b"1e-999"),
    *(b"\\ud800", b"\x1b[2J", b"\xef\xbb\xbf", b"\r\n", b"\xe2\x80\xa8", b'"', b"[" * 200, b"]" * 50, b"{" * 2000),
    *(b"[[[[", b"#", b"->", b"digraph", b"<!DOCTYPE x [<!ENTITY a 'b'>]>", b"&a;", b"types", b"edges", b"=", b"[a]\n"),
    *(b"9223372036854775808", b"18446744073709551616", b"2147483648", b"-9223372036854775809", b"0x10", b"1_0", b"\0"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**30, 0.0, -0.0, 0.5, 1e308, 1e-320),
    *("", "a", "input", "\x1b[31m", "a\nb", "\u2028", "é", "x" * 300, "0", "-1", "nan", "../..", "<start>", "<end>"),
    *([], [[]], {}, [0], [1, 2], ["a"], {"a": 1}, [[0, 1]], [None], {"": {}}, [0] * 50, "\ud800"),
)
ODD_TOML = (
    *("inf", "nan", "-0.0", "1979-05-27", "{a = 1}", "[" * 300 + "]" * 300, "9" * 5000, '"""x"""', "0b1", "1e400"),
    *("1000000000", "999999", "-1", "0", "1000", '""'),
)
SHAPES = (b"(3, 4)", b"(-1, 4)", b"(1000000000000, 9000)", b"(3, 5)", b"()", b"(0,)", b"(" * 200, b"('a',)", b"x")
KINDS = (b"<f8", b"<f4", b"|O8", b"<U9", b"<M8", b"<c16", b"|b1", b"<i8")


def changed_bytes(content: bytes, chance: random.Random) -> bytes:
    """A few bytes changed, removed, repeated, or words put in."""
    found = bytearray(content)
    for _ in range(1 + chance.randrange(4)):
        kind, place = chance.randrange(8), chance.randrange(len(found) + 1)
        length = chance.choice((1, 1, 2, 4, 16, 64))
        if kind == 0 and place < len(found):
            found[place] ^= 1 << chance.randrange(8)
        elif kind == 1 and place < len(found):
            found[place] = chance.choice(BYTES)
        elif kind == 2:
            del found[place : place + length]
        elif kind == 3:
            found[place:place] = found[place : place + length]
        elif kind == 4:
            found[place:place] = chance.choice(WORDS)
        elif kind == 5 and chance.random() < 0.3:
            del found[place:]
        elif kind == 6:
            found[place : place + length] = chance.choice(WORDS)
        else:
            found[place:place] = bytes(chance.choice(BYTES) for _ in range(length))
    return bytes(found)


def changed_lines(content: bytes, chance: random.Random) -> bytes:
    """Lines repeated, removed, exchanged or joined; or bytes."""
    lines = content.splitlines(keepends=True)
    kind = chance.randrange(6)
    if not lines or kind > 3:
        return changed_bytes(content, chance)
    place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    if kind == 0:
        lines.insert(place, lines[other])
    elif kind == 1:
        del lines[place]
    elif kind == 2:
        lines[place], lines[other] = lines[other], lines[place]
    else:
        lines[place] = lines[place].rstrip(b"\n")
    return b"".join(lines)


def changed_value(value: Any, chance: random.Random) -> Any:
    """A plain value with something inside it replaced, left out, repeated or nested."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        return _changed_table(value, chance)
    if isinstance(value, list) and value and chance.random() < 0.85:
        return _changed_list(value, chance)
    if chance.random() < 0.1:
        deep: Any = value
        for _ in range(chance.choice((1, 5, 400))):
            deep = [deep]
        return deep
    if isinstance(value, int) and not isinstance(value, bool) and chance.random() < 0.4:
        return value + chance.choice((-2, -1, 1, 2, 1000, 10**6))
    return chance.choice(VALUES)


def _changed_table(value: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    key, kind = chance.choice(list(value)), chance.randrange(8)
    if kind == 0:
        return {name: item for name, item in value.items() if name != key}
    if kind == 1:
        return {**value, str(chance.choice(VALUES)): chance.choice(VALUES)}
    if kind == 2:
        return {(f"{name}x" if name == key else name): item for name, item in value.items()}
    return {**value, key: changed_value(value[key], chance)}


def _changed_list(value: list[Any], chance: random.Random) -> list[Any]:
    place, kind = chance.randrange(len(value)), chance.randrange(8)
    if kind == 0:
        return value[:place] + value[place + 1 :]
    if kind == 1:
        return value[:place] + [value[place]] * chance.choice((2, 3, 50)) + value[place + 1 :]
    if kind == 2:
        return chance.sample(value, len(value))
    return [*value[:place], changed_value(value[place], chance), *value[place + 1 :]]


def changed_json(content: bytes, chance: random.Random) -> bytes:
    """JSON with another structure, or other bytes."""
    if chance.random() < 0.3:
        return changed_bytes(content, chance)
    value = json.loads(content)
    for _ in range(1 + chance.randrange(3)):
        value = changed_value(value, chance)
    return json.dumps(value, ensure_ascii=chance.random() < 0.9).encode("utf-8", "surrogatepass")


def changed_json_lines(content: bytes, chance: random.Random) -> bytes:
    """Lines of JSON, one of them with another structure."""
    lines = content.splitlines()
    if not lines or chance.random() < 0.4:
        return changed_lines(content, chance)
    place = chance.randrange(len(lines))
    lines[place] = changed_json(lines[place], chance)
    return b"\n".join(lines) + b"\n"


def changed_toml(content: bytes, chance: random.Random) -> bytes:
    """TOML with another value, key or table, or other bytes and lines."""
    lines = content.decode().splitlines()
    places = [number for number, line in enumerate(lines) if "=" in line]
    if not places or chance.random() < 0.5:
        return changed_lines(content, chance)
    place = chance.choice(places)
    key, _, _ = lines[place].partition(" = ")
    value = chance.choice(ODD_TOML) if chance.random() < 0.5 else json.dumps(chance.choice(VALUES[1:]))
    lines[place] = f"{key} = {value}" if chance.random() < 0.8 else f"[{key}]"
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def changed_gzip(content: bytes, chance: random.Random) -> bytes:
    """Another content in gzip, or gzip with other bytes."""
    if chance.random() < 0.5:
        return changed_bytes(content, chance)
    return gzip.compress(changed_json_lines(gzip.decompress(content), chance), 1, mtime=0)


def changed_safetensors(content: bytes, chance: random.Random) -> bytes:
    """Tensors under another header without a digest, which would tell; or other bytes."""
    if chance.random() < 0.3:
        return changed_bytes(content, chance)
    (length,) = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    notes = header.get("__metadata__", {})
    notes.pop("sha256", None)
    if "state" in notes and chance.random() < 0.6:
        notes["state"] = changed_json(notes["state"].encode(), chance).decode("utf-8", "replace")
    else:
        header = changed_value(header, chance)
    if chance.random() < 0.3:
        data = changed_bytes(data, chance)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def changed_npz(content: bytes, chance: random.Random) -> bytes:
    """Another header or other numbers in an array of a zip file, or other bytes."""
    if chance.random() < 0.4:
        return changed_bytes(content, chance)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = chance.choice(list(members))
    inner = members[name]
    if chance.random() < 0.6:
        inner = inner.replace(b"(3, 4)", chance.choice(SHAPES)).replace(b"<f8", chance.choice(KINDS))
    else:
        inner = changed_bytes(inner, chance)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for each, bits in members.items():
            archive.writestr(each if chance.random() < 0.95 else "other.npy", inner if each == name else bits)
    return out.getvalue()
