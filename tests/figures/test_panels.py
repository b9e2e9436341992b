from __future__ import annotations

import struct
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from dvae.dag import Dag
from dvae.errors import ConfigError
from dvae.figures import Panel, ScoreMap, Series, compact, save_dags, save_panels, save_score_maps, style_of
from dvae.figures.curves import DPI
from dvae.figures.dags import draw_dags
from dvae.figures.panels import MAP, PANEL, colour_limits

LINES = (Series("D-VAE <a>", (1, 2, 4), (1.0, 2.0, 3.0), (0.5, 1.5, 2.5), (1.5, 2.5, 3.5)), Series("b", (1, 2), (3, 1)))


def words(path: Path) -> str:
    return " ".join(ElementTree.parse(path).getroot().itertext())


def test_panels_stand_side_by_side_with_their_words(tmp_path: Path) -> None:
    panels = [Panel("left", "round", "mean", LINES), Panel("right", "nodes", "best", LINES, log=True, log_x=True)]
    path = save_panels(tmp_path / "both.svg", panels)
    assert all(word in words(path) for word in ("left", "right", "round", "nodes", "D-VAE <a>"))
    png = save_panels(tmp_path / "both.png", panels)
    width, height = struct.unpack(">II", png.read_bytes()[16:24])
    assert (width, height) == (int(2 * PANEL[0] * DPI), int(PANEL[1] * DPI))
    assert path.read_bytes() == save_panels(tmp_path / "again.svg", panels).read_bytes()


def test_many_places_on_a_logarithmic_axis_have_few_ticks(tmp_path: Path) -> None:
    line = Series("a", tuple(1.37**step for step in range(20)), tuple(range(20)))
    path = save_panels(tmp_path / "many.svg", [Panel("many", "seconds", "value", (line,), log_x=True)])
    found = words(path).split()
    assert {"1", "10", "100"} <= set(found)
    assert "1.37" not in found


def test_maps_share_one_scale_of_colours(tmp_path: Path) -> None:
    maps = [ScoreMap("D-VAE", ((1.0, None), (2.0, 3.0)), 0.3), ScoreMap("S-VAE", ((4.0, 5.0), (5.0, 5.0)), 0.3)]
    assert colour_limits(maps) == (1.0, 5.0)
    path = save_score_maps(tmp_path / "maps.svg", maps, label="BIC")
    assert all(word in words(path) for word in ("D-VAE", "S-VAE", "BIC", "0.3"))
    png = save_score_maps(tmp_path / "maps.png", maps[:1], label="BIC")
    assert struct.unpack(">I", png.read_bytes()[20:24])[0] == int(MAP[1] * DPI)


def test_a_few_bad_scores_do_not_use_up_the_colours() -> None:
    rows = (tuple([-1e6] + [float(k) for k in range(99)]),)
    assert colour_limits([ScoreMap("one", rows, 1.0)]) == (4.0, 98.0)
    assert colour_limits([ScoreMap("none", ((None,),), 1.0)]) == (0.0, 1.0)
    assert colour_limits([ScoreMap("flat", ((2.0, 2.0),), 1.0)]) == (1.5, 2.5)


def test_nothing_to_draw_is_refused(tmp_path: Path) -> None:
    for make in (
        lambda: save_panels(tmp_path / "a.svg", []),
        lambda: save_score_maps(tmp_path / "a.svg", [], label=""),
        lambda: Panel("a", "x", "y", ()),
        lambda: ScoreMap("a", ((1.0,), ()), 1.0),
        lambda: ScoreMap("a", ((1.0,),), 0.0),
    ):
        with pytest.raises(ConfigError):
            make()


def test_marked_cards_have_their_colour_and_compact_dags_are_smaller(tmp_path: Path) -> None:
    dags = [Dag(("input", "conv3", "output"), ((0, 1), (1, 2)))] * 4
    style = style_of(dags)
    picture = draw_dags(dags, columns=2, style=style, marks={3: "#ffeecc"})
    assert [card.fill for card in picture.cards].index("#ffeecc") == 3
    small = draw_dags(dags, columns=2, style=compact(style))
    assert small.width < picture.width
    assert small.height < picture.height
    assert "#ffeecc" in save_dags(tmp_path / "a.svg", dags, marks={1: "#ffeecc"}).read_text()
