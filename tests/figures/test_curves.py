from __future__ import annotations

import struct
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from dvae.errors import DvaeError, FormatError, MissingError
from dvae.figures import Series, read_series, save_curves
from dvae.figures.curves import DPI, SIZE, end_labels

LOSS = Series("loss $a$ <b>", (1, 2, 3), (3.0, 2.0, 1.5), (2.5, 1.5, 1.0), (3.5, 2.5, 2.0))
KL = Series("kl", (1, 2, 3), (0.5, float("nan"), 1.5))


@pytest.mark.parametrize("log", [False, True])
def test_png_curves_have_the_expected_size(tmp_path: Path, log: bool) -> None:
    path = save_curves(tmp_path / "curves.png", [LOSS, KL], "epoch", "loss", "title", log=log)
    assert struct.unpack(">II", path.read_bytes()[16:24]) == (int(SIZE[0] * DPI), int(SIZE[1] * DPI))


def test_svg_curves_are_xml_with_the_names_as_text_and_repeatable(tmp_path: Path) -> None:
    one = save_curves(tmp_path / "one.svg", [LOSS, KL], "epoch", "loss", "title")
    two = save_curves(tmp_path / "two.svg", [LOSS, KL], "epoch", "loss", "title")
    words = " ".join(ElementTree.parse(one).getroot().itertext())
    assert all(word in words for word in (LOSS.name, "kl", "epoch", "title"))
    assert one.read_bytes() == two.read_bytes()


def test_more_series_than_fit_beside_the_lines_get_a_legend(tmp_path: Path) -> None:
    many = [Series(f"$model {k}$", (1, 2), (k, k + 1)) for k in range(20)]
    path = save_curves(tmp_path / "many.svg", many, "epoch", "loss")
    assert "$model 19$" in path.read_text()


def test_end_labels_stand_beside_the_last_value_and_apart() -> None:
    lines = [Series(name, (0, 1), (0, y)) for name, y in (("a", 5.0), ("b", 5.0), ("c", 9.0))]
    labels = end_labels(lines, (0.0, 10.0), log=False, gap=0.1)
    assert [(label.text, label.height) for label in labels] == [
        ("a", pytest.approx(0.45)),
        ("b", pytest.approx(0.55)),
        ("c", pytest.approx(0.9)),
    ]


def test_end_labels_follow_a_logarithmic_axis() -> None:
    (label,) = end_labels([Series("a", (0,), (10.0,))], (1.0, 100.0), log=True, gap=0.1)
    assert label.height == pytest.approx(0.5)


def test_series_are_read_from_the_columns_of_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("epoch,loss,kl\n1,3,\n2,2.5,0.1\n")
    assert read_series(path) == [Series("loss", (1, 2), (3, 2.5)), Series("kl", (2,), (0.1,))]
    assert [line.name for line in read_series(path, columns=["kl"])] == ["kl"]
    drawn = save_curves(tmp_path / "out.png", read_series(path), xlabel="epoch", ylabel="loss per graph")
    assert drawn.stat().st_size > 1_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: there is no column 'epoch'"),
        ("epoch,loss\n", "no values"),
        ("epoch,loss\n1,x\n", "2: 'x' is not a number"),
        ("epoch,loss\n1\n", "2: 1 cells under 2"),
    ],
)
def test_bad_metrics_are_named_by_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_series(path)


def test_missing_metrics_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no such file"):
        read_series(tmp_path / "none.csv")


def test_bad_series_are_refused_and_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(DvaeError, match="half a band"):
        Series("a", (1,), (1,), low=(0,))
    with pytest.raises(DvaeError, match="not as many"):
        Series("a", (1, 2), (1,))
    with pytest.raises(DvaeError, match="no points"):
        Series("a", (), ())
    with pytest.raises(DvaeError, match="no series"):
        save_curves(tmp_path / "a.png", [], "x", "y")
    with pytest.raises(DvaeError, match="above zero"):
        save_curves(tmp_path / "a.png", [Series("a", (1,), (0,))], "x", "y", log=True)
    with pytest.raises(DvaeError, match=r"\.svg or \.png"):
        save_curves(tmp_path / "a.gif", [LOSS], "x", "y")
    assert list(tmp_path.iterdir()) == []
