from __future__ import annotations

from pathlib import Path

import networkx
import pytest

from dvae.dag import Dag, load_dags, to_dot, to_networkx, write_jsonl
from dvae.errors import DvaeError, FormatError

DAGS = [Dag(("a", "b", "c"), ((0, 1), (0, 2))), Dag(("b",)), Dag(("a", 3), ((0, 1),))]


def test_each_format_holds_the_same_dags(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "some.jsonl.gz", DAGS)
    (tmp_path / "some.dot").write_text("\n".join(map(to_dot, DAGS)))
    for name in ("some.jsonl.gz", "some.dot"):
        assert [item.dag for item in load_dags(tmp_path / name)] == DAGS
    networkx.write_graphml(to_networkx(DAGS[0]), tmp_path / "one.graphml")
    assert [item.dag for item in load_dags(tmp_path / "one.graphml")] == DAGS[:1]


def test_a_table_is_told_from_dags(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FormatError, match=r"is a table.* bn:.*table\.csv"):
        load_dags(tmp_path / "table.csv")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("broken.graphml", "<graphml><graph>"),
        ("cycle.graphml", '<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/>'
         '<edge source="a" target="b"/><edge source="b" target="a"/></graph></graphml>'),
        ("second.dot", "digraph { a [label=x]; }\ndigraph { b -> "),
        ("words.dot", "nothing of the kind"),
        ("bytes.dot", "\udcff"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_by_its_name(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DvaeError, match=name):
        load_dags(tmp_path / name)
    with pytest.raises(DvaeError, match="does not exist"):
        load_dags(tmp_path / f"absent-{name}")
