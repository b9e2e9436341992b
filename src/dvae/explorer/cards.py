"""Values as parts of the page: what is known of a DAG, its neighbours, a grid of DAGs, a study's best."""

from __future__ import annotations

import json
from typing import Any

from dash import dcc, html

from dvae.dag import Dag
from dvae.explorer import graph_view
from dvae.explorer.colours import colour_at, short_number
from dvae.explorer.graph_view import DIRECTION
from dvae.explorer.places import Given
from dvae.explorer.space import CONFIDENCE_DRAWS, Finding, Space
from dvae.explorer.studies import Scored, Snapshot
from dvae.explorer.walks import Step
from dvae.figures import Direction
from dvae.tasks import Task


def title_of(finding: Finding) -> str:
    """What the page calls a DAG."""
    if finding.origin == "known":
        return "Known DAG" if finding.same_as is None else f"Known DAG {finding.same_as:,}"
    if finding.origin == "decoded":
        return "Decoded DAG"
    return (finding.place.called if isinstance(finding.place, Given) else "") or "Your DAG"


def facts(finding: Finding, can_score: bool, draws: int = CONFIDENCE_DRAWS) -> list[html.Div]:
    """Score, validity, confidence and novelty of a DAG, and the rule that it breaks."""
    known = finding.same_as
    return [
        _score(finding.score, finding.rank, finding.valid, "data not available" if can_score else "never scored"),
        _validity(finding.valid),
        _fact(
            "Confidence",
            _percent(finding.confidence),
            "of decodings agree",
            title=f"The share of {draws} sampled decodings of this latent that give this DAG",
        ),
        _fact("Novelty", "new", "not on the map") if known is None else _fact("Novelty", "known", f"number {known:,}"),
        *_reason(finding.broken_rule),
    ]


def step_facts(space: Space, step: Step, number: int, count: int, changed: int) -> list[html.Div]:
    """Score, validity and changes at a step of a walk."""
    return [
        _fact("Step", f"{number + 1} / {count}", f"{step.share:.0%} of the way"),
        _score(step.score, space.rank_of(step.score), step.valid, "never scored"),
        _validity(step.valid),
        _fact("Changes", str(changed), "in this step"),
        *_reason(None if step.valid else space.broken_rule(step.dag)),
    ]


def neighbour_cards(space: Space, finding: Finding, way: Direction = DIRECTION) -> list[html.Button]:
    """The nearest known DAGs, to click."""
    cards = []
    for neighbour in finding.nearest:
        dag = space.known.dags[neighbour.index]
        text = worth_text(space, dag, neighbour.score)
        cards.append(
            html.Button(
                id={"type": "go", "index": neighbour.index},
                className="thumb",
                title=f"Known DAG {neighbour.index}: inspect it",
                children=[
                    html.Img(src=graph_view.thumbnail(dag, space.task, way), alt=f"known DAG {neighbour.index}"),
                    html.Strong(text),
                    html.Small(f"distance {neighbour.distance:.2f}"),
                ],
            )
        )
    return cards


def grid_cells(space: Space, steps: list[Step], way: Direction = DIRECTION) -> list[html.Button]:
    """The DAGs of a neighbourhood, to click."""
    middle = steps[len(steps) // 2].dag
    cells = []
    for number, step in enumerate(steps):
        state = "centre" if number == len(steps) // 2 else "same" if step.dag == middle else ""
        text = "invalid" if not step.valid else "" if step.score is None else score_text(step.score)
        picture = graph_view.thumbnail(step.dag, space.task, way)
        cells.append(
            html.Button(
                id={"type": "cell", "index": number},
                className=f"thumb {state}".strip(),
                title=None if step.valid else f"Not valid: {space.broken_rule(step.dag)}",
                style={"--heat": colour_at(space.rank_of(step.score)) or "var(--line)"},
                children=[html.Img(src=picture, alt=f"DAG {number + 1} of the grid"), html.Small(text)],
            )
        )
    return cells


def end_card(space: Space, finding: Finding | None, name: str, way: Direction = DIRECTION) -> list[Any]:
    """One end of a walk, or how to choose it."""
    if finding is None:
        words = "Walk from here" if name == "A" else "Walk to here"
        return [
            html.Strong(name),
            html.P(f"Choose a DAG on the map, then click “{words}” under Inspect.", className="hint"),
        ]
    text = worth_text(space, finding.dag, finding.score)
    picture = graph_view.thumbnail(finding.dag, space.task, way)
    return [html.Strong(name), html.Img(src=picture, alt=f"the DAG {name}"), html.Small(text)]


def top_rows(space: Space, snapshot: Snapshot, ticked: set[int], way: Direction = DIRECTION) -> list[html.Div]:
    """The table of a study's best DAGs, with a checkbox in every row."""
    if not snapshot.top:
        return [html.Div("No DAG has a score yet.", className="hint waiting")]
    rows = []
    for place, trial in enumerate(snapshot.top, start=1):
        box: Any = dcc.Checklist(
            [{"label": html.Span(str(place), className="rank"), "value": trial.number}],
            [trial.number] if trial.number in ticked else [],
            id={"type": "tick", "index": trial.number},
            className="check",
        )
        rows.append(
            html.Div(
                className="top-row" if snapshot.front is None else "top-row with-values",
                children=[
                    box,
                    html.Img(
                        src=graph_view.thumbnail(trial.dag, space.task, way), alt=f"the DAG of trial {trial.number}"
                    ),
                    _worth(snapshot, trial),
                    html.Code(dag_text(trial.dag, space.task)),
                    html.Span([f"trial {trial.number:,}", *_standing_note(snapshot, trial)], className="label trial"),
                    html.Button("Inspect", id={"type": "trial", "index": trial.number}, className="quiet small"),
                ],
            )
        )
    return rows


def front_card(space: Space, snapshot: Snapshot, trial: Scored, way: Direction = DIRECTION) -> list[Any]:
    """The candidate under the pointer in the chart of a front."""
    picture = html.Img(src=graph_view.thumbnail(trial.dag, space.task, way), alt="")
    return [picture, _worth(snapshot, trial), html.Small(f"trial {trial.number:,}"), *_standing_note(snapshot, trial)]


def proposal_card(space: Space, snapshot: Snapshot, trial: Scored, way: Direction = DIRECTION) -> list[Any]:
    """The proposal of a study under the pointer on the map."""
    best = [html.Small("the best of the study")] if snapshot.front is None and trial.number in snapshot.stars else []
    return [*front_card(space, snapshot, trial, way), *best]


def _worth(snapshot: Snapshot, trial: Scored) -> html.Strong | html.Div:
    """The score of a trial; in a study with objectives all values that count."""
    view = snapshot.front
    if view is None or trial.number not in view.values:
        return html.Strong(score_text(trial.score))
    values = view.values[trial.number]
    cells = [html.Span([html.Small(name), html.Strong(short_number(values[name]))]) for name in view.axes]
    return html.Div(cells, className="values")


def _standing_note(snapshot: Snapshot, trial: Scored) -> list[html.Small]:
    """Whether a trial of a study with objectives is on the front, or breaks a constraint."""
    note = snapshot.front and snapshot.front.note(trial.number)
    return [html.Small(note)] if note else []


def hover_card(space: Space, index: int, way: Direction = DIRECTION) -> list[Any]:
    """The known DAG under the pointer."""
    dag, score = space.known.dags[index], space.known.scores[index]
    return [
        html.Img(src=graph_view.thumbnail(dag, space.task, way), alt=""),
        *([html.Strong(worth_text(space, dag, score))] if len(space.sorted_scores) else []),
        html.Small(f"known DAG {index} · {len(dag)} nodes, {len(dag.edges)} edges"),
    ]


def score_text(score: float) -> str:
    """A score with as many digits as are worth reading."""
    return f"{score:,.2f}" if abs(score) >= 100 else f"{score:.4f}"


def dag_text(dag: Dag, task: Task) -> str:
    """A DAG as the task writes it, for people: letters of all languages as they are."""
    text = task.format(dag)
    if not text.startswith("{") or "\\u" not in text:
        return text
    plain = json.dumps(json.loads(text), ensure_ascii=False)
    try:
        plain.encode()
    except UnicodeEncodeError:  # half a character, which no page can show
        return text
    return plain


def worth_text(space: Space, dag: Dag, score: float | None) -> str:
    """A score in few characters; where no DAG of the map has one, the size of the DAG."""
    if score is not None:
        return score_text(score)
    return "no score" if len(space.sorted_scores) else f"{len(dag)} node{'' if len(dag) == 1 else 's'}"


def _score(score: float | None, rank: float | None, valid: bool, why_unknown: str) -> html.Div:
    if score is not None:
        return _fact("Score", score_text(score), _standing(rank))
    return _fact("Score", "unknown", why_unknown) if valid else _fact("Score", "none", "not valid")


def _standing(rank: float | None) -> str:
    """How a score compares with those of the map."""
    if rank is None:
        return ""
    return "beats all on the map" if rank == 1 else f"beats {_percent(rank)}"


def _percent(share: float) -> str:
    """A share that is never rounded up to all or down to nothing."""
    if 0.999 < share < 1:
        return "99.9%"
    return f"{share:.1%}" if 0 < share < 0.1 or 0.99 < share < 1 else f"{share:.0%}"


def _validity(valid: bool) -> html.Div:
    if valid:
        return _fact("Valid", "yes", "follows the rules", tone="good")
    return _fact("Valid", "no", "breaks a rule", tone="bad")


def _reason(rule: str | None) -> list[html.Div]:
    return [] if rule is None else [html.Div(f"Not valid: {rule}", className="reason", role="note")]


def _fact(name: str, value: str, note: str, *, tone: str = "", title: str = "") -> html.Div:
    return html.Div(
        className=f"fact {tone}".strip(),
        title=title or None,
        children=[html.Span(name, className="label"), html.Strong(value), html.Small(note)],
    )
