"""What all tests share: one thread for tiny tensors, and the folder beside the repository where it is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: tests use tiny tensors

# No deadline: a busy machine and the first import of a package take time; neither is a defect.
# The same examples every time, so that a change is judged by what it changes; DVAE_EXPLORE=1 looks for new ones.
settings.register_profile("dvae", deadline=None, derandomize="DVAE_EXPLORE" not in os.environ)
settings.load_profile("dvae")

ROOT = Path(__file__).resolve().parent.parent


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says in a line of its own that the page was not tested in a browser: nobody reads dots."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = {str(report.longrepr[2]) for report in skipped if isinstance(report.longrepr, tuple)}
    for reason in sorted(reason for reason in reasons if "DVAE_BROWSER" in reason):
        terminalreporter.write_line(reason.removeprefix("Skipped: "), yellow=True)


@pytest.fixture
def shared_data(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data sets of ../shared (or DVAE_DATA), where tasks find them, too."""
    folder = Path(os.environ.get("DVAE_DATA", ROOT.parent / "shared" / "data")).resolve()
    if not folder.is_dir():
        pytest.skip(f"the shared data sets are not at {folder}; set DVAE_DATA to their folder")
    monkeypatch.setenv("DVAE_DATA", str(folder))
    return folder


@pytest.fixture
def golden_folder() -> Path:
    """Inputs and outputs of the original implementation, beside the shared data sets."""
    data = Path(os.environ.get("DVAE_DATA", ROOT.parent / "shared" / "data")).resolve()
    folder = data.parent / "golden"
    if not folder.is_dir():
        pytest.skip(f"the golden files are not at {folder}; set DVAE_DATA to the folder `data` beside `golden`")
    return folder
