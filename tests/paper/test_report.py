"""Reports: numbers beside what was published, what is missing named, and one page that needs nothing else."""

from __future__ import annotations

import base64
import re
import shutil
import tarfile
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dvae.errors import MissingError
from dvae.evaluation import Estimate
from dvae.files import read_json
from dvae.paper import Preset, StageStore, preset, stages_of, write_report
from dvae.paper.report import numbers, read_plan
from dvae.paper.results import Results
from dvae.paper.sources import Source
from dvae.paper.tables import NOT_RUN, overview, search_table, smoothness_table, table1, table2, table3
from dvae.reports.document import Document, Heading, Items, Paragraph, Table
from dvae.reports.html import to_html
from dvae.reports.markdown import to_markdown
from dvae.reports.numbers import MISSING, Spread, score_words, share_words, time_words
from dvae.tasks import get

REQUESTS = re.compile(
    r"""(src|href)\s*=\s*["'](?!data:|#)|url\(\s*["']?(?!#)|@import|<script[^>]*\ssrc|<link|<iframe"""
)


@pytest.fixture(scope="module")
def page(tiny_run: Path) -> str:
    return write_report(tiny_run).read_text()


def test_the_page_asks_for_nothing_from_elsewhere(page: str) -> None:
    assert REQUESTS.search(page) is None
    pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert len(pictures) == 15
    for picture in pictures:
        text = base64.b64decode(picture).decode()
        assert REQUESTS.search(text.replace('xlink:href="#', "")) is None
        ElementTree.fromstring(text)


def test_the_page_says_what_it_is_and_what_is_missing(page: str) -> None:
    assert "its numbers mean nothing" in page
    assert "NOT the paper" in page  # the architectures are made up
    assert "scores from one-hot features" in page  # of Table 2, which was not run
    assert "Not run yet" in page


def test_every_figure_is_there_as_svg_and_png_with_a_caption(page: str, tiny_run: Path) -> None:
    drawn = sorted(path.name for path in (tiny_run / "figures").iterdir())
    assert len(drawn) == 30
    assert {path.split(".")[0] for path in drawn} >= {"circle_dvae", "grid_bn_svae", "map_enas", "search_bn", "cost"}
    assert page.count("<figcaption>") == 15


def test_the_text_names_pictures_beside_it(page: str, tiny_run: Path) -> None:
    text = (tiny_run / "report.md").read_text()
    for place in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text):
        assert (tiny_run / place).is_file()


def test_numbers_for_programs_are_those_of_the_stages(page: str, tiny_run: Path, tiny: Preset) -> None:
    found = read_json(tiny_run / "results.json")
    assert found == numbers(StageStore(tiny_run), tiny)
    assert isinstance(found, dict)
    assert (found["preset"], found["planned"]) == ("tiny", len(stages_of("all", tiny)))
    assert found["done"] == len(found["stages"]) < found["planned"]


def test_tables_have_our_rows_and_the_papers_in_turn(tiny_run: Path, tiny: Preset) -> None:
    results = Results(StageStore(tiny_run), tiny)
    table = table1(results, "enas")
    assert table is not None
    assert [row[0] for row in table.rows] == ["D-VAE", "published", "S-VAE", "published"]
    assert table.quiet == {1, 3}
    assert table.rows[1][1] == "99.96"
    ablations = table3(results)
    assert ablations is not None
    assert [row[0] for row in ablations.rows[::2]] == ["D-VAE (SMP)", "D-VAE (fast)", "D-VAE", "S-VAE"]
    assert ablations.rows[1][6:8] == ("0.455 ± 0.002", "0.885 ± 0.001")
    partly = table2(results, "enas")
    assert partly is not None
    assert table2(results, "bn") is None
    assert search_table(results, "bn") is not None
    assert smoothness_table(results) is not None


def test_the_first_tables_have_each_model_once_with_what_is_published_in_brackets(tiny_run: Path, tiny: Preset) -> None:
    results = Results(StageStore(tiny_run), tiny)
    table, networks = overview(results, "enas"), overview(results, "bn")
    assert table is not None
    assert [row[0] for row in table.rows] == ["D-VAE", "S-VAE", "D-VAE (SMP)", "D-VAE (fast)"]
    (measured,) = results.evaluations("enas", tiny.enas.recipe("dvae"))
    assert table.rows[0][1] == f"{100 * measured.mean.share.value:.2f} (99.96)"
    assert networks is not None
    assert [row[0] for row in networks.rows] == ["D-VAE", "S-VAE"]
    assert networks.rows[0][3] == MISSING  # scores of networks were not predicted


def test_a_model_without_a_result_is_shown_as_not_run(tiny_run: Path, tiny: Preset, tmp_path: Path) -> None:
    for folder in (tiny_run / "stages").glob("evaluate-enas6-dvae-0-*"):
        shutil.copytree(folder, tmp_path / "stages" / folder.name)
    table = table1(Results(StageStore(tmp_path), tiny), "enas")
    assert table is not None
    assert [row[-1] for row in table.rows] == ["1", "", NOT_RUN, ""]
    assert table1(Results(StageStore(tmp_path), tiny), "bn") is None


def test_a_variant_that_no_paper_asks_for_waits_for_its_row_in_silence(tiny_run: Path, tiny: Preset) -> None:
    variant = replace(tiny.enas.recipe("dvae"), name="dvae-original")
    more = replace(tiny, enas=replace(tiny.enas, recipes=(*tiny.enas.recipes, variant)))
    results = Results(StageStore(tiny_run), more)
    for table in (table1(results, "enas"), table2(results, "enas")):
        assert table is not None
        assert "D-VAE" in {row[0] for row in table.rows}
        assert variant.title not in {row[0] for row in table.rows}


def test_a_share_shows_its_interval_or_the_spread_of_its_seeds() -> None:
    one = Estimate(0.5, 0.4, 0.6, 10)
    assert share_words([one]) == "50.00 (40.00–60.00)"
    assert share_words([one, Estimate(0.6, 0.4, 0.6, 10)]) == "55.00 ± 7.07"
    assert share_words([Estimate(0.3, None, None, 10)]) == "30.00"
    assert share_words([None]) == "–"
    assert Spread((1.0,)).words(2) == "1.00"
    assert [score_words(value) for value in (-11107.2933, 0.0, 0.01234, None)] == ["-11107.293", "0.000", "0.0123", "–"]
    assert [time_words(seconds) for seconds in (30, 600, 36_000)] == ["30 s", "10.0 min", "10.0 h"]


def test_words_are_escaped_in_html_and_in_tables_of_markdown(tmp_path: Path) -> None:
    table = Table("a < b", ("x", "y"), (("<i>", "1|2"),), quiet=frozenset({0}))
    document = Document("T & T", (Heading("One"), Paragraph("mind", warning=True), Items(("<b>",)), table))
    text = to_html(document)
    assert "T &amp; T" in text
    assert "<td>&lt;i&gt;</td>" in text
    assert '<p class="warning">mind</p>' in text
    assert "| *<i>* | *1\\|2* |" in to_markdown(document, tmp_path)


def test_a_folder_without_a_reproduction_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="holds no reproduction"):
        write_report(tmp_path)


def by_key(written: Any) -> dict[str, Any]:
    return {stage["key"]: stage for stage in written["stages"].values()}


def test_every_stage_has_a_title_of_its_own() -> None:
    """Results are written by title: of two stages with one title, one was lost."""
    settings = preset("paper", Source("enas6"), Source("asia"), seeds=3)
    titles = [stage.title for stage in stages_of("all", settings)]
    assert len(set(titles)) == len(titles)


def test_a_reproduction_of_version_0_1_0_is_read(tmp_path: Path) -> None:
    """Its stages are found by their keys, and every result is read as a value."""
    with tarfile.open(Path(__file__).parents[1] / "fixtures" / "reproduction-0.1.0.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    before = read_json(tmp_path / "results.json")
    store, settings = StageStore(tmp_path), read_plan(tmp_path)
    stages = stages_of("all", settings)
    assert len(stages) == 41
    assert all(store.result(stage) is not None for stage in stages)
    found = numbers(store, settings)
    assert {name: found[name] for name in found if name != "stages"} == {n: before[n] for n in before if n != "stages"}
    assert by_key(found) == by_key(before)  # titles name the fit by now
    results = Results(store, settings)
    (measured,) = results.evaluations("enas", settings.enas.recipe("dvae"))
    assert measured.greedy.closeness is None
    known = results.landmarks("bn")
    assert known is not None
    assert known.optimum_dag is not None
    assert get("asia").score(known.optimum_dag) == pytest.approx(known.optimum)
    train, found = results.trainings("enas")[0]
    assert (train.recipe.name, found.graphs, len(found.history)) == ("dvae", 72, 1)
    assert all(one.best is not None for one in results.searches("bn", "dvae", "random"))
