"""What makes a study itself: it goes on only with the model, score, strategy and settings it was begun with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from dvae.dag import Dag, ScoredDag
from dvae.dag.jsonl import format_line
from dvae.errors import StudyError
from dvae.models import VAE
from dvae.models.storage import added_later
from dvae.registry import path_of

FIXED = ("task", "score", "direction", "strategy", "seed", "batch", "initial", "warm", "retrain", "objectives")
WITHOUT = {"retrain": None, "objectives": None}  # what studies begun before there was such a setting were begun with
FINGERPRINTS = {
    "model_fingerprint": "model",
    "warm_fingerprint": "set of known scores",
    "start_fingerprint": "set of DAGs to score first",
}
RENAMED = {"model_print": "model_fingerprint", "warm_print": "warm_fingerprint"}  # since version 0.1.0
LOCAL = " (local)"  # ends the name of a score that no other process can import


def score_name(score: Any) -> str:
    """`module:qualname` of a Python function or of an object's class."""
    path = path_of(score.func if isinstance(score, partial) else score)
    return path + LOCAL if "<" in path or path.startswith("__main__:") else path


def model_fingerprint(vae: VAE) -> str:
    """A fingerprint of a model's weights; what earlier versions did not have counts once there is something in it."""
    digest = hashlib.sha256()
    later = added_later(vae)
    for key, value in sorted(vae.state_dict().items()):
        if key in later and not value.any():
            continue
        digest.update(key.encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def fingerprint(items: Iterable[Dag | ScoredDag]) -> str:
    """A fingerprint of DAGs and their scores, in their order."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(format_line(item).encode())
    return digest.hexdigest()[:16]


def current(about: Mapping[str, Any]) -> dict[str, Any]:
    """The description of a study with the names of today."""
    return {RENAMED.get(key, key): value for key, value in about.items()}


def check_same(name: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuses to go on with a study that was begun otherwise; what an older version did not note is not compared."""
    advice = "resume it without this change, or name another study"
    before, now = {**WITHOUT, **before}, {**WITHOUT, **now}
    for key in FIXED:
        if key in before and before[key] != now[key]:
            was, is_now = (_shown(key, value) for value in (before[key], now[key]))
            raise StudyError(f"the study {name!r} was begun with {key} = {was}, not {is_now}: {advice}")
    for key, noun in FINGERPRINTS.items():
        if key in before and before[key] != now[key]:
            raise StudyError(f"the study {name!r} was begun with another {noun}: {advice}")


def _shown(key: str, value: Any) -> str:
    return "the task's own" if key == "score" and value is None else repr(value)
