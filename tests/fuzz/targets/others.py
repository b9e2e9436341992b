"""Plans of reproductions, settings of supernets, tables of benchmarks, and what is typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dvae.config import parse_override, read_toml, to_mapping, to_toml
from dvae.errors import FormatError
from dvae.models.config import model_config
from dvae.nas import SupernetConfig
from dvae.paper import presets
from dvae.paper.report import PLAN, read_plan
from dvae.paper.sources import Source
from dvae.tasks import get
from dvae.tasks.nasbench201 import NasBench201Task
from fuzz.mutations import changed_bytes, changed_json, changed_lines, changed_toml
from fuzz.target import Target

CELLS = (
    b"arch,cellstr,accuracy\n"
    b"0,|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|nor_conv_1x1~0|skip_connect~1|skip_connect~2|,69.55\n"
    b"1,|none~0|+|nor_conv_3x3~0|skip_connect~1|+|nor_conv_1x1~0|none~1|skip_connect~2|,70.5\n"
)
TYPED = (b"training.epochs=3", b"model.hidden=[1, 2]", b'name="x"', b"a.b.c=true")
MODELS = (b"dvae", b"dvae+svae", b"dagnn", b"pace", b"package.module:name")
TASKS = (b"enas6", b"asia", b"bn:A,B,C", b"bn:A,B,C?order=B,A,C", b"enas12", b"nasbench201:x@none.csv")


def targets(folder: Path) -> list[Target]:
    plan = json.dumps(to_mapping(presets.preset("tiny", Source("enas6"), Source("asia")))).encode()
    supernet = to_toml(SupernetConfig()).encode()
    return [
        Target("plan", PLAN, read_plan, (plan,), changed_json, share=0.5),
        Target("supernet", "x.toml", lambda at: read_toml(SupernetConfig, at / "x.toml"), (supernet,), changed_toml),
        Target("cells", "x.csv", _cells, (CELLS,), changed_lines),
        Target("settings that are typed", "x", lambda at: parse_override(_text(at)), TYPED, changed_bytes),
        Target("names of models", "x", lambda at: model_config(_text(at)), MODELS, changed_bytes, share=0.5),
        Target("names of tasks", "x", lambda at: get(_text(at)), TASKS, changed_bytes, share=0.5),
    ]


def _cells(at: Path) -> Any:
    return NasBench201Task("accuracy", str(at / "x.csv")).read_entries()


def _text(at: Path) -> str:
    """What a shell could hand over: characters, none of them zero."""
    try:
        text = (at / "x").read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError("not text") from None
    if "\0" in text or len(text) > 2000:
        raise FormatError("not an argument")
    return text
