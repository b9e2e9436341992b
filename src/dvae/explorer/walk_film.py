"""A walk as a film: its distinct DAGs one after another, as a strip of frames or an animated SVG file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape

from dvae.dag import Dag
from dvae.explorer.cards import score_text
from dvae.explorer.exports import Export
from dvae.explorer.graph_view import DIRECTION, Frame, common_frame, task_style
from dvae.explorer.walks import Step
from dvae.figures import Direction, arrangement, layered, to_svg
from dvae.figures.layout import Box, Layout
from dvae.tasks import Task

SECONDS_PER_STEP = 0.16
LEAST_SECONDS = 0.7  # that a DAG stays
FADE = 0.18  # seconds from one DAG to the next
CAPTION = 34.0  # height of the line under the drawing, and its bar
INK, BAR, GROUND = "#475569", "#8b5cf6", "#ffffff"
_SIZE = re.compile(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"')


@dataclass(frozen=True)
class Scene:
    """One DAG of a film and the steps of the walk at which it stands, counted from 1, the last included."""

    step: Step
    first: int
    last: int


def scenes(steps: Sequence[Step]) -> list[Scene]:
    """The DAGs of a walk, each once for as long as it stays the same."""
    found: list[Scene] = []
    for number, step in enumerate(steps, start=1):
        if found and found[-1].step.dag == step.dag:
            found[-1] = replace(found[-1], last=number)
        else:
            found.append(Scene(step, number, number))
    return found


def film_file(steps: Sequence[Step], task: Task, direction: Direction = DIRECTION) -> Export:
    """The walk as an animated SVG, which browsers play without a script."""
    stem = re.sub(r"[^A-Za-z0-9]+", "-", task.name.split("/")[-1]).strip("-").lower() or "dvae"
    return Export(f"{stem}-walk.svg", animated_svg(steps, task, direction).encode("utf-8", "replace"))


def animated_svg(steps: Sequence[Step], task: Task, direction: Direction = DIRECTION) -> str:
    """The text of the film."""
    played = scenes(steps)
    pictures = _pictures([scene.step.dag for scene in played], task, direction)
    sizes = [_size(picture) for picture in pictures]
    width, height = max(max(size[0] for size in sizes), 260.0), max(size[1] for size in sizes)
    lengths = [max(LEAST_SECONDS, SECONDS_PER_STEP * (scene.last - scene.first + 1)) for scene in played]
    whole = sum(lengths)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height + CAPTION:g}" '
        f'viewBox="0 0 {width:g} {height + CAPTION:g}" font-family="sans-serif">',
        f"<title>A walk of {len(steps)} steps through {len(played)} DAGs</title>",
        f'<rect width="100%" height="100%" fill="{GROUND}"/>',
    ]
    begins = 0.0
    for scene, picture, size, length in zip(played, pictures, sizes, lengths, strict=True):
        left, top = (width - size[0]) / 2, (height - size[1]) / 2
        inner = picture.replace("<svg ", f'<svg x="{left:g}" y="{top:g}" ', 1).strip()
        words = f'<text x="{width / 2:g}" y="{height + 16:g}" font-size="13" text-anchor="middle" fill="{INK}">'
        shown = _shown(begins, begins + length, whole, is_first=begins == 0, is_only=len(played) == 1)
        parts.append(f"<g>{shown}{inner}{words}{escape(_caption(scene, len(steps)))}</text></g>")
        begins += length
    bar = f'<rect y="{height + CAPTION - 5:g}" height="5" fill="{BAR}" width="{width:g}">'
    moves = f'<animate attributeName="width" from="0" to="{width:g}" dur="{whole:.2f}s" repeatCount="indefinite"/>'
    return "\n".join([*parts, f"{bar}{moves}</rect>", "</svg>", ""])


def _shown(begins: float, ends: float, whole: float, *, is_first: bool, is_only: bool) -> str:
    """When a picture is seen: it comes and goes with a short fade, over and over."""
    if is_only:
        return ""
    fade = FADE / whole
    start, end = begins / whole, ends / whole
    times = [0.0, start, start + fade, end, min(end + fade, 1.0), 1.0]
    values = [0, 0, 1, 1, 0, 0]
    if is_first:
        values[:2] = [1, 1]
    if end >= 1.0:
        values[4:] = [1, 1]
    keys = ";".join(f"{time:.4f}" for time in times)
    shades = ";".join(map(str, values))
    return (
        f'<animate attributeName="opacity" values="{shades}" keyTimes="{keys}" dur="{whole:.2f}s" '
        'repeatCount="indefinite"/>'
    )


def _caption(scene: Scene, count: int) -> str:
    where = f"step {scene.first}" if scene.first == scene.last else f"steps {scene.first} to {scene.last}"
    if not scene.step.valid:
        return f"{where} of {count} · not valid"
    return f"{where} of {count}" + ("" if scene.step.score is None else f" · {score_text(scene.step.score)}")


def _pictures(dags: Sequence[Dag], task: Task, direction: Direction) -> list[str]:
    """Drawings of DAGs, with nodes in the same places where one frame can hold them all."""
    style = task_style(task)
    shared = common_frame(dags, style, task, direction)
    if shared is None:
        return [to_svg(dag, style=style, arrange=arrangement(direction)) for dag in dags]
    return [to_svg(dag, style=style, arrange=lambda d, boxes: _within(shared, d, boxes, task)) for dag in dags]


def _within(frame: Frame, dag: Dag, boxes: Sequence[Box], task: Task) -> Layout:
    names = task.node_names(dag)
    return Layout(
        width=frame.width,
        height=frame.height,
        boxes=tuple(boxes),
        layers=layered(dag, boxes).layers,
        centres=tuple(frame.centres[name] for name in names),
        routes=tuple(frame.routes[names[source], names[target]] for source, target in dag.edges),
    )


def _size(picture: str) -> tuple[float, float]:
    found = _SIZE.search(picture)
    assert found is not None
    return float(found[1]), float(found[2])
