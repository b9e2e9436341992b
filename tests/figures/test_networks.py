"""Pictures of Bayesian networks."""

from __future__ import annotations

from pathlib import Path

import pytest

from dvae.errors import ConfigError, DagError
from dvae.figures import NetworkEdge, draw_network, save_network


def test_edges_without_direction_have_no_head_and_certain_ones_are_wide() -> None:
    edges = [NetworkEdge("a", "b", confidence=1.0), NetworkEdge("b", "c", directed=False, confidence=0.25)]
    picture = draw_network(["c", "b", "a"], edges, continuous=["c"], title="mine")
    by_note = {arrow.full: arrow for arrow in picture.arrows}
    sure, doubtful = by_note["a → b: confidence 100%"], by_note["b – c: confidence 25%"]
    assert sure.head is not None
    assert doubtful.head is None
    assert sure.width > 2 * doubtful.width
    assert len({node.fill for node in picture.nodes}) == 2


def test_a_network_is_written_as_a_picture(tmp_path: Path) -> None:
    edges = [NetworkEdge("a <b>", "c", directed=False), NetworkEdge("a <b>", "d")]
    for ending in (".svg", ".png"):
        assert save_network(tmp_path / f"net{ending}", ["a <b>", "c", "d"], edges).stat().st_size > 500
    text = (tmp_path / "net.svg").read_text()
    assert text.count("<polygon") == 1
    assert "a &lt;b&gt; – c" in text


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ConfigError, match="'x'"):
        draw_network(["a"], [NetworkEdge("a", "x")])
    with pytest.raises(DagError, match="cycle"):
        draw_network(["a", "b"], [NetworkEdge("a", "b"), NetworkEdge("b", "a", directed=False)])
