"""Passwords in addresses (`postgresql://me:password@host/studies?password=...`): nothing shows or stores them.

Addresses are typed by people, with characters that should have been escaped. In doubt more is hidden than need be.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, unquote_plus

HIDDEN = "***"
WORDS = ("pass", "pwd", "secret", "token", "credential")  # in the names of arguments whose values are hidden
MIN_LENGTH = 3  # characters of a password that is looked for in other text
ARGUMENT = r"([?&;][^?&;=]*)=([^&;]+)"
ARGUMENTS_BEGIN = 45  # among the fields of /proc/self/stat that follow the program's name


def masked(address: str, *, user: str = "{}:" + HIDDEN) -> str:
    """An address, or a word with one, without its passwords; `user` is what becomes of USER:PASSWORD."""
    return _changed(address, lambda name: user.format(name), lambda secret: None)


def passwords_in(address: str) -> list[str]:
    """What `masked` hides, as it is written and as it is meant."""
    found: list[str] = []
    _changed(address, lambda name: name, found.append)
    return [*dict.fromkeys(form for secret in found for form in (secret, unquote_plus(secret)))]


def scrubbed(text: str, address: str) -> str:
    """Somebody else's sentence about an address, without its passwords."""
    text = text.replace(address, masked(address))
    for secret in passwords_in(address):
        text = text.replace(secret, HIDDEN) if len(secret) >= MIN_LENGTH else text
    return text


def escaped(address: str) -> str:
    """The address with its password such that readers of addresses find its end; else a part would be their host."""
    scheme, slashes, rest = address.partition("://")
    shape = re.sub(ARGUMENT, lambda match: f"{match[1]}={'*' * len(match[2])}", rest)
    head, at, _ = shape.rpartition("@")
    name, colon, secret = head.partition(":")
    if not (slashes and at and colon) or rest.startswith("/") or not _is_password(name, secret):
        return address
    begin, end = len(name) + 1, len(head)
    whole = re.sub("%(?![0-9A-Fa-f]{2})", "%25", rest[begin:end])
    return f"{scheme}{slashes}{rest[:begin]}{quote(whole, safe='%')}{rest[end:]}"


def hide_arguments() -> None:
    """Overwrites passwords in this process's arguments, which all users of a machine may list (on Linux)."""
    secrets = {os.fsencode(secret) for word in sys.argv for secret in passwords_in(word)}
    if not secrets:
        return
    with contextlib.suppress(OSError, ValueError, IndexError):
        listed = Path("/proc/self/cmdline").read_bytes()
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        begin = int(fields[ARGUMENTS_BEGIN])
        if not begin or ctypes.string_at(begin, len(listed)) != listed:
            return
        for secret in secrets:
            for match in re.finditer(re.escape(secret), listed):
                ctypes.memset(begin + match.start(), ord("*"), len(secret))


def _changed(address: str, user: Callable[[str], str], found: Callable[[str], object]) -> str:
    scheme, slashes, rest = address.partition("://")
    if not slashes:
        return address
    rest = _without_arguments(rest, found)
    if not rest.startswith("/"):  # else it names a file
        rest = _without_userinfo(rest, user, found)
    return scheme + slashes + rest


def _without_userinfo(rest: str, user: Callable[[str], str], found: Callable[[str], object]) -> str:
    head, at, tail = rest.rpartition("@")  # the last one: a password may hold others
    name, colon, secret = head.partition(":")
    if at and colon and _is_password(name, secret):
        for part in {secret, secret.partition("@")[0]} - {""}:
            found(part)
        return f"{user(name)}@{tail}"
    typed = None if at else re.match(r"([^:/?#\[]*):([^/?#]*)", rest)  # the host was forgotten
    if typed and typed[2] and not typed[2].isdigit():
        found(typed[2])
        return user(typed[1]) + rest[typed.end() :]
    return rest


def _is_password(name: str, secret: str) -> bool:
    """Not so in host:5432/database?option=a@b."""
    return not re.search(r"[/?]", name) and not re.match(r"\d+(/[^@]*)?\?", secret)


def _without_arguments(rest: str, found: Callable[[str], object]) -> str:
    def hidden(match: re.Match[str]) -> str:
        key, value = match[1], match[2]
        if not any(word in unquote_plus(key).lower() for word in WORDS):
            return match[0]
        found(value)
        return f"{key}={HIDDEN}"

    return re.sub(ARGUMENT, hidden, rest)
