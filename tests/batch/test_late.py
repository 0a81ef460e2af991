"""What being late costs: ``[late]`` of ``course.toml``, and where the time comes from."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.batch.dates import moment
from grader.cli.main import grade
from grader.course.loading import load_course
from grader.course.model import CourseError

from ..toy import make_course
from .conftest import right, write, wrong

DUE = datetime(2026, 3, 1, 22, 59, tzinfo=UTC)
POLICY = """
title = "Toys"
[late]
penalty_percent = 20
most_percent = 50
grace_minutes = 30
[late.due]
scale = 2026-03-01T23:59:00+01:00
[late.exceptions."Zoë"]
scale = 2026-03-08T23:59:00+01:00
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """The toy course, whose six points are due at DUE."""
    return make_course(tmp_path / "course", assignments_course_toml=POLICY)


def handed_in(folder: Path, name: str, text: str, late: timedelta) -> None:
    path = write(folder, {name: text}) / name
    moment = (DUE + late).timestamp()
    os.utime(path, (moment, moment))


def row(batch, student: str) -> tuple[str, str]:
    (found,) = [row for row in batch.grades if row["student"] == student]
    return found["total"], found["status"]


def test_days_that_have_begun_cost_points(batch, tmp_path):
    folder = tmp_path / "in"
    handed_in(folder, "early.py", right(), -timedelta(days=2))
    handed_in(folder, "grace.py", right(), timedelta(minutes=30))
    handed_in(folder, "hour.py", right(), timedelta(hours=1))
    handed_in(folder, "day.py", right(), timedelta(days=1, seconds=1))
    handed_in(folder, "year.py", right(), timedelta(days=365))
    handed_in(folder, "zero.py", wrong(), timedelta(days=2))
    handed_in(folder, "Zoe\u0308.py", right(), timedelta(days=6))
    done = batch(folder)
    assert done.exit_code == 0, done.output
    # 20 % of 6 points are 1.2 a day, of which whole points are taken.
    assert row(batch, "early") == ("6", "graded")
    assert row(batch, "grace") == ("6", "graded")
    assert row(batch, "hour") == ("5", "1 day late, -1")
    assert row(batch, "day") == ("4", "2 days late, -2")
    assert row(batch, "year") == ("3", "365 days late, -3")
    assert row(batch, "zero") == ("0", "2 days late, -0")
    assert row(batch, "Zoë") == ("6", "graded")
    report = batch.report("day")
    assert report["score"] == {"earned": 6, "possible": 6}
    assert report["lateness"] == {
        "due": "2026-03-01T23:59:00+01:00",
        "handed_in": "2026-03-02T22:59:01+00:00",
        "source": "the file's date",
        "days": 2,
        "penalty": 2,
        "earned": 4,
    }
    assert batch.report("early")["lateness"] is None
    assert [one["student"] for one in batch.summary["late"]] == ["day", "hour", "year", "zero"]
    assert batch.summary["assignments"][0]["lowest"] == 0
    path = batch.output / "reports" / "scale" / "day.json"
    shown = " ".join(CliRunner().invoke(grade, ["show", str(path)]).output.split())
    assert "4 of 6 points" in shown
    assert (
        "6 of 6 points for the checks, less 2 for 2 days late: due 2026-03-01T23:59:00+01:00, "
        "handed in 2026-03-02T22:59:01+00:00 (the file's date)."
    ) in shown


def test_the_summary_has_an_order_that_does_not_depend_on_who_was_graded_first(batch, tmp_path):
    folder = tmp_path / "in"
    handed_in(folder, "zoe.py", "import os\ndef scale(x):\n    os._exit(0)\n", timedelta(days=2))
    batch(folder)
    handed_in(folder, "ann.py", "import os\ndef scale(x):\n    os._exit(1)\n", timedelta(days=2))
    handed_in(folder, "bob.py", "def scale(x)\n", timedelta(days=2))
    batch(folder)
    assert sorted(Path(os.fsdecode(job.submission)).stem for job in batch.graded) == [
        "ann",
        "bob",
    ], "zoe's was kept"
    students = {
        key: [one["student"] for one in batch.summary[key]]
        for key in ("late", "crashed", "does_not_run")
    }
    assert students == {
        "late": ["ann", "bob", "zoe"],
        "crashed": ["ann", "zoe"],
        "does_not_run": ["bob"],
    }


def test_another_date_changes_points_and_grades_nothing(batch, course, tmp_path):
    handed_in(tmp_path / "in", "ann.py", right(), timedelta(hours=1))
    assert batch(tmp_path / "in").exit_code == 0
    file = course / "assignments" / "course.toml"
    file.write_text(file.read_text().replace("2026-03-01", "2026-03-02"))
    assert batch(tmp_path / "in").exit_code == 0
    assert batch.graded == []
    assert row(batch, "ann") == ("6", "graded")
    assert batch.report("ann")["lateness"] is None


def test_no_policy_no_lateness(batch, course, tmp_path):
    (course / "assignments" / "course.toml").write_text('title = "Toys"\n')
    handed_in(tmp_path / "in", "ann.py", right(), timedelta(days=9))
    assert batch(tmp_path / "in").exit_code == 0
    assert row(batch, "ann") == ("6", "graded")


class TestWhereTheTimeComesFrom:
    def source(self, batch, folder: Path, student: str) -> tuple[str, str]:
        done = batch(folder, "--assignment", "scale")
        assert done.exit_code == 0, done.output
        lateness = batch.report(student)["lateness"]
        return lateness["handed_in"], lateness["source"]

    def test_gradescope(self, batch, tmp_path):
        described = (
            "submission_1:\n  :submitters:\n  - :name: Ann\n"
            "  :created_at: 2026-03-03 12:00:00.123456789 Z\n"
        )
        files = {"submission_1/scale.py": right(), "submission_metadata.yml": described}
        folder = write(tmp_path / "in", files)
        assert self.source(batch, folder, "Ann") == (
            "2026-03-03T12:00:00+00:00",
            "the platform's date",
        )

    def test_nbgrader(self, batch, tmp_path):
        stamp = "2026-03-03 12:00:00.948203 America/New_York"
        files = {"ann/scale/scale.py": right(), "ann/scale/timestamp.txt": stamp}
        folder = write(tmp_path / "submitted", files)
        assert self.source(batch, folder, "ann")[0] == "2026-03-03T12:00:00-05:00"

    def test_blackboard_does_not_say_which_time_zone(self, batch, course, tmp_path):
        folder = write(tmp_path / "in", {"Scale_ann_attempt_2026-03-03-12-00-00_x.py": right()})
        done = batch(folder)
        assert done.exit_code == 2
        assert "without a time zone" in done.stderr
        assert "timezone = 'Europe/Berlin'" in done.stderr
        file = course / "assignments" / "course.toml"
        file.write_text(file.read_text().replace("[late]", "[late]\ntimezone = 'Asia/Tokyo'"))
        assert self.source(batch, folder, "ann")[0] == "2026-03-03T12:00:00+09:00"

    @pytest.mark.parametrize("packed", [False, True])
    def test_git_whose_configuration_is_hostile(self, batch, tmp_path, packed):
        folder = write(tmp_path / "in" / "scale-ann", {"scale.py": right()})
        write(tmp_path / "in" / "scale-bob", {"scale.py": right(), ".git/HEAD": "ref: ../../x"})
        who = {
            f"GIT_{role}_{what}": "x"
            for role in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        dates = {
            "GIT_COMMITTER_DATE": "2026-03-02T10:00:00+0100",
            "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z",
        }
        harm = tmp_path / "harm"
        after = [["pack-refs", "--all"], ["gc", "--quiet"]] if packed else []
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"], *after):
            subprocess.run(["git", *words], cwd=folder, env=os.environ | who | dates, check=True)
        write(folder, {".git/config": f"[core]\nfsmonitor = touch {harm}\npager = touch {harm}\n"})
        assert self.source(batch, folder.parent, "ann") == (
            "2026-03-02T09:00:00+00:00",
            "the last commit's date",
        )
        assert not harm.exists()
        assert batch.report("bob")["lateness"]["source"] == "the file's date"

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("2026-03-01 10:00:00 UTC", "2026-03-01T10:00:00+00:00"),
            ("2026-03-01T10:00:00.5+0200", "2026-03-01T10:00:00+02:00"),
            ("2026-03-01 10:00:00", "2026-03-01T10:00:00"),
        ],
    )
    def test_moments(self, text, expected):
        found = moment(text)
        assert found is not None
        assert found.isoformat() == expected

    @pytest.mark.parametrize(
        "text", ["", "soon", "2026-13-01 10:00:00 Z", "2026-03-01 10:00:00 ../x"]
    )
    def test_no_moments(self, text):
        assert moment(text) is None


@pytest.mark.parametrize(
    ("before", "after", "line", "says"),
    [
        ("23:59:00+01:00", "23:59:00", 8, "such as 2026-03-01T23:59:00+01:00"),
        ("2026-03-01T23:59:00+01:00", '"tomorrow"', 8, "without quotes"),
        ("2026-03-01T23:59:00+01:00", "2026-03-01", 8, "a date and time with their offset"),
        ("scale = 2026-03-01", "sale = 2026-03-01", 8, "expected scale"),
        ("penalty_percent = 20", "penalty_percent = 120", 4, "from 0 to 100"),
        ("penalty_percent = 20", "penalty = 20", 4, "expected penalty_percent"),
        ("grace_minutes = 30", "timezone = 'Berlin'", 6, "'Europe/Berlin'"),
        ("most_percent = 50", "most_percent = nan", 5, "from 0 to 100"),
    ],
)
def test_policy_that_is_not_as_it_should_be(tmp_path, before, after, line, says):
    text = POLICY.replace(before, after, 1)
    root = make_course(tmp_path, assignments_course_toml=text)
    with pytest.raises(CourseError, match=rf"course\.toml, line {line}: ") as raised:
        load_course(root)
    assert says in str(raised.value)
