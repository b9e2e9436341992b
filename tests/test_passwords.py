"""No password is shown or stored, however oddly its address is written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dvae.passwords import escaped, masked, passwords_in, scrubbed
from dvae.studies.storage import shown

ADDRESSES = [
    ("postgresql://me:SECRET@host:5432/studies", "postgresql://me:***@host:5432/studies"),
    ("postgresql://me:SE/CR?ET#@host/db", "postgresql://me:***@host/db"),
    ("postgresql://me:SE@CR:ET@host/db", "postgresql://me:***@host/db"),
    ("postgresql://me:SE CR ET@host/db", "postgresql://me:***@host/db"),
    ("postgresql://:SECRET@host/db", "postgresql://:***@host/db"),
    ("postgresql://me:SE%40CRET@host/db", "postgresql://me:***@host/db"),
    ("postgresql://us@er:SECRET@host/db", "postgresql://us@er:***@host/db"),
    ("postgresql://host/db?user=me&password=SECRET", "postgresql://host/db?user=me&password=***"),
    ("postgresql://host/db?PassWord=SECRET&sslmode=require", "postgresql://host/db?PassWord=***&sslmode=require"),
    ("postgresql://host/db?p%61ssword=SECRET", "postgresql://host/db?p%61ssword=***"),
    ("postgresql://me@host:5432/db?password=SE@CR:ET", "postgresql://me@host:5432/db?password=***"),
    ("postgresql://me:SECRET@host:1/db?sslpassword=SECRET", "postgresql://me:***@host:1/db?sslpassword=***"),
    ("postgresql+psycopg://me:SECRET@[::1]:5432/db", "postgresql+psycopg://me:***@[::1]:5432/db"),
    ("postgresql://me:SECRET", "postgresql://me:***"),
    ("--storage=postgresql://me:SECRET@host/db#study", "--storage=postgresql://me:***@host/db#study"),
]
HARMLESS = [
    "postgresql://me@host:5432/studies", "postgresql://host:5432/studies", "postgresql://host:5432/db?options=a@b",
    "dvae:////home/a:b@c/studies.db", "sqlite:///studies.db?timeout=3", "a:b@c", "mine:score?folder=x", "postgresql://",
    "postgresql://[::1]:5432/db", "https://example.org/a:b",
]  # fmt: skip


@pytest.mark.parametrize(("address", "clean"), ADDRESSES)
def test_passwords_are_masked(address: str, clean: str) -> None:
    assert masked(address) == clean
    assert not any(piece in shown(address) for piece in ("SECRET", "SE", "CR", "ET"))
    secret = max(passwords_in(address), key=len)
    said = scrubbed(f'connection to "{address}" failed: {secret} is wrong', address)
    assert secret not in said
    assert said.endswith("failed: *** is wrong")


@pytest.mark.parametrize(
    ("address", "secret"),
    [
        ("postgresql://me:SE/CR?ET#@host/db", "SE/CR?ET#"),
        ("postgresql://me:SE@CR:ET@host/db", "SE@CR:ET"),
        ("postgresql://me:p@ss:w\u00f6/rd@host/db?sslpassword=a@b", "p@ss:w\u00f6/rd"),
        ("postgresql://me:SE%40CR%ET@host/db", "SE@CR%ET"),
        ("postgresql://me:SECRET@host/db", "SECRET"),
    ],
)
def test_an_odd_password_is_no_part_of_the_host(address: str, secret: str) -> None:
    """Else its end would be looked up as a name of a machine, or told as a port that is no number."""
    url = pytest.importorskip("sqlalchemy").make_url(escaped(address))
    assert (url.username, url.password, url.host, url.database) == ("me", secret, "host", "db")
    assert masked(escaped(address)) == masked(address)


@pytest.mark.parametrize("address", HARMLESS)
def test_what_holds_no_password_stays(address: str) -> None:
    assert masked(address) == shown(address) == escaped(address) == address
    assert passwords_in(address) == []


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="only Linux lets a process change its arguments")
def test_passwords_leave_the_list_of_processes() -> None:
    program = (
        "import sys; from dvae.passwords import hide_arguments; hide_arguments(); "
        "print(open('/proc/self/cmdline').read().replace(chr(0), ' '), sys.argv[2])"
    )
    words = ["--storage", "postgresql://me:SECRET@host/db?sslpassword=HIDDEN"]
    environment = {"PYTHONPATH": str(Path(__file__).parents[1] / "src")}
    said = subprocess.run(
        [sys.executable, "-c", program, *words], env=environment, capture_output=True, text=True, check=True
    ).stdout
    listed, _, argument = said.strip().rpartition(" ")
    assert argument == words[1]  # the program itself still knows
    assert "SECRET" not in listed
    assert "HIDDEN" not in listed
    assert "postgresql://me:******@host/db?sslpassword=******" in listed
