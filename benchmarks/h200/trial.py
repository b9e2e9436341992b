"""One trial of the paper's search, in the folder of a run that has the trained model, or trains it first.

python benchmarks/h200/trial.py RUN bo-enas|bo-bn NUMBER DEVICE SECONDS [PRESET]

It goes on where an earlier one stopped: rounds are kept in RUN/work. The exit status is 1 where it is not done.
"""

import sys
from pathlib import Path

from dvae import paper
from dvae.paper.runner import run_stages
from dvae.paper.searches import SearchTrial
from dvae.paper.stage_store import StageStore

run, target, number, device, seconds, *preset = sys.argv[1:]
settings = paper.preset(*preset or ["paper"], paper.architecture_source(Path(run)), paper.bayesnet_source(), 1)
store = StageStore(run, device=device, seconds=float(seconds), progress=False)
stages = [
    stage
    for stage in paper.stages_of(target, settings, only={"dvae"})
    if isinstance(stage, SearchTrial) and stage.strategy == "paper" and stage.trial == int(number)
]
run_stages(stages, store, lambda text: print(text, flush=True))
sys.exit(0 if stages and all(map(store.is_done, stages)) else 1)
