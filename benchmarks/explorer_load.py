"""How long the explorer's page takes to open in a real Chromium, with 20,000 points on its map.

    python benchmarks/explorer_load.py --run runs/asia --out benchmarks/results/explorer_load.json

A page counts as open once the map is drawn and the facts of the first DAG are there. Every opening begins with an empty
cache. Needs Chromium and playwright. Seconds on a busy machine say little about the page: the load of the machine
stands beside them, and the processor time of the browser (all its processes) and of the server.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from dvae.cli.explore import space_of
from dvae.explorer import PageModel, make_app, make_server
from dvae.files import write_json
from dvae.runs import Run

OPTIONS = ["--no-sandbox"]
OPEN = "document.documentElement.dataset.ready === 'yes' && document.querySelector('#facts .fact') !== null"


@dataclass(frozen=True)
class Opening:
    """One opening of the page, in seconds: on the clock, and of processors."""

    wall: float
    browser: float
    server: float


def measured(address: str, rounds: int) -> list[Opening]:
    """Each opening; the browser's own first start is not counted."""
    program = os.environ.get("DVAE_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
    openings = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        watcher = browser.new_browser_cdp_session()
        for number in range(rounds + 1):
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.set_default_timeout(120_000)
            before, server, start = _work_of(watcher), time.process_time(), time.perf_counter()
            page.goto(address)
            page.wait_for_function(OPEN)
            wall = time.perf_counter() - start
            if number:
                openings.append(Opening(wall, _work_of(watcher) - before, time.process_time() - server))
            page.close()
        browser.close()
    return openings


def _work_of(watcher: Any) -> float:
    """Seconds of processors that the browser's processes have used so far."""
    processes = watcher.send("SystemInfo.getProcessInfo")["processInfo"]
    return sum(process["cpuTime"] for process in processes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    space, _ = space_of(Run.open(chosen.run), chosen.points, "cpu")
    server = make_server(make_app(PageModel(space)), "127.0.0.1", 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    openings = measured(f"http://127.0.0.1:{server.port}/", chosen.rounds)
    server.shutdown()
    seconds = [opening.wall for opening in openings]
    result = {
        "points": len(space.known),
        "seconds": [round(value, 2) for value in seconds],
        "median": round(statistics.median(seconds), 2),
        "fastest": round(min(seconds), 2),
        "browser_processor_seconds": round(statistics.median(opening.browser for opening in openings), 2),
        "server_processor_seconds": round(statistics.median(opening.server for opening in openings), 2),
        "load": round(os.getloadavg()[0], 1),
        "cores": os.cpu_count(),
    }
    print(json.dumps(result))
    if chosen.out is not None:
        write_json(chosen.out, result)


if __name__ == "__main__":
    main()
