"""``grade report``: a class's pages in a real browser, with names and without."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.main import grade

from ..browser import faults, opened
from .conftest import Batches, right, write, wrong

HOSTILE = "<img src=http:__example.invalid onerror=alert(1)>"
CRASHES = "import os\ndef scale(x):\n    os._exit(0)\n"


def report(*arguments: object):
    return CliRunner().invoke(grade, ["report", *map(str, arguments)])


@pytest.fixture(scope="module")
def once() -> list[Path]:
    """The batch that has been graded, which every test has a copy of."""
    return []


@pytest.fixture
def graded(batch: Batches, tmp_path: Path, tmp_path_factory, once: list[Path]) -> Path:
    """A class in which two share a file, three share a mistake, and one is called like a tag."""
    if not once:
        _grade(batch, tmp_path)
        once.append(tmp_path_factory.mktemp("class") / "graded")
        shutil.copytree(batch.output, once[0])
    shutil.copytree(once[0], batch.output, dirs_exist_ok=True)
    return batch.output


def _grade(batch: Batches, tmp_path: Path) -> None:
    mine = right().replace("x * 3", "3 * x")
    folder = write(
        tmp_path / "in",
        {
            "Ann Lee/scale.py": mine + "# Ann Lee\n",
            "Bob Ray/scale.py": mine + "# Ann Lee\n",
            "Cem Kaya/scale.py": CRASHES,
            "Dee Poe/scale.py": wrong() + "print('Dee Poe was here')\n",
            "Zoe Fox/scale.py": wrong() + "# by Zoe Fox\n",
            "Flo Orr/scale.py": "def scale(x)\n    return 'Flo Orr'\n",
            "Gus Orr/scale.py": "",
            "Hal Orr/notes.py": "x = 1\n",
            f"{HOSTILE}/scale.py": wrong() + "# mine\n",
            "=1+1/scale.py": right(),
        },
    )
    done = batch(folder, "--jobs", 1)
    assert done.exit_code == 0, done.output


def test_pages_are_brought_up_to_date_by_a_later_batch(batch, tmp_path):
    folder = write(tmp_path / "in", {"Ann Lee/scale.py": wrong()})
    assert "Updated" not in batch(folder, "--jobs", 1).stderr
    assert not (batch.output / "class.html").exists(), "nobody has asked for pages"
    report(batch.output)
    report(batch.output, "--anonymous")
    write(folder, {"Ann Lee/scale.py": right(), "Bob Ray/scale.py": wrong()})
    done = batch(folder, "--jobs", 1)
    pages = (batch.output / "class.html", batch.output / "anonymous" / "class.html")
    for page in pages:
        assert f"Updated: {page}\n" in done.stderr
        assert "2 submissions of 2 students" in page.read_text("utf-8")
        assert batch.summary["started_at"] in page.read_text("utf-8"), "says which run it is of"
    assert "Bob Ray" in pages[0].read_text("utf-8")
    assert "Bob Ray" not in pages[1].read_text("utf-8")


def test_what_could_not_be_graded_has_no_score_anywhere(batch, tmp_path):
    done = batch(write(tmp_path / "in", {"Gus Orr/scale.py": ""}), "--jobs", 1)
    assert "Gus Orr: scale not-gradable" in done.stderr
    assert batch.grades[0]["total"] == ""
    (scale,) = batch.summary["assignments"]
    assert (scale["scored"], scale["mean"]) == (0, None)
    report(batch.output)
    page = (batch.output / "class.html").read_text("utf-8")
    assert 'aria-label="scale of Gus Orr: no score, not gradable"' in page
    own = (batch.output / "pages" / "scale" / "Gus Orr.html").read_text("utf-8")
    assert "no score" in own
    assert "0 of 6" not in own


def names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*.html")}


def test_class_page(chromium, graded):
    done = report(graded)
    assert done.exit_code == 0, done.output
    assert done.output == f"{graded}/class.html, with 9 pages of reports\n"
    with opened(chromium, graded / "class.html") as page:
        first = page.locator(".belief").first
        assert first.locator(".count").inner_text().split() == ["3", "of", "9"]
        holders = first.locator(".names a").all_text_contents()
        assert holders == [HOSTILE, "Dee Poe", "Zoe Fox"]
        assert first.locator("h3").inner_text()
        look = page.locator("#look tbody tr").all_inner_texts()
        kinds = sorted(row.split("\t")[0].strip() for row in look)
        assert kinds == [
            *("crashed", "does not run", "not gradable", "not recognised", "suspicious")
        ]
        assert any("Ann Lee" in row and "are identical" in row and "Bob Ray" in row for row in look)
        piles = page.locator(".pile").evaluate_all("all => all.map((one) => one.dataset.count)")
        assert [int(count) for count in piles] == [5, *[0] * 8, 3]
        assert page.locator("#people tbody tr").count() == 10
        assert page.locator("main img").count() == 0
    for link in json.loads(_links(chromium, graded / "class.html")):
        assert (graded / link).is_file(), link


def _links(browser, path: Path) -> str:
    with opened(browser, path) as page:
        return page.evaluate(
            "JSON.stringify([...document.querySelectorAll('main a')].map("
            "(one) => decodeURIComponent(one.getAttribute('href'))))"
        )


def test_links_lead_to_the_reports_and_back(chromium, graded):
    report(graded)
    with opened(chromium, graded / "pages/scale/Ann Lee.html") as page:
        assert page.locator(".who").inner_text() == "Ann Lee"
        assert page.locator(".score").inner_text().split() == ["6", "of", "6", "points"]
        back = page.locator(".crumb a").get_attribute("href")
        assert (graded / "pages/scale" / back).resolve() == graded / "class.html"


def test_search_and_sort(chromium, graded):
    report(graded)
    with opened(chromium, graded / "class.html") as page:
        rows = page.locator("#people tbody tr")
        page.get_by_label("Search").fill("orr")
        assert rows.filter(visible=True).count() == 3
        assert page.locator("output").inner_text() == "3 of 10"
        page.get_by_label("Search").fill("")
        total = page.locator("#people thead").get_by_role("button", name="Total")
        for order, expected in (("ascending", ["0", "6"]), ("descending", ["6", "0"])):
            total.press("Enter")
            assert page.locator(f"#people th[aria-sort={order}]").inner_text().startswith("Total")
            shown = rows.locator("td:nth-child(2)").all_text_contents()
            assert list(dict.fromkeys(shown)) == [*expected, "–"]  # noqa: RUF001


def test_without_scripts_all_of_it_can_be_read(chromium, graded):
    report(graded)
    with opened(chromium, graded / "class.html", script=False) as page:
        assert page.locator("#people tbody tr").filter(visible=True).count() == 10
        assert not page.get_by_label("Search").is_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1100), ("dark", 375)])
def test_class_page_is_accessible(chromium, graded, scheme, width):
    report(graded)
    assert faults(chromium, graded / "class.html", scheme=scheme, width=width) == []
    with opened(chromium, graded / "class.html", scheme=scheme, width=width):
        pass


def test_anonymous_pages_name_nobody(chromium, graded):
    done = report(graded, "--anonymous")
    assert done.exit_code == 0, done.output
    folder = graded / "anonymous"
    pages = names_in(folder)
    assert len(pages) == 10
    everything = "\n".join([*pages, *((folder / name).read_text("utf-8") for name in pages)])
    for part in ("Ann", "Bob", "Cem", "Dee", "Zoe", "Flo", "Gus", "Hal", "Orr", "onerror", "=1+1"):
        assert part not in everything, part
    assert names_in(graded) == {f"anonymous/{name}" for name in pages}
    with opened(chromium, folder / "class.html") as page:
        people = page.locator("#people tbody th").all_text_contents()
        assert people == [f"Student {number:02}" for number in range(1, 11)]
        assert page.locator("#look tbody tr").count() == 5
    assert all(
        (folder / link).is_file() for link in json.loads(_links(chromium, folder / "class.html"))
    )


def test_anonymous_pages_made_again_leave_none_of_the_last_ones(graded):
    report(graded, "--anonymous")
    stale = graded / "anonymous/pages/scale/Student 99.html"
    stale.write_text("old")
    report(graded, "--anonymous")
    assert not stale.exists()


def test_damaged_report_is_left_out_and_said(chromium, graded):
    (graded / "reports/scale/Zoe Fox.json").write_bytes(b"{")
    done = report(graded)
    assert done.exit_code == 0
    assert "Zoe Fox.json: not JSON" in done.stderr
    with opened(chromium, graded / "class.html") as page:
        assert "Zoe Fox.json" in page.locator("#look").inner_text()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "there is no summary.json; name the folder that `grade batch --output` wrote to"),
        ({"summary.json": "{}", "grades.csv": ""}, "cannot be read"),
    ],
)
def test_what_is_no_batch_is_refused(tmp_path, files, words):
    write(tmp_path, files)
    done = report(tmp_path)
    assert done.exit_code == 2
    assert words in done.stderr
    assert names_in(tmp_path) == set()


def test_folder_that_is_missing_is_refused(tmp_path):
    done = report(tmp_path / "nowhere")
    assert done.exit_code == 2
