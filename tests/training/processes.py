"""Trains with several processes and saves the result. Called by test_processes.py, and again by each process."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from training.runs import data, model, train


def main(folder: Path, devices: int, settings: dict) -> None:
    vae = model(bidirectional=settings.pop("bidirectional", True)).double()
    several = data(60)
    joining = (several.adjacency.sum(1) > 1).any(1)  # a node with two predecessors, in any share of a batch
    graphs = several.select(joining.nonzero().squeeze(1)[:21])
    if settings.pop("validated", False):
        settings["validation"] = data(7)
    train(vae, folder, devices=devices, graphs=graphs, **settings)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3]))
