"""Values as parts of the page: what is known of a DAG, its neighbours, a square of DAGs, a study's best."""

from __future__ import annotations

from typing import Any

from dash import dcc, html

from dvae.explorer import charts, graph_view, reading
from dvae.explorer.space import CONFIDENCE_DRAWS, Finding, Space
from dvae.explorer.studies import Snapshot
from dvae.explorer.walks import Step


def title_of(finding: Finding) -> str:
    if finding.origin == "known":
        return "Known DAG" if finding.same_as is None else f"Known DAG {finding.same_as:,}"
    return "Decoded DAG" if finding.origin == "decoded" else "Your DAG"


def facts(finding: Finding, scores_instantly: bool) -> list[html.Div]:
    """Score, validity, confidence and novelty of a DAG, as four figures."""
    if finding.score is not None:
        score = _fact("Score", score_text(finding.score), _standing(finding.rank))
    elif not finding.valid:
        score = _fact("Score", "none", "not valid")
    else:
        score = _fact("Score", "unknown", "its table is gone" if scores_instantly else "never scored")
    known = finding.same_as
    return [
        score,
        _validity(finding.valid),
        _fact(
            "Confidence",
            _percent(finding.confidence),
            "of decodings agree",
            title=f"The share of {CONFIDENCE_DRAWS} sampled decodings of this latent that are this very DAG",
        ),
        _fact("Novelty", "new", "not on the map") if known is None else _fact("Novelty", "known", f"number {known:,}"),
    ]


def step_facts(step: Step, number: int, count: int, changed: int, rank: float | None) -> list[html.Div]:
    return [
        _fact("Step", f"{number + 1} / {count}", f"{step.share:.0%} of the way"),
        _fact(
            "Score",
            "unknown" if step.score is None else score_text(step.score),
            "never scored" if step.score is None else _standing(rank),
        ),
        _validity(step.valid),
        _fact("Changes", str(changed), "since the step before"),
    ]


def neighbour_cards(space: Space, finding: Finding) -> list[html.Button]:
    cards = []
    for neighbour in finding.nearest:
        dag = space.known.dags[neighbour.index]
        text = "no score" if neighbour.score is None else score_text(neighbour.score)
        cards.append(
            html.Button(
                id={"type": "go", "index": neighbour.index},
                className="thumb",
                title=f"Known DAG {neighbour.index}: inspect it",
                children=[
                    html.Img(src=graph_view.thumbnail(dag, space.task), alt=f"known DAG {neighbour.index}"),
                    html.Strong(text),
                    html.Small(f"distance {neighbour.distance:.2f}"),
                ],
            )
        )
    return cards


def grid_cells(space: Space, steps: list[Step]) -> list[html.Button]:
    middle = steps[len(steps) // 2].dag
    cells = []
    for number, step in enumerate(steps):
        state = "centre" if number == len(steps) // 2 else "same" if step.dag == middle else ""
        text = "invalid" if not step.valid else "" if step.score is None else score_text(step.score)
        cells.append(
            html.Button(
                id={"type": "cell", "index": number},
                className=f"thumb {state}".strip(),
                style={"--heat": charts.colour_at(space.rank_of(step.score)) or "var(--line)"},
                children=[html.Img(src=graph_view.thumbnail(step.dag, space.task), alt=f"DAG {number} of the square"),
                          html.Small(text)],
            )
        )  # fmt: skip
    return cells


def end_card(space: Space, finding: Finding | None, name: str) -> list[Any]:
    if finding is None:
        words = "Walk from here" if name == "A" else "Walk to here"
        return [html.Strong(name), html.P(f"Choose a DAG on the map, then “{words}” under Inspect.", className="hint")]
    text = "no score" if finding.score is None else score_text(finding.score)
    picture = graph_view.thumbnail(finding.dag, space.task)
    return [html.Strong(name), html.Img(src=picture, alt=f"the DAG {name}"), html.Small(text)]


def top_rows(space: Space, snapshot: Snapshot, ticked: set[int]) -> list[html.Div]:
    """The table of a study's best DAGs, a box to tick in every row."""
    if not snapshot.top:
        return [html.Div("Nothing has a score yet.", className="hint waiting")]
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
                className="top-row",
                children=[
                    box,
                    html.Img(src=graph_view.thumbnail(trial.dag, space.task), alt=f"the DAG of trial {trial.number}"),
                    html.Strong(score_text(trial.score)),
                    html.Code(reading.write_text(trial.dag, space.task)),
                    html.Span(f"trial {trial.number:,}", className="label"),
                    html.Button("Inspect", id={"type": "trial", "index": trial.number}, className="quiet small"),
                ],
            )
        )
    return rows


def hover_card(space: Space, index: int) -> list[Any]:
    dag, score = space.known.dags[index], space.known.scores[index]
    return [
        html.Img(src=graph_view.thumbnail(dag, space.task), alt=""),
        html.Strong("no score" if score is None else score_text(score)),
        html.Small(f"known DAG {index} · {len(dag)} nodes, {len(dag.edges)} edges"),
    ]


def score_text(score: float) -> str:
    return f"{score:,.2f}" if abs(score) >= 100 else f"{score:.4f}"


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
        return _fact("Valid", "yes", "keeps the rules", tone="good")
    return _fact("Valid", "no", "breaks a rule", tone="bad")


def _fact(name: str, value: str, note: str, *, tone: str = "", title: str = "") -> html.Div:
    return html.Div(
        className=f"fact {tone}".strip(),
        title=title or None,
        children=[html.Span(name, className="label"), html.Strong(value), html.Small(note)],
    )
