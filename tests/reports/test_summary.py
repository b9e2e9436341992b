"""The top of a run's page and its map, as values."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dvae.dag import Dag, DagSet
from dvae.figures import style_for
from dvae.models import build
from dvae.reports.document import Document, MapPoint, PointMap, Summary
from dvae.reports.html import to_html
from dvae.reports.latent_map import POINTS, latent_map
from dvae.reports.markdown import to_markdown
from dvae.reports.numbers import local_time
from dvae.reports.run_page import RunFacts, run_page
from dvae.reports.study_section import one_score
from dvae.reports.summary import best_of_all
from dvae.studies.ledger import MemoryLedger, Outcome
from dvae.studies.study import ABOUT, Study
from dvae.tasks import EnasTask

TASK = EnasTask(3)
DAGS = TASK.sample(30, seed=0)
KNOWN = DagSet(tuple(DAGS), tuple(float(k) for k in range(30)))


def study(scores: list[float], **about: object) -> Study:
    ledger = MemoryLedger("s")
    ledger.describe(ABOUT, {"task": "enas3", "strategy": "random", "direction": "maximize", **about})
    for dag, score in zip(DAGS, scores, strict=False):
        number = ledger.propose(dag, {})
        ledger.take("worker")
        ledger.finish(number, Outcome(score), {})
    return Study(ledger)


def test_the_best_dag_is_the_searchs_or_that_of_the_data_where_it_is_better() -> None:
    assert best_of_all([], None) is None
    in_data = best_of_all([], KNOWN)
    assert in_data is not None
    assert (in_data.dag, in_data.score) == (DAGS[29], 29.0)
    found = best_of_all(one_score([study([1.0, 50.0, 2.0])]), KNOWN)
    assert found is not None
    assert (found.dag, found.score, found.note) == (DAGS[1], 50.0, "found by random, evaluation 2 of 3")
    assert best_of_all(one_score([study([1.0])]), KNOWN) == in_data
    other = best_of_all(
        one_score([study([1.0, 3.0], score="mine:size")]), KNOWN
    )  # another score: the data's says nothing
    assert other is not None
    assert other.score == 3.0
    lower = best_of_all(one_score([study([1.0, 3.0], score="mine:size", direction="minimize")]), KNOWN)
    assert lower is not None
    assert lower.score == 1.0


def test_a_run_begins_with_three_numbers_its_best_dag_and_advice(tmp_path: Path) -> None:
    vae = build("dvae", TASK, hidden=8, latent=3)
    vae.calibrate(TASK.batch(DAGS))
    page = run_page(RunFacts("runs/x", tmp_path, model=vae, known=KNOWN))
    first = page.blocks[0]
    assert isinstance(first, Summary)
    assert len(first.facts) == 3
    assert first.best is not None
    assert first.best.scene is not None
    assert [one.command for one in first.advice][:2] == ["dvae evaluate runs/x", "dvae explore runs/x"]
    text = to_html(page)
    assert text.index('class="summary"') < text.index("<nav")
    assert "**Best score: 29.000**" in to_markdown(page, tmp_path)


def test_the_map_has_the_best_and_others_from_all_over(tmp_path: Path) -> None:
    vae = build("dvae", TASK, hidden=8, latent=3)
    style = style_for(TASK.look, TASK.vocabulary.labels)
    many = DagSet(tuple(DAGS * 100), tuple(float(k) for k in range(3000)))
    found = latent_map(vae, many, [(DAGS[0], 7.0)], style)
    assert found is not None
    assert len(found.points) <= POINTS + 101
    assert found.points[-1].found
    assert found.points[-1].scene == 0
    drawn = [point for point in found.points if point.scene is not None]
    assert 100 < len(drawn) == len(found.scenes) <= 300
    assert {point.shade for point in found.points if not point.found} >= {0.0, 1.0}
    assert latent_map(build("dvae", TASK, hidden=8, latent=1), many, [], style) is None


def test_labels_cannot_end_the_data_of_a_page() -> None:
    bad = "</script><script>alert(1)</script>"
    one = PointMap("m", "c", ("x", "y"), ("low", "high"), (MapPoint(0, 0, bad),))
    text = to_html(Document(bad, (one,)))
    assert text.count("</script>") == 2
    assert "alert(1)</script>" not in text


def test_times_are_those_of_the_clock_on_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    assert local_time("2026-07-11T20:30:00+00:00") == "12 July 2026, 05:30"
    assert local_time(datetime(2026, 1, 2, 3, 4, tzinfo=UTC)) == "2 January 2026, 12:04"
    assert local_time("long ago") == "long ago"
    monkeypatch.undo()
    time.tzset()


def test_a_long_name_of_a_task_is_short_in_the_title(tmp_path: Path) -> None:
    settings = {"task": "bn:/home/me/data/table.csv?order=A,B", "model": {"name": "svae"}}
    assert run_page(RunFacts("runs/new", tmp_path, settings=settings)).title == "svae on table.csv"


def test_all_pictures_of_a_run_have_the_colours_of_its_task(tmp_path: Path) -> None:
    vae = build("dvae", TASK, hidden=8, latent=3)
    vae.calibrate(TASK.batch(DAGS))
    lone = Dag(("input", "conv3", "output"), ((0, 1), (1, 2)))
    page = run_page(RunFacts("r", tmp_path, model=vae, known=DagSet((lone, *DAGS[:4]), (9.0, 1.0, 2.0, 3.0, 4.0))))
    style = style_for(TASK.look, TASK.vocabulary.labels)
    assert style.colour("conv3") in (tmp_path / "summary.svg").read_text()
    first = page.blocks[0]
    assert isinstance(first, Summary)
    assert first.best is not None
    assert first.best.scene is not None
    assert first.best.scene.nodes[1].fill == style.colour("conv3")
