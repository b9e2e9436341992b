"""The whole paper by one command: stages, each kept by a hash of its settings, and a report of their results."""

from dvae.paper.plan import TARGETS, stages_of
from dvae.paper.presets import Preset, preset
from dvae.paper.report import write_plan, write_report
from dvae.paper.runner import StagesResult, run_stages
from dvae.paper.sources import Source, architecture_source, bayesnet_source
from dvae.paper.stage import OutOfTime, Stage
from dvae.paper.stage_store import StageStore

__all__ = [
    "TARGETS",
    "OutOfTime",
    "Preset",
    "Source",
    "Stage",
    "StageStore",
    "StagesResult",
    "architecture_source",
    "bayesnet_source",
    "preset",
    "run_stages",
    "stages_of",
    "write_plan",
    "write_report",
]
