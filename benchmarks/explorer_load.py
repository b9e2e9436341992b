"""How long the explorer's page takes to open in a real Chromium, with 20,000 points on its map.

    python benchmarks/explorer_load.py --run runs/asia --out benchmarks/results/explorer_load.json

A page counts as open once the map is drawn and the facts of the first DAG are there. Needs Chromium and playwright.
Seconds on a busy machine say nothing about the page: the load of the machine stands beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import threading
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from dvae.cli.explore import space_of
from dvae.explorer import PageModel, make_app, make_server
from dvae.files import write_json
from dvae.runs import Run

OPTIONS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
OPEN = "document.documentElement.dataset.ready === 'yes' && document.querySelector('#facts .fact') !== null"


def measured(address: str, rounds: int) -> list[float]:
    """Seconds of each opening; the browser's own first start is not counted."""
    program = os.environ.get("DVAE_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
    seconds = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        for number in range(rounds + 1):
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.set_default_timeout(120_000)
            start = time.perf_counter()
            page.goto(address)
            page.wait_for_function(OPEN)
            if number:
                seconds.append(time.perf_counter() - start)
            page.close()
        browser.close()
    return seconds


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
    seconds = measured(f"http://127.0.0.1:{server.port}/", chosen.rounds)
    server.shutdown()
    result = {
        "points": len(space.known),
        "seconds": [round(value, 2) for value in seconds],
        "median": round(statistics.median(seconds), 2),
        "fastest": round(min(seconds), 2),
        "load": round(os.getloadavg()[0], 1),
        "cores": os.cpu_count(),
    }
    print(json.dumps(result))
    if chosen.out is not None:
        write_json(chosen.out, result)


if __name__ == "__main__":
    main()
