"""The whole paper by one command: stages, each kept by a hash of its settings, and the report of what is there."""

from dvae.reproduce.finding import architecture_source, bayesnet_source
from dvae.reproduce.plan import TARGETS, stages_of
from dvae.reproduce.presets import Preset, preset
from dvae.reproduce.report import write_plan, write_report
from dvae.reproduce.run_report import report
from dvae.reproduce.runner import Outcome, run_stages
from dvae.reproduce.sources import Source
from dvae.reproduce.stage import OutOfTime, Stage
from dvae.reproduce.workshop import Workshop

__all__ = [
    "TARGETS",
    "OutOfTime",
    "Outcome",
    "Preset",
    "Source",
    "Stage",
    "Workshop",
    "architecture_source",
    "bayesnet_source",
    "preset",
    "report",
    "run_stages",
    "stages_of",
    "write_plan",
    "write_report",
]
