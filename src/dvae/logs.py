"""Logging for programs; the library itself only writes to `logging.getLogger("dvae")`."""

from __future__ import annotations

import logging
import os
import sys

from dvae.errors import ConfigError
from dvae.progress import stderr_console

_HANDLER_NAME = "dvae-stderr"


VARIABLE = "DVAE_LOG"
LEVELS = {name: getattr(logging, name.upper()) for name in ("error", "warning", "info", "debug")}


def configure(verbosity: int | None = None) -> None:
    """Sends the package's log to standard error: errors below 0, warnings at 0, information at 1, all from 2.

    None is what the variable DVAE_LOG says (error, warning, info or debug), or warnings. Calling it again replaces what
    the call before set up.
    """
    level = _asked() if verbosity is None else list(LEVELS.values())[min(max(verbosity + 1, 0), len(LEVELS) - 1)]
    logger = logging.getLogger("dvae")
    for handler in [handler for handler in logger.handlers if handler.name == _HANDLER_NAME]:
        logger.removeHandler(handler)
    handler = _terminal_handler() if sys.stderr.isatty() else _StderrHandler()
    handler.name = _HANDLER_NAME
    logger.addHandler(handler)
    logger.setLevel(level)


def _asked() -> int:
    name = os.environ.get(VARIABLE, "").strip().lower() or "warning"
    if name not in LEVELS:
        raise ConfigError(f"the variable {VARIABLE} is one of {', '.join(LEVELS)}, not {os.environ[VARIABLE]!r}")
    return int(LEVELS[name])


class _StderrHandler(logging.Handler):
    """Looks standard error up at every record, since a test or a caller may have replaced it since."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr, flush=True)


def _terminal_handler() -> logging.Handler:
    from rich.logging import RichHandler

    handler = RichHandler(console=stderr_console(), show_path=False, log_time_format="%H:%M:%S")
    handler.setFormatter(logging.Formatter("%(message)s"))
    return handler
