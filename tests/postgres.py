"""A server of PostgreSQL for tests, in a folder of its own."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def postgres_server() -> Iterator[Any]:
    """A running server; the test is skipped where one cannot be had."""
    pytest.importorskip("psycopg")
    pytest.importorskip("optuna")
    pgserver = pytest.importorskip("pgserver")
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="dvae-pg-") as folder:
        warnings.simplefilter("ignore")
        server = pgserver.get_server(folder)
        try:
            yield server
        finally:
            server.cleanup()
