"""Logging for programs; the library itself only writes to `logging.getLogger("dvae")`."""

from __future__ import annotations

import logging
import sys

from dvae.progress import stderr_console

_HANDLER_NAME = "dvae-stderr"


def configure(verbosity: int) -> None:
    """Sends the package's log to standard error: errors below 0, warnings at 0, information at 1, all from 2.

    Calling it again replaces what the call before set up.
    """
    logger = logging.getLogger("dvae")
    for handler in [handler for handler in logger.handlers if handler.name == _HANDLER_NAME]:
        logger.removeHandler(handler)
    handler = _terminal_handler() if sys.stderr.isatty() else _StderrHandler()
    handler.name = _HANDLER_NAME
    logger.addHandler(handler)
    levels = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)
    logger.setLevel(levels[min(max(verbosity + 1, 0), len(levels) - 1)])


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
