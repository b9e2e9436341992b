"""Trains with several processes and saves the result. Called by test_processes.py, and again by each process."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import torch

from dvae.models import VAE
from training.runs import data, model, train


def main(folder: Path, devices: int, settings: dict) -> None:
    vae = model(bidirectional=settings.pop("bidirectional", True)).double()
    count = settings.pop("count", 21)
    several = data(3 * count)
    joining = (several.adjacency.sum(1) > 1).any(1)  # a node with two predecessors, in any share of a batch
    graphs = several.select(joining.nonzero().squeeze(1)[:count])
    if "broken" in settings:
        break_step(vae, settings.pop("broken"))
    if settings.pop("validated", False):
        settings["validation"] = data(7)
    train(vae, folder, devices=devices, graphs=graphs, **settings)


def break_step(vae: VAE, number: int) -> None:
    """Makes the likelihood infinite in one step, in the first of the processes alone."""
    calls, nll = [0], vae.decoder.nll

    def sometimes(*inputs: object) -> torch.Tensor:
        calls[0] += 1
        broken = calls[0] == number and os.environ.get("LOCAL_RANK", "0") == "0"
        return nll(*inputs) * (torch.inf if broken else 1.0)

    vae.decoder.nll = sometimes


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3]))
