"""Progress goes to standard error, as a bar, as lines or not at all; so does the log."""

from __future__ import annotations

import io
import logging
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from dvae import logs, progress
from dvae.errors import ConfigError


class Clock:
    """A clock that only moves when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Terminal]]:
    """Makes standard error a terminal; called inside the test, as pytest sets its own stream before that."""

    def open_one() -> Terminal:
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "160")
        monkeypatch.setenv("NO_COLOR", "1")
        progress.stderr_console.cache_clear()
        return stream

    yield open_one
    progress.stderr_console.cache_clear()


@pytest.fixture
def package_logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("dvae")
    level, handlers = logger.level, list(logger.handlers)
    yield logger
    logger.setLevel(level)
    logger.handlers[:] = handlers


def test_track_yields_every_item_in_silence_where_there_is_no_terminal(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert list(progress.track(iter("abc"), "letters")) == ["a", "b", "c"]
    assert capfd.readouterr() == ("", "")


def test_lines_are_printed_when_asked_for_without_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(progress.track([1, 2, 3], "numbers", enabled=True)) == [1, 2, 3]
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("numbers: 3/3 in 0:00:00; ")
    assert err.endswith(" it/s\n")


def test_a_line_comes_every_ten_seconds_with_rate_fields_and_time_left(
    capfd: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    with progress.Progress("training", progress.LineDisplay(), total=100, clock=clock) as bar:
        for _ in range(25):
            clock.now += 1
            bar.update(graphs_per_second=1234.5, loss=0.123456)
    assert capfd.readouterr().err.splitlines() == [
        "training: 10/100 in 0:00:10, 0:01:30 left; 1,234 graphs/s, loss 0.1235",
        "training: 20/100 in 0:00:20, 0:01:20 left; 1,234 graphs/s, loss 0.1235",
        "training: 25/100 in 0:00:25, stopped; 1,234 graphs/s, loss 0.1235",
    ]


def test_a_loop_of_unknown_length_has_no_time_left() -> None:
    clock = Clock()
    bar = progress.Progress("loop", None, clock=clock)
    clock.now = 5
    bar.update()
    assert bar.remaining is None


def test_a_bar_is_drawn_at_most_ten_times_a_second() -> None:
    class Counting:
        interval = progress.SECONDS_BETWEEN_REDRAWS
        shown = 0

        def start(self) -> None: ...
        def stop(self, progress: progress.Progress) -> None: ...
        def show(self, progress: progress.Progress) -> None:
            self.shown += 1

    display, clock = Counting(), Clock()
    with progress.Progress("loop", display, clock=clock) as bar:
        for _ in range(1000):
            clock.now += 0.002
            bar.update()
    assert 15 <= display.shown <= 20
    assert bar.done == 1000


def test_a_terminal_gets_a_bar_and_standard_output_stays_clean(
    open_terminal: Callable[[], Terminal], capfd: pytest.CaptureFixture[str]
) -> None:
    terminal = open_terminal()
    with progress.progress_bar("training [x]", total=2) as bar:
        print("answer")
        bar.update(loss=0.5)
        bar.update(loss=0.25)
    assert capfd.readouterr().out == "answer\n"
    drawn = terminal.getvalue()
    assert "training [x]" in drawn
    assert "2/2" in drawn
    assert "loss 0.25" in drawn
    assert "ETA" in drawn


def test_a_terminal_gets_nothing_when_progress_is_off(open_terminal: Callable[[], Terminal]) -> None:
    terminal = open_terminal()
    assert list(progress.track([1], "numbers", enabled=False)) == [1]
    assert terminal.getvalue() == ""


def test_rich_is_not_imported_before_it_is_needed() -> None:
    # The file alone, since `import dvae` brings in other packages, which may use rich themselves.
    program = "import runpy, sys; runpy.run_path(sys.argv[1]); sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program, progress.__file__], check=False).returncode == 0


@pytest.mark.parametrize(("verbosity", "shown"), [(-1, "E"), (0, "EW"), (1, "EWI"), (2, "EWID"), (9, "EWID")])
def test_verbosity_chooses_what_is_logged(
    package_logger: logging.Logger, capfd: pytest.CaptureFixture[str], verbosity: int, shown: str
) -> None:
    logs.configure(verbosity=2)
    logs.configure(verbosity)  # the second call replaces the first: no line comes twice
    for level, letter in zip((40, 30, 20, 10), "EWID", strict=True):
        logging.getLogger("dvae.training").log(level, letter)
    out, err = capfd.readouterr()
    assert out == ""
    assert "".join(line.split()[-1] for line in err.splitlines()) == shown


@pytest.mark.parametrize(
    ("said", "shown"), [(None, "EW"), ("", "EW"), ("error", "E"), ("Info", "EWI"), ("debug", "EWID")]
)
def test_a_variable_chooses_what_is_logged(
    package_logger: logging.Logger,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    said: str | None,
    shown: str,
) -> None:
    monkeypatch.delenv("DVAE_LOG", raising=False)
    if said is not None:
        monkeypatch.setenv("DVAE_LOG", said)
    logs.configure()
    for level, letter in zip((40, 30, 20, 10), "EWID", strict=True):
        package_logger.log(level, letter)
    assert "".join(line.split()[-1] for line in capfd.readouterr().err.splitlines()) == shown


def test_another_word_for_how_much_is_logged_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVAE_LOG", "loud")
    with pytest.raises(ConfigError, match="DVAE_LOG is one of error, warning, info, debug, not 'loud'"):
        logs.configure()


def test_a_terminal_gets_its_log_without_markup(
    open_terminal: Callable[[], Terminal], package_logger: logging.Logger
) -> None:
    terminal = open_terminal()
    logs.configure(1)
    package_logger.info("edge [bold] 1")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    assert "INFO" in plain
    assert "edge [bold] 1" in plain
