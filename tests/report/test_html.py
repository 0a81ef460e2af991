"""``--format html`` in a real browser: what it shows, and what it does not let anybody do."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import msgspec
import pytest
from click.testing import CliRunner

from grader.cli.main import grade
from grader.report.files import encode
from grader.report.model import (
    Audience,
    CourseReport,
    Evidence,
    Output,
    Report,
    Shown,
    Status,
)

from ..browser import faults, opened
from . import samples
from .samples import check

ATTACK = (
    "\"'><script>alert(1)</script><img src=http://example.invalid/x onerror=alert(2)>"
    "</svg></style></title><a href=javascript:alert(3)>x</a>{{ 7 * 7 }}{% raw %}\u202e\x1b[31m"
)


@pytest.fixture
def page(tmp_path):
    """Writes a report as a page, by the command that people use."""

    def write(report: Report | CourseReport) -> Path:
        source, target = tmp_path / "report.json", tmp_path / "report.html"
        source.write_bytes(encode(report))
        words = ["export", str(source), "--format", f"html={target}"]
        done = CliRunner().invoke(grade, words)
        assert done.exit_code == 0, done.output
        return target

    return write


def failing(*evidence: Evidence, **changes) -> Report:
    return samples.report([check("a", Status.FAILED, evidence=list(evidence), **changes)])


def weights(yours, expected, name="weights") -> Evidence:
    shows = name.split(" ")[0] if name.split(" ")[0] in get_args(Shown) else ""
    return Evidence(demonstration="three", name=name, yours=yours, expected=expected, shows=shows)


def test_every_kind_of_report_is_quiet_and_fits_a_phone(chromium, page):
    for report in samples.everything().values():
        with opened(chromium, page(report), width=340) as shown:
            assert shown.locator("h1").count() == 1


@pytest.mark.parametrize(("scheme", "width"), [("light", 1100), ("dark", 375)])
def test_pages_are_accessible(chromium, page, scheme, width):
    path = page(samples.course())
    assert faults(chromium, path, scheme=scheme, width=width) == []
    with opened(chromium, path, scheme=scheme) as shown:
        ground = shown.evaluate("getComputedStyle(document.body).backgroundColor")
        brightest = max(map(int, ground.removeprefix("rgb(").removesuffix(")").split(",")))
        assert (brightest < 60) == (scheme == "dark")


def test_score_and_what_to_do_next_come_first(chromium, page):
    with opened(chromium, page(samples.softmax_over_queries())) as shown:
        assert shown.locator("h1").inner_text() == "Scaled dot-product attention"
        assert shown.locator(".score").inner_text().split() == ["5", "of", "18", "points"]
        assert (
            "Each column of your weights sums to 1" in shown.locator("main > *").first.inner_text()
        )
        causes = shown.locator("article h3")
        assert "Each query shares out exactly 1" in causes.first.inner_text()
        explained = shown.locator("article").first.locator(".checks").inner_text()
        assert "Title of values" in explained
        assert "Title of gradient" in explained


def test_a_crash_is_called_one(chromium, page):
    words = "Your code ended its own process."
    report = samples.report([check("a", Status.CRASHED, message=words, hint="about a")])
    with opened(chromium, page(report)) as shown:
        assert words in shown.locator("main > *").first.inner_text()
        assert "about a" not in shown.locator("body").inner_text()


def test_nothing_is_left_to_do_after_full_marks(chromium, page):
    with opened(chromium, page(samples.full_marks())) as shown:
        assert "Nothing left to do" in shown.locator("main > *").first.inner_text()
        assert shown.locator("article").count() == 0


class TestHeatmap:
    MINE = ((0.7, 0.3, 0.2), (0.3, 0.7, 0.8))
    THEIRS = ((1.0, 0.0, 0.0), (0.5, 0.5, 0.0))

    def test_cells_have_their_values_and_a_colour_in_proportion(self, chromium, page):
        path = page(failing(weights(self.MINE, self.THEIRS)))
        with opened(chromium, path) as shown:
            for place, rows in enumerate((self.MINE, self.THEIRS)):
                drawing = shown.locator("svg").nth(place)
                tiles = drawing.locator(".tile").evaluate_all(
                    "all => all.map((one) => [one.dataset.row, one.dataset.column, "
                    "Number(one.dataset.value), one.style.getPropertyValue('--share'), "
                    "getComputedStyle(one).fill])"
                )
                assert [tile[:4] for tile in tiles] == [
                    [str(row), str(column), value, f"{100 * value:.1f}%"]
                    for row, values in enumerate(rows)
                    for column, value in enumerate(values)
                ]
                colours = {tile[4] for tile in tiles}
                assert len(colours) == len({value for row in rows for value in row})

    def test_queries_keys_and_sums_are_written_on_the_margins(self, chromium, page):
        with opened(chromium, page(failing(weights(self.MINE, self.THEIRS)))) as shown:
            words = shown.locator("svg").first.locator("text").all_text_contents()
            assert {"queries", "keys", "q0", "q1", "k0", "k1", "k2"} <= set(words)
            wrong = shown.locator("svg").first.locator(".sum.wrong").all_text_contents()
            assert wrong == ["1.20", "1.80"]
            assert "1.00" in words
            assert "Every column of yours sums to 1" in shown.locator("article").inner_text()

    def test_cells_that_leak_are_outlined_and_named(self, chromium, page):
        with opened(chromium, page(failing(weights(self.MINE, self.THEIRS)))) as shown:
            outlined = shown.locator(".leak").evaluate_all(
                "all => all.map((one) => [one.dataset.row, one.dataset.column])"
            )
            assert outlined == [["0", "1"], ["0", "2"], ["1", "2"]]
            assert "(q0, k1), (q0, k2), (q1, k2)" in shown.locator("article").inner_text()

    def test_of_many_matrices_the_first_that_differs_is_drawn(self, chromium, page):
        same, other = [[0.5, 0.5]], [[0.9, 0.1]]
        path = page(failing(weights([[same, other]], [[same, same]])))
        with opened(chromium, path) as shown:
            assert "At [0, 1] of shape (1, 2, 1, 2)" in shown.locator("article").inner_text()
            first = shown.locator("svg").first.locator(".tile").first
            assert first.get_attribute("data-value") == "0.900"

    @pytest.mark.parametrize(
        ("yours", "expected"),
        [
            ([["nan", 1.0]], [[0.5, 0.5]]),
            ([[1e308, -1e308]], [[0.5, 0.5]]),
            ([[0.5, 0.5]], [[0.5], [0.5]]),
            ([[1.0, 2.0], [3.0]], [[1.0]]),
            (3.5, 1.0),
            ("nothing", [[1.0]]),
            ([[0.0] * 40] * 6, [[1.0] * 40] * 6),
            ([], [[1.0]]),
            ([ATTACK], [ATTACK]),
            ([[ATTACK, 1]], [[0, 1]]),
        ],
    )
    def test_whatever_came_back_makes_a_page(self, chromium, page, yours, expected):
        with opened(chromium, page(failing(weights(yours, expected))), width=360) as shown:
            assert "three" in shown.locator("article").inner_text()


def test_encodings_are_curves_of_the_columns_that_differ(chromium, page):
    mine = [[1.0, place / 10] for place in range(20)]
    theirs = [[1.0, place / 5] for place in range(20)]
    with opened(chromium, page(failing(weights(mine, theirs, name="encoding")))) as shown:
        assert shown.locator("figcaption").all_text_contents() == ["Column 1"]
        for kind, rows in (("yours", mine), ("expected", theirs)):
            points = shown.locator(f".line.{kind}").get_attribute("points").split()
            heights = [float(point.split(",")[1]) for point in points]
            assert len(points) == len(rows)
            assert heights == sorted(heights, reverse=True)


def test_a_training_is_drawn_against_its_floor(chromium, page):
    evidence = Evidence(
        demonstration="",
        name="loss",
        yours=[3.0, float("nan"), 1.0, 0.1],
        expected=1.0,
        kind="curve",
    )
    report = msgspec.structs.replace(failing(evidence), audience=Audience.INSTRUCTOR)
    with opened(chromium, page(report)) as shown:
        assert "floor 1" in shown.locator("svg").text_content()
        assert shown.locator(".line.yours").count() == 2
        level = float(shown.locator(".level").get_attribute("y1"))
        last = shown.locator(".line.yours").last.get_attribute("points").split()[-1]
        assert float(last.split(",")[1]) > level


def test_what_others_wrote_stays_text(chromium, page):
    data = msgspec.to_builtins(samples.hostile())
    kept = {"type", "status", "visibility", "audience", "level", "because", "kind", "shows"}

    def spoil(value, key=""):
        if isinstance(value, dict):
            return {name: spoil(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [spoil(item) for item in value]
        return ATTACK if isinstance(value, str) and key not in kept else value

    report = msgspec.convert(spoil(data), Report)
    report = msgspec.structs.replace(report, output=Output(text=f"{ATTACK}\n{ATTACK}"))
    with opened(chromium, page(report)) as shown:
        assert shown.locator("script, img, iframe, main a").count() == 0
        text = shown.locator("body").text_content()
        assert "<script>alert(1)</script>" in text
        assert "{{ 7 * 7 }}" in text
        assert "\u202e" not in text
        assert "\x1b" not in text


def test_a_course_leads_to_each_of_its_assignments(chromium, page):
    with opened(chromium, page(samples.course())) as shown:
        links = shown.locator("nav a").evaluate_all("all => all.map((one) => one.hash)")
        assert len(links) == 4
        assert all(shown.locator(f"section{link} h2").count() == 1 for link in links)


def test_everything_can_be_reached_by_the_keyboard(chromium, page):
    with opened(chromium, page(samples.softmax_over_queries())) as shown:
        shown.keyboard.press("Tab")
        assert shown.evaluate("document.activeElement.textContent") == "Skip to the content"
        for _ in range(30):
            shown.keyboard.press("Tab")
            if shown.evaluate("document.activeElement.tagName") == "SUMMARY":
                break
        shown.keyboard.press("Enter")
        assert shown.locator("details[open] table").first.is_visible()


def test_a_student_is_shown_no_output_of_hidden_checks(tmp_path):
    source = tmp_path / "report.json"
    source.write_bytes(encode(samples.softmax_over_queries().for_student()))
    done = CliRunner().invoke(grade, ["export", str(source), "--format", "html=-"])
    assert done.exit_code == 0
    assert "secret of a hidden input" not in done.output
    assert "softmax-over-queries" not in done.output
