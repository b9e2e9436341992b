"""Charts of a walk and of searches, as plain values that plotly draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dvae.explorer.colours import INK, PATH, series_colour, short_number
from dvae.explorer.map_marks import Trace
from dvae.explorer.studies import MEAN_OVER, Baseline, Snapshot

Figure = dict[str, Any]


def empty_chart() -> Figure:
    """What a chart shows before there is anything to show."""
    hidden = {"visible": False}
    return {"data": [], "layout": {**plain_layout(), "xaxis": hidden, "yaxis": hidden}}


def walk_chart(scores: Sequence[float | None], here: int) -> Figure:
    """Scores along a walk, and a line at the step `here`, counted from 0."""
    steps = list(range(1, len(scores) + 1))
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": steps,
        "y": list(scores),
        "line": {"color": PATH, "width": 2, "shape": "hv"},
        "marker": {"size": 5},
        "hovertemplate": "step %{x}: %{y:,.4~f}<extra></extra>",
    }
    shapes = [across_chart("x", here + 1, PATH, "dot")]
    layout = {
        **plain_layout(),
        "margin": {"l": 64, "r": 10, "t": 6, "b": 24},
        "xaxis": {**axis(), "range": [0.5, len(scores) + 0.5], "showgrid": False},
        "yaxis": {**axis(), "nticks": 4},
        "shapes": shapes,
        "showlegend": False,
    }
    return {"data": [trace], "layout": layout}


def progress_chart(studies: Mapping[int, Snapshot], chosen: int, lines: Sequence[Baseline]) -> Figure:
    """Best and mean score over the chosen study, the best of the others, and baselines across.

    A study has the same colour whichever is chosen.
    """
    data: list[Trace] = []
    for number, study in studies.items():
        colour, width = series_colour(number), 2.6 if number == chosen else 1.6
        data.append(_curve(study, study.best, f"best, {study.name}", colour, width=width, dash="solid"))
        if number == chosen:
            data.append(_curve(study, study.mean, f"mean of the last {MEAN_OVER}", colour, width=1.4, dash="dot"))
    shapes = [across_chart("y", line.score, INK, "dash") for line in lines]
    notes = [
        {
            "x": 0.99,
            "xref": "paper",
            "xanchor": "right",
            "y": line.score,
            "yanchor": "bottom" if place == len(lines) - 1 else "top",  # the highest line has its words above it
            "showarrow": False,
            "text": f"{line.label} {short_number(line.score)}",
            "font": {"size": 11, "color": INK},
        }
        for place, line in enumerate(sorted(lines, key=lambda line: line.score))
    ]
    layout = {
        **plain_layout(),
        **_trial_axis(),
        "yaxis": {**axis(), "nticks": 5, "range": _focus(studies, chosen, lines)},
        "shapes": shapes,
        "annotations": notes,
        "uirevision": chosen,
    }
    return {"data": data, "layout": layout}


def gap_chart(studies: Mapping[int, Snapshot], chosen: int, lines: Sequence[Baseline]) -> Figure:
    """How far the best of each study is from the best score known of, on a logarithmic scale.

    A study that has reached it ends at the lower edge: there is no logarithm of nothing.
    """
    higher = studies[chosen].higher_is_better
    known = [value for study in studies.values() for value in study.best] + [line.score for line in lines]
    best = (max if higher else min)(known) if known else 0.0
    gaps = {number: [abs(best - value) for value in study.best] for number, study in studies.items()}
    least = min((gap for row in gaps.values() for gap in row if gap > 0), default=1.0)
    data = [
        _curve(
            study,
            [max(gap, least / 3) for gap in gaps[number]],
            study.name,
            series_colour(number),
            width=2.6 if number == chosen else 1.6,
            dash="solid",
        )
        for number, study in studies.items()
    ]
    title = {"text": f"gap to {short_number(best)}", "font": {"size": 11}, "standoff": 4}
    layout = {
        **plain_layout(),
        **_trial_axis(),
        "yaxis": {**axis(), "type": "log", "dtick": 1, "title": title},
        "uirevision": f"gap {chosen}",
    }
    return {"data": data, "layout": layout}


def _trial_axis() -> dict[str, Any]:
    """What charts over the trials of studies have in common."""
    return {
        "margin": {"l": 64, "r": 10, "t": 6, "b": 36},
        "xaxis": {**axis(), "title": {"text": "trial", "font": {"size": 11}, "standoff": 4}, "rangemode": "tozero"},
        "showlegend": False,  # the page has a key above the chart, which wraps
    }


def _focus(studies: Mapping[int, Snapshot], chosen: int, lines: Sequence[Baseline]) -> list[float] | None:
    """The range in which a search happens: a few very bad first scores would squeeze the rest into one line."""
    values = [value for study in studies.values() for value in (*study.best, *study.mean)]
    values += [line.score for line in lines]
    if len(values) < 2:
        return None
    top, low = max(values), min(values)
    if studies[chosen].higher_is_better:
        low = float(np.quantile(values, 0.05))
    else:
        top = float(np.quantile(values, 0.95))
    reach = max(top - low, 1e-9)
    return [low - 0.1 * reach, top + 0.16 * reach]


def _curve(study: Snapshot, values: Sequence[float], name: str, colour: str, *, width: float, dash: str) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [trial.number for trial in study.scored],
        "y": list(values),
        "name": name,
        "line": {"color": colour, "width": width, "dash": dash},
        "hovertemplate": "trial %{x}: %{y:,.4~f}<extra>" + name + "</extra>",
    }


def across_chart(axis: str, value: float, colour: str, dash: str) -> dict[str, Any]:
    """A straight line across the whole chart."""
    other = "y" if axis == "x" else "x"
    ends = {f"{axis}0": value, f"{axis}1": value, f"{other}0": 0, f"{other}1": 1, f"{other}ref": "paper"}
    return {"type": "line", **ends, "line": {"color": colour, "width": 1.2, "dash": dash}}


def plain_layout() -> dict[str, Any]:
    """What all charts have in common."""
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": INK, "family": "Inter, Roboto, Liberation Sans, Helvetica, Arial, sans-serif"},
        "autosize": True,
    }


def axis() -> dict[str, Any]:
    """An axis as all charts have it."""
    return {
        "zeroline": False,
        "gridcolor": "rgba(123,135,152,0.16)",
        "tickfont": {"size": 11},
        "exponentformat": "none",
        "separatethousands": True,
    }
