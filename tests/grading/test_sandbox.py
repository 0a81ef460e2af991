"""Grading with a sandbox that is there, that is not, that is required, and that is switched off."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from grader.cli.main import run
from grader.course.loading import load_course
from grader.course.model import CourseError
from grader.jobs.client import GradingError
from grader.report.model import Report
from grader.session.checks import context
from grader.wire.errors import SandboxMissing
from grader.workers import bubblewrap

from ..starting import start_with
from ..toy import FILES, make_course

RIGHT = FILES["solutions/scale/scale.py"]
THIEF = """
import glob, os

def found(path):
    try:
        return open(path).read()
    except OSError as error:
        return type(error).__name__

ROOT = {root!r}
for name in ("tests/hidden/test_scale.py", "solutions/scale/scale.py"):
    print(name, found(os.path.join(ROOT, name)))
print("listed", [name for name in glob.glob(ROOT + "/**", recursive=True) if name.endswith(".py")])

def scale(x):
    source = found(os.path.join(ROOT, "solutions/scale/scale.py"))
    space = {{}}
    exec(source, space)
    return space["scale"](x)
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")


@pytest.fixture
def toys(tmp_path: Path) -> Path:
    return make_course(tmp_path / "course")


@pytest.fixture
def no_libseccomp(monkeypatch):
    """Grading processes start on a machine without the library."""
    start_with("import sys; sys.modules['pyseccomp'] = None", monkeypatch)


@pytest.fixture
def no_bubblewrap(monkeypatch):
    """Grading processes start on a machine without the program."""
    start_with(
        "from grader.workers import bubblewrap; bubblewrap.SEARCH = '/nonexistent'", monkeypatch
    )


@pytest.fixture
def cli(toys, hand_in, tmp_path, monkeypatch, capfd):
    """Runs ``grade run`` on a right answer; returns the exit code, the report if any, stderr."""
    place = tmp_path / "report.json"
    monkeypatch.delenv("CI", raising=False)

    def run_command(*arguments: str) -> tuple[int, Report | None, str]:
        submission = str(hand_in(RIGHT, "scale.py"))
        code = run(["run", submission, "--course", str(toys), "--output", str(place), *arguments])
        report = msgspec.json.decode(place.read_bytes(), type=Report) if place.exists() else None
        return code, report, capfd.readouterr().err

    return run_command


class TestModes:
    def test_by_itself_it_grades_and_says_what_is_missing(self, cli, no_libseccomp):
        code, report, _ = cli()
        assert (code, report.score.earned, report.sandbox.level) == (0, 6, "partial")
        assert any("pyseccomp" in gap for gap in report.sandbox.not_enforced)

    @pytest.mark.parametrize("how", ["an option", "CI"])
    def test_what_is_required_and_missing_is_no_score(self, cli, no_libseccomp, monkeypatch, how):
        monkeypatch.setenv("CI", "true" if how == "CI" else "false")
        code, report, complaint = cli(*(["--sandbox", "require"] if how != "CI" else []))
        assert (code, report) == (3, None)
        assert "system calls filtered by seccomp" in complaint
        assert "libseccomp2" in complaint
        assert "grade doctor" in complaint

    def test_what_is_required_and_there_is_graded(self, cli):
        code, report, _ = cli("--sandbox", "require")
        assert (code, report.score.earned, report.sandbox.level) == (0, 6, "full")

    def test_switched_off(self, cli):
        code, report, _ = cli("--sandbox", "off")
        assert (code, report.score.earned, report.sandbox.level) == (0, 6, "none")
        said = next(gap for gap in report.sandbox.not_enforced if gap.endswith("(switched off)"))
        assert "files closed by Landlock" in said
        assert "system calls filtered by seccomp" in said
        assert "limit on memory (data)" in report.sandbox.enforced

    def test_single_layers_cannot_be_chosen(self, cli):
        code, report, _ = cli("--sandbox", "landlock")
        assert (code, report) == (2, None)


class TestIsolation:
    def test_is_not_there_unless_asked_for(self, grade, toys, hand_in):
        report = grade(hand_in(RIGHT, "scale.py"), toys, "scale")
        assert bubblewrap.FILES not in report.sandbox.enforced
        assert f"{bubblewrap.FILES} (not asked for)" in report.sandbox.not_enforced
        assert report.sandbox.level == "full"

    def test_is_there_when_asked_for(self, cli, monkeypatch):
        try:
            bubblewrap.find()
        except SandboxMissing as missing:
            pytest.skip(f"{missing} (Debian and Ubuntu: apt-get install bubblewrap)")
        monkeypatch.setenv("GRADE_ISOLATE", "1")
        code, report, _ = cli("--sandbox", "require")
        assert (code, report.score.earned, report.sandbox.level) == (0, 6, "full")
        assert bubblewrap.FILES in report.sandbox.enforced

    def test_where_it_cannot_be_had_there_is_no_score(self, cli, no_bubblewrap):
        code, report, complaint = cli("--isolate")
        assert (code, report) == (3, None)
        assert "bubblewrap is not installed" in complaint
        assert "Install the package bubblewrap" in complaint


class TestThief:
    def test_finds_nothing(self, grade, toys, hand_in):
        report = grade(hand_in(THIEF.format(root=str(toys)), "scale.py"), toys, "scale")
        assert report.score.earned == 0
        assert report.output.text.split("\n")[:3] == [
            "tests/hidden/test_scale.py PermissionError",
            "solutions/scale/scale.py PermissionError",
            "listed []",
        ]

    def test_finds_all_of_it_where_nothing_is_closed(self, grade, toys, hand_in):
        source = THIEF.format(root=str(toys))
        report = grade(hand_in(source, "scale.py"), toys, "scale", sandbox="off")
        assert report.score.earned == report.score.possible
        assert "def test_values" in report.output.text


class TestACourseAmongInstalledCode:
    def test_is_refused(self, grade, toys, hand_in, monkeypatch, tmp_path):
        readable = context.Readable(files=[str(tmp_path / "course")], names=[])
        monkeypatch.setattr(context, "_readable", lambda: readable)
        assignment = load_course(toys).assignments["scale"]
        with pytest.raises(CourseError, match="every submission may read"):
            context.submission_context(
                hand_in(RIGHT, "scale.py"), assignment, tmp_path / "staged", None, seed=1
            )

    def test_is_refused_when_it_really_is(self, grade, hand_in):
        import torch

        folder = Path(torch.__file__).parent
        with pytest.raises(GradingError, match="every submission may read"):
            grade(folder / "__init__.py", make_course(hand_in("").parent / "course"), "scale")
