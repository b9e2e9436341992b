"""One trial of the paper's search on neural architectures, in the folder of a run that has the trained model.

python benchmarks/h200/trial.py RUN NUMBER DEVICE [PRESET]

It goes on where an earlier one stopped: rounds are kept in RUN/work.
"""

import sys
from pathlib import Path

from dvae import paper
from dvae.paper.runner import run_stages
from dvae.paper.searches import SearchTrial
from dvae.paper.stage_store import StageStore

run, number, device, *preset = sys.argv[1:]
settings = paper.preset(*preset or ["paper"], paper.architecture_source(Path(run)), paper.bayesnet_source(), 1)
for stage in paper.stages_of("bo-enas", settings, only={"enas6/dvae"}):
    if isinstance(stage, SearchTrial) and stage.strategy == "paper" and stage.trial == int(number):
        run_stages([stage], StageStore(run, device=device, progress=False), lambda text: print(text, flush=True))
