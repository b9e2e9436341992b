from __future__ import annotations

import pickle
import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from dvae.dag import Dag
from dvae.errors import FormatError, MissingError, TaskError
from dvae.tasks import NasBenchGraphTask, get
from dvae.tasks.nasbench_graph import DATA_SETS, OPERATIONS, SHAPES, tree_dag, tree_key
from dvae.tasks.plain_pickle import read_table

pytest.importorskip("nas_bench_graph")


@pytest.fixture(scope="module")
def cora() -> NasBenchGraphTask:
    task = get("nasbench-graph:cora")
    assert isinstance(task, NasBenchGraphTask)
    return task


def test_every_data_set_is_read() -> None:
    for name in ("cora", "proteins"):
        task = get(f"nasbench-graph:{name}")
        assert isinstance(task, NasBenchGraphTask)
        assert len(task.entries) == (2021 if name == "proteins" else 26_206)
        assert all(entry.score is not None and 0 < entry.score < 1 for entry in task.entries)
    assert len(DATA_SETS) == 9


def test_scores_are_the_benchmark_s_for_every_tree(cora: NasBenchGraphTask) -> None:
    """Every shape with every four operations, mapped to the tables by the benchmark's own code and by ours."""
    from nas_bench_graph.architecture import Arch
    from nas_bench_graph.readbench import light_read

    table = light_read("cora")
    places = range(0, len(OPERATIONS) ** 4, 29)
    everything = list(product(OPERATIONS, repeat=4))
    for shape in SHAPES:
        asked = [everything[place] for place in places if set(everything[place]) != {"skip"}]
        expected = [table[Arch(list(shape), list(operations)).valid_hash()]["perf"] for operations in asked]
        assert cora.scores([tree_dag(shape, operations) for operations in asked]) == expected


def test_entries_are_all_different(cora: NasBenchGraphTask) -> None:
    assert len({tree_key(entry.dag) for entry in cora.entries}) == 26_206


def test_the_order_of_branches_means_nothing(cora: NasBenchGraphTask) -> None:
    one = Dag(("input", "gcn", "gat", "fc", "gin", "output"), ((0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 5)))
    two = Dag(("input", "gat", "gcn", "gin", "fc", "output"), ((0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 5)))
    assert cora.key(one) == cora.key(two)
    assert cora.score(one) == cora.score(two)


INVALID = {
    "three operations": Dag(("input", "gcn", "gat", "fc", "output"), ((0, 1), (1, 2), (2, 3), (3, 4))),
    "two vertices feed one": Dag(
        ("input", "gcn", "gat", "fc", "gin", "output"), ((0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5))
    ),
    "the output takes an inner vertex": Dag(
        ("input", "gcn", "gat", "fc", "gin", "output"), ((0, 1), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5))
    ),
    "nothing but skips": tree_dag((0, 1, 2, 3), ("skip",) * 4),
    "an unknown operation": tree_dag((0, 1, 2, 3), ("gcn", "gat", "fc", "mlp")),
}


@pytest.mark.parametrize("name", INVALID)
def test_what_is_no_architecture_is_not_valid(name: str, cora: NasBenchGraphTask) -> None:
    assert not cora.is_valid(INVALID[name])


def test_surplus_edges_of_a_model_are_dropped(cora: NasBenchGraphTask) -> None:
    assert cora.unwrap(INVALID["two vertices feed one"]) == tree_dag((0, 1, 2, 3), ("gcn", "gat", "fc", "gin"))


def test_the_dataset_is_split_and_sampled(cora: NasBenchGraphTask) -> None:
    data = cora.dataset(size=50)
    assert (len(data.train), len(data.test)) == (45, 5)
    drawn = cora.sample(20, seed=0)
    assert drawn == cora.sample(20, seed=0)
    assert all(map(cora.is_valid, drawn))


def test_an_unknown_data_set_is_refused() -> None:
    with pytest.raises(TaskError, match="no data set 'corra'; choose one of arxiv, "):
        get("nasbench-graph:corra")


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return print, ("this must never be printed",)


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps({1: {"perf": Evil()}}),
        pickle.dumps({1: {"perf": np.float32(1)}}),
        pickle.dumps({1: {"perf": "text"}}),
        pickle.dumps([1, 2]),
        pickle.dumps({1: {"perf": np.zeros(3)}}),
        pickle.dumps({1: {"perf": 0.5}})[:-4],
        b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.",
        b"no pickle at all",
        b"",
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f",  # a frame of 8 EiB
        b"r\xff\xff\xff\x7f.",  # a place in the memo that Python's reader makes room for: 2 GB
        b"\x80\x02]r\xff\xff\xff\x7f.",
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",  # bytes without end
        b"\x80\x02)" + b"\x85" * 100_000 + b".",  # tuples in tuples
        b"\x80\x02K\x01" + b"\x85q\x00h\x00\x86" * 40 + b".",  # and ever twice as many
        b"\x80\x02}(K\x01h\x00u.",
        b"\x80\x02}q\x00(K\x01h\x00u.",  # a dict in itself
        b"\x80\x02cnumpy.core.multiarray\nscalar\n}X\x0c\x00\x00\x00__defaults__K\x01\x85sb.",  # changes a function
        b"\x80\x02cnumpy\ndtype\n}b.",
        b"\x80\x02L" + b"9" * 100_000 + b"L\n.",
        b"\x80\x02\x8b\xff\xff\xff\x7f.",  # an integer of 2 GB
        b"(" * 1_000_000 + b".",
        b"." * 3,
        b"\x80\x06}.",
        b"\x80\x02}(}K\x01u.",  # a dict as a key
    ],
)
def test_a_pickle_of_anything_but_numbers_is_refused(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.bench").write_bytes(content)
    with pytest.raises(FormatError, match=r"x\.bench: not a table of numbers"):
        read_table(tmp_path / "x.bench")
    assert capsys.readouterr().out == ""


def test_a_pickle_of_numbers_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.bench").write_bytes(pickle.dumps({7: {"perf": np.float64(0.25), "latency": 1.5}}, protocol=3))
    assert read_table(tmp_path / "x.bench") == {7: {"perf": 0.25, "latency": 1.5}}
    (tmp_path / "x.bench").write_bytes(b"\x80\x02}r\xff\xff\xff\x7f.")  # nothing, at a far place of the memo
    assert read_table(tmp_path / "x.bench") == {}
    with pytest.raises(MissingError):
        read_table(tmp_path / "none.bench")


@pytest.mark.parametrize("protocol", range(3, 6))
def test_every_protocol_is_read_as_python_reads_it(protocol: int, tmp_path: Path) -> None:
    table = {
        number: {"perf": np.float64(number / 7), "valid_perf": 0.5, "latency": -float(number)} for number in range(300)
    }
    (tmp_path / "x.bench").write_bytes(pickle.dumps(table | {70_000: {}, -4: {"perf": 0.0}}, protocol=protocol))
    assert read_table(tmp_path / "x.bench") == table | {70_000: {}, -4: {"perf": 0.0}}


def test_a_table_that_is_cut_or_changed_is_refused_or_read_but_never_more(tmp_path: Path) -> None:
    whole = pickle.dumps({number: {"perf": np.float64(0.25), "latency": 1.5} for number in range(20)}, protocol=3)
    chance, path = random.Random(0), tmp_path / "x.bench"
    for _ in range(2_000):
        content = bytearray(whole[: chance.randrange(len(whole))] if chance.random() < 0.2 else whole)
        for _ in range(chance.randint(1, 4)):
            if content:
                content[chance.randrange(len(content))] = chance.randrange(256)
        path.write_bytes(content)
        try:
            table = read_table(path)
        except FormatError:
            continue
        assert all(isinstance(value, float) for row in table.values() for value in row.values())


def test_a_file_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dvae.tasks.plain_pickle.MAX_BYTES", 2**20)
    (tmp_path / "x.bench").write_bytes(bytes(2**20 + 1))
    with pytest.raises(FormatError, match="more than 1 MiB"):
        read_table(tmp_path / "x.bench")
