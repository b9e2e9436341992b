"""Processes forked from a test, which may have threads of its own."""

from __future__ import annotations

import os
import warnings


def forked() -> int:
    """0 in the new process, its number in the old one; what the child needs is imported, and it ends by `os._exit`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, where other threads are there
        return os.fork()
