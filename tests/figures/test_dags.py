from __future__ import annotations

import struct
import xml.etree.ElementTree as ElementTree
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from dvae.dag.value import Dag
from dvae.errors import DvaeError
from dvae.figures import DagStyle, Picture, draw_dag, draw_dags, save_dags, style_for, style_of, to_png, to_svg
from dvae.figures.picture import shortened, text_width
from dvae.figures.png import pixel_size, png_bytes
from dvae.figures.style import ARCHITECTURE, generic_style, luminance, text_colour
from dvae.tasks import Look

ENAS = Dag(
    ("input", "conv3", "sep5", "max3", "conv5", "avg3", "sep3", "output"),
    ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (0, 2), (1, 3), (1, 5), (2, 6), (0, 4)),
)
ASIA = Dag(tuple("ASTLBEXD"), ((0, 2), (1, 3), (1, 4), (2, 5), (3, 5), (5, 6), (5, 7), (4, 7)))
SVG = "{http://www.w3.org/2000/svg}"


def groups(text: str, name: str) -> list[ElementTree.Element]:
    return [group for group in ElementTree.fromstring(text).iter(f"{SVG}g") if group.get("class") == name]


@pytest.mark.parametrize(("dag", "shape"), [(ENAS, "rect"), (ASIA, "circle")])
def test_svg_has_one_shape_a_node_and_one_path_an_edge(dag: Dag, shape: str) -> None:
    nodes, edges = groups(to_svg(dag), "node"), groups(to_svg(dag), "edge")
    assert [len(node.findall(f"{SVG}{shape}")) for node in nodes] == [1] * len(dag)
    assert [node.findtext(f"{SVG}text") for node in nodes] == list(dag.types)
    assert [len(edge.findall(f"{SVG}path")) for edge in edges] == [1] * len(dag.edges)
    assert [len(edge.findall(f"{SVG}polygon")) for edge in edges] == [1] * len(dag.edges)


def test_svg_names_its_size_and_asks_for_nothing_from_elsewhere() -> None:
    text = to_svg(ENAS)
    root = ElementTree.fromstring(text)
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    assert text.count("http") == 1
    assert "href" not in text


@pytest.mark.parametrize("label", ['<b> & "c"', "]]>", "bell\x07", "lone \ud800", "two\nlines", "$a$ $b$", ""])
def test_any_label_can_be_drawn(label: str, tmp_path: Path) -> None:
    dag = Dag((label, "a longer label"), ((0, 1),))
    (first, _) = groups(to_svg(dag, [label]), "node")
    readable = label.replace("\x07", "\ufffd").replace("\ud800", "\ufffd")
    assert first.findtext(f"{SVG}title") == f"0: {readable}"
    save_dags(tmp_path / "a.svg", dag)
    save_dags(tmp_path / "a.png", dag, [label])


def test_long_labels_are_shortened_and_whole_on_hover() -> None:
    label = "a_very_long_operation_name_" * 3
    (node,) = groups(to_svg(Dag((label,))), "node")
    assert node.findtext(f"{SVG}text", "").endswith("…")
    assert node.findtext(f"{SVG}title") == f"0: {label}"


def test_shortened_text_fits() -> None:
    assert shortened("abc", 100, 13) == "abc"
    assert text_width(shortened("w" * 50, 100, 13), 13) <= 100


def test_background_may_be_left_out() -> None:
    assert 'class="background"' in to_svg(ASIA)
    assert 'class="background"' not in to_svg(ASIA, style=DagStyle(background=None))
    assert png_bytes(draw_dag(ASIA, style=DagStyle(background=None)))[25] == 6  # colour type: with alpha


@pytest.mark.parametrize("scale", [1.0, 2.0, 1.37])
def test_png_has_the_size_of_the_picture(scale: float) -> None:
    content = to_png(ENAS, ["title"], scale=scale)
    assert content.startswith(b"\x89PNG")
    assert struct.unpack(">II", content[16:24]) == pixel_size(draw_dag(ENAS, title="title"), scale)


def test_huge_pictures_are_scaled_down() -> None:
    width, height = pixel_size(Picture(40_000, 20_000), 2.0)
    assert width * height < 31e6
    assert width / height == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize("count", [1, 2, 7, 12, 64])
def test_cells_titles_and_cards_of_a_grid_do_not_overlap(count: int) -> None:
    titles = [f"sample {k}: " + "long " * (k % 9) for k in range(count)]
    picture = draw_dags([ENAS, ASIA] * (count // 2) + [ASIA] * (count % 2), titles=titles)
    assert len(picture.titles) == count
    for title in picture.titles:
        half = text_width(title.text, title.size, bold=True) / 2
        assert half <= title.x <= picture.width - half
    for one, other in combinations(picture.titles, 2):
        halves = (text_width(one.text, 12.5, bold=True) + text_width(other.text, 12.5, bold=True)) / 2
        assert abs(one.y - other.y) > 15 or abs(one.x - other.x) > halves
    for one, other in combinations(picture.cards, 2):
        apart = abs(one.x - other.x) - (one.width + other.width) / 2
        assert max(apart, abs(one.y - other.y) - (one.height + other.height) / 2) > 5
    assert all(title.full == full for title, full in zip(picture.titles, titles, strict=True))


def test_a_title_stays_clear_of_its_dag() -> None:
    picture = draw_dag(ASIA, title="Asia")
    assert min(node.y - node.height / 2 for node in picture.nodes) > picture.titles[0].y + 10


def test_columns_are_as_asked() -> None:
    picture = draw_dags([ASIA] * 6, columns=2)
    assert Counter(card.x for card in picture.cards) == {picture.cards[0].x: 3, picture.cards[1].x: 3}


def test_arrow_heads_end_at_their_nodes() -> None:
    picture = draw_dag(ENAS)
    for (_, target), arrow in zip(ENAS.edges, picture.arrows, strict=True):
        node = picture.nodes[target]
        assert arrow.head[0][1] == pytest.approx(node.y - node.height / 2)
        assert arrow.points[-1][1] < arrow.head[0][1]


@pytest.mark.parametrize("suffix", [".pdf", ".jpeg", ""])
def test_another_suffix_is_refused_and_nothing_written(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(DvaeError, match=r"\.svg or \.png"):
        save_dags(tmp_path / f"dags{suffix}", ASIA)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".svg", ".png", ".PNG"])
def test_saved_files_are_whole_and_alone(tmp_path: Path, suffix: str) -> None:
    path = save_dags(tmp_path / f"dags{suffix}", [ASIA, ENAS], ["a", "b"])
    assert list(tmp_path.iterdir()) == [path]
    if suffix == ".svg":
        assert path.read_text(encoding="utf-8") == to_svg([ASIA, ENAS], ["a", "b"])
    else:
        assert path.read_bytes().startswith(b"\x89PNG")


def test_bad_arguments_are_named() -> None:
    with pytest.raises(DvaeError, match="no DAG"):
        to_svg([])
    with pytest.raises(DvaeError, match="2 titles were given for 1"):
        to_svg(ASIA, ["a", "b"])
    with pytest.raises(DvaeError, match="0 columns"):
        to_svg(ASIA, columns=0)
    with pytest.raises(DvaeError, match="#rrggbb"):
        DagStyle(other='red" onload="')


def test_the_style_is_told_from_the_labels() -> None:
    assert not style_of([ENAS]).round
    assert style_of([ENAS]).colour("conv3") == ARCHITECTURE["conv3"]
    assert style_of([ASIA]).round
    assert not style_of([Dag(("a", "a"))]).round
    assert not style_of([Dag((0, 1))]).round


def test_a_task_looks_as_it_says_and_has_the_colours_of_its_dags() -> None:
    labels = ("<start>", "<end>", *ASIA.types)
    network = style_for(Look(shape="circle"), labels)
    assert network.round
    assert {label: network.colour(label) for label in ASIA.types} == dict(style_of([ASIA]).colours)
    assert not style_for(Look(), labels).round
    assert style_for(Look(palette="architecture"), labels).colour("conv3") == ARCHITECTURE["conv3"]


def test_colours_depend_on_the_labels_alone() -> None:
    labels = ["mul", "add", 3, 10, "relu"]
    assert generic_style(labels) == generic_style(labels[::-1] + labels)
    assert len({generic_style(range(21)).colour(label) for label in range(21)}) == 21


def test_text_is_legible_on_every_colour() -> None:
    fills = [colour for _, colour in generic_style(["input", *range(21)]).colours] + list(ARCHITECTURE.values())
    for fill in fills:
        light, dark = sorted([luminance(fill), luminance(text_colour(fill))], reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 4
