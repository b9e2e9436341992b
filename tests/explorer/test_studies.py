from __future__ import annotations

from pathlib import Path

import optuna
import pytest

from dvae.dag import Dag
from dvae.errors import MissingError, StudyError
from dvae.explorer import PageModel, RequestError, Space, open_studies
from dvae.explorer.studies import MEAN_OVER, Scored, baselines, running_best, running_mean, snapshot, top_distinct
from dvae.studies.ledger import MemoryLedger, Outcome
from dvae.studies.optuna_ledger import OptunaLedger
from dvae.studies.study import ENDED, Study

from .conftest import MakeStudy, extend


def test_best_and_mean_are_those_of_the_trials_so_far() -> None:
    assert running_best([1.0, 3.0, 2.0]) == [1.0, 3.0, 3.0]
    assert running_best([1.0, 3.0, 0.0], higher_is_better=False) == [1.0, 1.0, 0.0]
    assert running_mean([1.0, 3.0, 2.0, 6.0], over=2) == [1.0, 2.0, 2.5, 4.0]
    assert running_best([]) == running_mean([], over=MEAN_OVER) == []


def test_the_best_dags_come_once_and_the_earlier_of_equals_first(asia: Space) -> None:
    a, b, c = asia.known.dags[:3]
    trials = [Scored(0, a, 1.0), Scored(1, b, 2.0), Scored(2, a, 3.0), Scored(3, c, 2.0)]
    assert [trial.number for trial in top_distinct(trials, 5)] == [2, 1, 3]
    assert [trial.number for trial in top_distinct(trials, 2)] == [2, 1]
    assert [trial.number for trial in top_distinct(trials, 5, higher_is_better=False)] == [0, 1, 3]


def test_a_snapshot_counts_every_trial_and_shows_the_scored_ones(make_study: MakeStudy) -> None:
    seen = snapshot(make_study([1.0, None, 3.0, 2.0]))
    assert [trial.score for trial in seen.scored] == [1.0, 3.0, 2.0]
    assert [trial.number for trial in seen.scored] == [0, 2, 3]
    assert dict(seen.counts) == {"complete": 3, "failed": 1}
    assert seen.words == "3 of 50 scored, 1 failed"
    assert seen.problem == "Failed: it fell over"
    assert seen.top[0].score == 3.0


def test_reasons_of_failures_are_counted_and_the_most_frequent_come_first(asia: Space) -> None:
    ledger = MemoryLedger("failing")
    for reason in ["b", "a", "c", "a", "d"]:
        number = ledger.propose(asia.known.dags[0], {})
        ledger.take("worker")
        ledger.finish(number, Outcome(error=reason), {})
    assert snapshot(Study(ledger)).problem == "Failed: a (2); b; c; and 1 other reason"


def test_whether_a_search_is_over_is_read_from_its_study(make_study: MakeStudy) -> None:
    study = make_study([1.0])
    assert not snapshot(study).ended
    study.ledger.describe(ENDED, True)
    assert snapshot(study).ended


def test_a_study_that_minimises_is_read_that_way(make_study: MakeStudy) -> None:
    seen = snapshot(make_study([4.0, 1.0, 3.0], direction="minimize"))
    assert seen.best == (4.0, 1.0, 1.0)
    assert seen.top[0].score == 1.0


def test_an_empty_study_is_shown_as_such(make_study: MakeStudy) -> None:
    seen = snapshot(make_study([]))
    assert (seen.scored, seen.top, seen.words) == ((), (), "0 of 50 scored")


def test_a_growing_study_is_read_again_after_a_second(asia: Space, make_study: MakeStudy) -> None:
    study, now = make_study([1.0]), [0.0]
    assert isinstance(study.ledger, MemoryLedger)
    model = PageModel(asia, [study], clock=lambda: now[0])
    assert len(model.study(0).scored) == 1
    extend(study.ledger, asia.known.dags, [2.0, None, 5.0])
    assert len(model.study(0).scored) == 1  # not a second has passed
    now[0] = 1.5
    assert len(model.study(0).scored) == 3
    assert model.trial_latents(0).shape == (3, asia.latent_size)


def test_proposals_lie_where_the_model_encodes_them(asia: Space, make_study: MakeStudy) -> None:
    model = PageModel(asia, [make_study([1.0, 2.0])])
    assert model.trial_latents(0).sub(asia.latents[:2]).abs().max() < 1e-5


def test_proposals_that_the_model_cannot_hold_are_left_out(asia: Space, make_study: MakeStudy) -> None:
    study = make_study([1.0, 2.0])
    assert isinstance(study.ledger, MemoryLedger)
    extend(study.ledger, (Dag(("unknown",)),), [3.0])
    model = PageModel(asia, [study])
    assert len(model.study(0).scored) == 3
    assert len(model.trial_latents(0)) == 2


def test_other_studies_stand_beside_the_chosen_one(asia: Space, make_study: MakeStudy) -> None:
    model = PageModel(asia, [make_study([1.0], name="one"), make_study([2.0], name="two")])
    assert model.study_names == ["one", "two"]
    assert {number: study.name for number, study in model.readable_studies().items()} == {0: "one", 1: "two"}
    for wrong in (2, -1, None, "0", True):
        with pytest.raises(RequestError, match="number of a study"):
            model.study(wrong)


def test_a_storage_that_fails_is_said_in_words_and_breaks_nothing_else(asia: Space, make_study: MakeStudy) -> None:
    class Broken(Study):
        @property
        def trials(self) -> list:  # type: ignore[type-arg]
            raise RuntimeError("database is locked\nand more")

    broken = Broken(MemoryLedger("broken"))
    model = PageModel(asia, [broken, make_study([1.0])])
    with pytest.raises(StudyError, match=r"'broken' cannot be read now: database is locked$"):
        model.study(0)
    assert list(model.readable_studies()) == [1]
    assert len(model.study(1).scored) == 1


def test_baselines_are_the_best_of_the_map_and_the_exact_optimum(asia: Space, enas: Space) -> None:
    best, optimum = baselines(asia)
    assert best.score == max(score for score in asia.known.scores if score is not None)
    assert optimum.score == pytest.approx(-11351.5965, abs=1e-3)
    assert optimum.score >= best.score
    assert [line.label for line in baselines(enas)] == ["best on the map"]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_all_studies_of_a_storage_are_opened_the_newest_first(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/search.db"
    for name in ("b", "c", "a"):
        OptunaLedger(url, name, create="maximize").close()
    assert [study.name for study in open_studies(url)] == ["a", "c", "b"]
    assert [study.name for study in open_studies(f"{url}#c")] == ["c"]
    with pytest.raises(StudyError, match="no study 'd'"):
        open_studies(f"{url}#d")


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_storage_without_studies_is_said_in_words(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/empty.db"
    optuna.storages.RDBStorage(url)
    with pytest.raises(StudyError, match="dvae search RUN --storage"):
        open_studies(url)


def test_a_study_that_is_not_there_is_said_in_words(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("nothing")
    with pytest.raises(MissingError, match="dvae search"):
        open_studies(f"sqlite:///{folder}/absent.db")
    assert list(folder.iterdir()) == []
