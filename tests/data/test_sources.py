from __future__ import annotations

import random
from pathlib import Path

import pytest

from dvae.dag import Dag, Dataset, ScoredDag, read_enas, write_enas, write_jsonl
from dvae.data import data_folder
from dvae.errors import DvaeError, MissingError, TaskError
from dvae.tasks import GenericTask, RawTask, get


def items(count: int) -> list[ScoredDag]:
    return [ScoredDag(Dag((f"node {index}",)), float(index)) for index in range(count)]


@pytest.mark.parametrize(("count", "train"), [(2, 1), (3, 2), (10, 9), (11, 9), (1999, 1799)])
def test_the_split_is_the_originals(count: int, train: int) -> None:
    data = Dataset.split("test", items(count))
    expected = items(count)
    random.Random(0).shuffle(expected)
    assert list(data.everything.dags) == [item.dag for item in expected]
    assert list(data.everything.scores) == [item.score for item in expected]
    assert (len(data.train), len(data.test)) == (train, count - train)
    assert data.train.dags + data.test.dags == data.everything.dags


def test_a_limit_takes_the_first_dags() -> None:
    data = Dataset.split("test", items(50), size=20)
    assert sorted(score for score in data.everything.scores if score is not None) == list(map(float, range(20)))
    assert len(Dataset.split("test", items(5), size=100)) == 5


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_dags_cannot_be_split(count: int) -> None:
    with pytest.raises(TaskError, match="at least 2"):
        Dataset.split("test", items(count))


def test_the_given_items_keep_their_order() -> None:
    given = items(9)
    Dataset.split("test", given)
    assert given == items(9)


def enas_file(folder: Path, count: int) -> list[ScoredDag]:
    dags = get("enas6").sample(count, seed=0)
    scored = [ScoredDag(dag, index / count) for index, dag in enumerate(dags)]
    (folder / "enas").mkdir()
    write_enas(folder / "enas" / "final_structures6.txt", scored)
    return scored


def test_the_papers_architectures_without_their_burn_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scored = enas_file(tmp_path, 1010)
    monkeypatch.setenv("DVAE_DATA", str(tmp_path))
    data = get("enas6").dataset()
    assert len(data) == 10
    assert sorted(data.everything.scores) == [item.score for item in scored[1000:]]
    assert len(get("enas6").dataset(size=5)) == 5
    assert sorted(get("enas6").dataset(size=5).everything.scores) == [item.score for item in scored[1000:1005]]


def test_missing_data_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVAE_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    with pytest.raises(MissingError, match="set DVAE_DATA"):
        get("enas6").dataset()


@pytest.mark.parametrize("size", [1, 0, -3])
def test_a_size_that_cannot_be_split_is_refused(size: int) -> None:
    with pytest.raises(TaskError, match="at least 2"):
        get("asia").dataset(size=size)


@pytest.mark.parametrize("name", ["asia", "enas12", "bn:A,B,C,D"])
def test_sampled_data_are_as_many_as_asked_and_repeat_under_their_seed(name: str) -> None:
    task = get(name)
    data, again, other = (task.dataset(size=100, seed=seed) for seed in (1, 1, 2))
    assert (len(data), len(data.train), len(data.test)) == (100, 90, 10)
    assert data.everything == again.everything
    assert data.everything != other.everything
    assert all(map(task.is_valid, data.everything.dags))
    assert data.train.scored == (name == "asia")


@pytest.mark.parametrize("size", [2, 3])
def test_the_smallest_samples_have_both_parts(size: int) -> None:
    data = get("asia").dataset(size=size)
    assert len(data.train) >= 1
    assert len(data.test) >= 1


def test_a_file_is_a_data_set(tmp_path: Path) -> None:
    dags = [Dag(("a",) * size, tuple((n, n + 1) for n in range(size - 1))) for size in range(1, 21)]
    write_jsonl(tmp_path / "chains.jsonl", [ScoredDag(dag, float(len(dag))) for dag in dags])
    task = get(f"file:{tmp_path / 'chains.jsonl'}")
    data = task.dataset()
    assert (len(data.train), len(data.test)) == (18, 2)
    assert sorted(map(len, data.everything.dags)) == list(range(1, 21))
    assert all(len(dag) == score for dag, score in zip(data.train.dags, data.train.scores, strict=True))
    assert sorted(map(len, task.dataset(size=4).everything.dags)) == [1, 2, 3, 4]


def test_a_task_without_data_says_so() -> None:
    task = GenericTask("loose", ("s", "t", "a"), 4, virtual_start=False, virtual_end=False)
    for without in (task, RawTask(5, 6)):
        with pytest.raises(TaskError, match="no data set of its own"):
            without.dataset()


def test_files_are_read_in_the_format_of_their_task(tmp_path: Path) -> None:
    (tmp_path / "nets.txt").write_text("[[0], [1, 1], [2, 0, 1]], -3.5\n")
    (item,) = get("bn:A,B,C").read(tmp_path / "nets.txt")
    assert (item.dag, item.score) == (Dag(("A", "B", "C"), ((0, 1), (1, 2))), -3.5)
    (tmp_path / "layers.txt").write_text("[[0], [5, 1]], 0.5\n")
    (item,) = get("enas6").read(tmp_path / "layers.txt")
    assert item.dag == Dag(("input", "conv3", "max3", "output"), ((0, 1), (0, 2), (1, 2), (2, 3)))
    write_jsonl(tmp_path / "same.jsonl", [item])
    assert get("enas6").read(tmp_path / "same.jsonl") == [item]
    with pytest.raises(DvaeError):
        get("enas6").read(tmp_path / "nothing.jsonl")


@pytest.mark.shared
def test_the_papers_file_holds_its_19020_architectures(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shared_data / "enas" / "final_structures6.txt"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    monkeypatch.setenv("DVAE_DATA", str(shared_data))
    task = get("enas6")
    data = task.dataset()
    assert (len(data), len(data.train), len(data.test)) == (19_020, 17_118, 1_902)
    batch = task.batch(data.everything.dags)
    assert bool(task.valid(batch).all())
    assert len(data) - len(set(task.keys(batch))) == 5
    assert data.train.scored
    rest = list(read_enas(path))[1000:]
    random.Random(0).shuffle(rest)
    assert [item.dag for item in rest] == list(data.everything.dags)
