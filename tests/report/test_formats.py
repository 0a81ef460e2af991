"""Every format: the same points, what its reader takes, and nothing that a student forged."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as Xml

import jsonschema
import msgspec
import pytest

from grader.report import files, formats
from grader.report.formats import Format
from grader.report.formats.items import reports as parts
from grader.report.model import Lateness, Location, Status

from . import samples

SCHEMAS = Path(__file__).with_name("schemas")
SAMPLES = samples.everything()
HOSTILE = SAMPLES["hostile"] = samples.report(
    samples.hostile().checks,
    **{
        name: getattr(samples.hostile(), name)
        for name in ("assignment", "submission", "message", "notes", "diagnosis", "started_at")
    },
)
NAMES = [
    "classroom50",
    "csv",
    "github",
    "github-annotations",
    "github-summary",
    "gradescope",
    "json",
    "junit",
    "markdown",
    "prairielearn",
    "pytest-json-report",
]

every_report = pytest.mark.parametrize("report", SAMPLES.values(), ids=SAMPLES)


def export(name, report):
    return formats.find(name)(report)


def outputs(report):
    """What a step of GitHub Actions would have as outputs."""
    return dict(line.split("=", 1) for line in export("github", report).decode().splitlines())


def runner_result(report):
    return json.loads(base64.b64decode(outputs(report)["result"], validate=True))


def table(result):
    """The reporter's arithmetic for its table."""
    passed = sum(test["status"] == "pass" for test in result["tests"])
    return passed / len(result["tests"]) * result["max_score"]


def notice(result):
    """The reporter's arithmetic for its notice."""
    return sum(test["score"] for test in result["tests"])


def points(name, report):
    """(earned, possible) as a reader of the format finds them, by its parts and as a whole."""
    content = export(name, report)
    match name:
        case "json":
            whole = files.decode(content)
            checks = [check for one in parts(whole) for check in one.checks]
            by_parts = [(check.earned, check.points) for check in checks]
            return by_parts, (whole.score.earned, whole.score.possible)
        case "github":
            result = runner_result(report)
            assert table(result) == pytest.approx(notice(result), abs=1e-9)
            return [], (notice(result), result["max_score"])
        case "classroom50":
            read = json.loads(content)
            by_parts = [(test["score"], test["max-score"]) for test in read["tests"]]
            return by_parts, (read["score"], read["max-score"])
        case "gradescope":
            read = json.loads(content)
            by_parts = [(test["score"], test["max_score"]) for test in read["tests"]]
            return by_parts, (read["score"], read["extra_data"]["possible"])
        case "prairielearn":
            read = json.loads(content)
            by_parts = [(test["points"], test["max_points"]) for test in read["tests"]]
            possible = sum(possible for _, possible in by_parts)
            return by_parts, (round(read["score"] * possible, 9), possible)
        case "pytest-json-report":
            read = json.loads(content)
            by_parts = [(t["grader"]["earned"], t["grader"]["points"]) for t in read["tests"]]
            return by_parts, (read["grader"]["earned"], read["grader"]["possible"])
        case "csv":
            rows = list(csv.DictReader(io.StringIO(content.decode())))
            return [(int(row["earned"]), int(row["points"])) for row in rows], None
        case "junit":
            cases = [_properties(case) for case in Xml.fromstring(content).iter("testcase")]
            suites = [_properties(suite) for suite in Xml.fromstring(content).iter("testsuite")]
            return cases, tuple(map(sum, zip(*suites, strict=True)))
        case "markdown" | "github-summary":
            said = re.search(rb"^# .*: (?:(\d+) of (\d+) points?|no score)$", content, re.M)
            return [], said[1] and (int(said[1]), int(said[2]))


def _properties(element):
    found = {item.get("name"): item.get("value") for item in element.find("properties")}
    return int(found["earned"]), int(found["possible"])


def test_these_formats_are_there():
    assert set(NAMES) <= set(formats.names())
    for name in NAMES:
        assert formats.find(name).name == name
        assert "\n" not in formats.find(name).help


@every_report
@pytest.mark.parametrize("name", [name for name in NAMES if name != "github-annotations"])
def test_points_agree_in_every_format(name, report):
    if name == "prairielearn" and getattr(report, "status", "") == "not-gradable":
        assert json.loads(export(name, report))["gradable"] is False
        return
    by_parts, whole = points(name, report)
    score = (report.score.earned, report.score.possible)
    assert whole in (None, score)
    if by_parts:
        # Ours alone has no line for a report without checks.
        missing = [one.score.possible for one in parts(report) if not one.checks]
        expected = score if name != "json" else (score[0], score[1] - sum(missing))
        assert tuple(map(sum, zip(*by_parts, strict=True))) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("classroom50", 4), ("gradescope", 4), ("prairielearn", 0.4)]
)
def test_platforms_are_handed_what_counts_after_a_penalty(name, expected):
    lateness = Lateness(
        due="2026-01-01T00:00:00+00:00",
        handed_in="2026-01-02T00:00:00+00:00",
        source="git",
        days=1,
        penalty=1,
        earned=4,
    )
    late = samples.report([samples.check("a", points=10, earned=5)], lateness=lateness)
    assert json.loads(export(name, late))["score"] == expected


def test_what_could_not_be_graded_is_no_0_to_people_and_says_so_to_platforms():
    report = samples.not_gradable()
    for name in ("markdown", "html", "github-summary"):
        assert b"no score" in export(name, report)
        assert b"0 of 40" not in export(name, report)
    platforms = {
        "classroom50": json.loads(export("classroom50", report))["tests"][0]["message"],
        "gradescope": json.loads(export("gradescope", report))["output"],
        "prairielearn": json.loads(export("prairielearn", report))["format_errors"][0],
        "github": runner_result(report)["tests"][0]["message"],
    }
    for name, said in platforms.items():
        assert "Two files could be meant" in said, name


@every_report
@pytest.mark.parametrize(
    "name", ["classroom50", "gradescope", "prairielearn", "pytest-json-report"]
)
def test_json_is_as_the_platform_documents_it(name, report):
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.validate(json.loads(export(name, report)), schema)


@every_report
def test_every_runner_result_is_as_the_reporter_reads_it(report):
    schema = json.loads((SCHEMAS / "github.json").read_text())
    results = {name: value for name, value in outputs(report).items() if "result" in name}
    assert len(results) == 1 + len({one.assignment.id for one in parts(report)})
    for value in results.values():
        assert len(value) < 128 * 1024, "Linux would not start the reporter"
        jsonschema.validate(json.loads(base64.b64decode(value)), schema)


@pytest.mark.parametrize("earned", range(0, 62))
def test_the_reporters_two_figures_agree_on_any_partial_credit(earned):
    check = samples.check("partial", Status.FAILED, points=61, earned=earned)
    result = runner_result(samples.report([check, samples.check("more", points=4)]))
    assert notice(result) == earned + 4
    assert table(result) == pytest.approx(earned + 4, abs=1e-9)


def test_points_that_share_a_divisor_need_fewer_tests():
    checks = [
        samples.check("half", Status.FAILED, points=1000, earned=500),
        samples.check("all", points=2000),
    ]
    result = runner_result(samples.report(checks))
    assert len(result["tests"]) == 6
    assert notice(result) == table(result) == 2500


def test_what_is_too_large_for_the_reporter_is_said():
    check = samples.check("huge", Status.FAILED, points=99_991, earned=1)
    with pytest.raises(formats.FormatError, match="fewer assignments"):
        export("github", samples.report([check]))


def test_a_course_of_many_points_still_fits():
    checks = [samples.check(f"check-{i}", title="A" * 80, points=3) for i in range(300)]
    value = outputs(samples.report(checks))["result"]
    assert len(value) < 128 * 1024
    assert notice(json.loads(base64.b64decode(value))) == 900


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (Status.PASSED, "pass"),
        (Status.FAILED, "fail"),
        (Status.CRASHED, "error"),
        (Status.TIMEOUT, "error"),
        (Status.ERROR, "error"),
        (Status.NOT_STARTED, "fail"),
    ],
)
def test_statuses_of_the_reporter(status, expected):
    result = runner_result(samples.report([samples.check("one", status)]))
    assert result["tests"][0]["status"] == expected


REPORTER = os.environ.get("AUTOGRADING_REPORTER")


@pytest.mark.skipif(
    not REPORTER or shutil.which("node") is None,
    reason="needs Node, and AUTOGRADING_REPORTER=dist/main.js of the branch releases/v1 of "
    "classroom-resources/autograding-grading-reporter",
)
@every_report
def test_the_real_reporter_shows_our_points(report):
    done = subprocess.run(
        ["node", REPORTER],
        env={
            "PATH": os.environ["PATH"],
            "INPUT_RUNNERS": "grade",
            "GRADE_RESULTS": outputs(report)["result"],
        },
        capture_output=True,
        encoding="utf-8",
    )
    score = report.score
    full = score.earned == score.possible
    assert done.returncode == (0 if full else 1), done.stderr
    assert f"::Points {score.earned}/{score.possible}\n" in done.stdout
    assert re.search(rf"│ grade +│ {score.earned} +│ {score.possible} +│", done.stdout)
    commands = [line for line in done.stdout.splitlines() if line.lstrip().startswith("::")]
    assert len(commands) == (2 if full else 3)


ANSI = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]")


@pytest.mark.parametrize("name", NAMES)
def test_what_a_student_wrote_stays_text(name):
    content = export(name, HOSTILE)
    assert not ANSI.search(content)
    assert "\u202e" not in content.decode()
    for line in content.decode().splitlines():
        assert "##[" not in line
        if name == "github-annotations":
            assert re.match(r"::error title=[^:]*::", line)
        else:
            assert not line.lstrip().startswith("::")


@pytest.mark.parametrize("name", ["markdown", "github-summary"])
def test_nothing_in_markdown_is_markup_of_a_students(name):
    text = export(name, HOSTILE).decode()
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "[link" not in outside
    assert "://" not in outside
    assert not re.search(r"<(?!/?details)", outside)


def test_a_fence_cannot_be_closed_from_inside():
    location = Location(file="a.py", line=1, text="```\n# forged\n````")
    check = samples.check("one", Status.FAILED, location=location)
    text = export("markdown", samples.report([check])).decode()
    assert "`````text\n```\n# forged\n````\n`````" in text


def test_annotations_name_the_line_of_the_students_file():
    lines = export("github-annotations", samples.softmax_over_queries()).decode().splitlines()
    assert any("file=assignments/attention/attention.py,line=12" in line for line in lines)
    assert any("Each column of your weights sums to 1" in line for line in lines)


def test_annotations_escape_what_ends_a_property():
    location = Location(file="a,b:c%.py", line=3)
    check = samples.check(
        "one", Status.FAILED, title="x,line=9::y", message="100 %\nof it", location=location
    )
    (line,) = export("github-annotations", samples.report([check])).decode().splitlines()
    assert "file=assignments/attention/a%2Cb%3Ac%25.py," in line
    assert "title=x%2Cline=9%3A%3Ay," in line
    assert line.endswith("::100 %25%0Aof it")


@pytest.mark.parametrize(
    "name", sorted({*NAMES} - {"json", "junit", "csv", "markdown", "pytest-json-report"})
)
def test_platforms_that_students_see_get_what_students_may_see(name):
    content = export(name, samples.softmax_over_queries())
    if name == "github":
        content = base64.b64decode(outputs(samples.softmax_over_queries())["result"])
    assert b"secret of a hidden input" not in content
    assert b"largest difference" not in content


def test_no_cell_of_the_table_is_a_formula():
    check = samples.check("one", Status.FAILED, title="=1+1", message="@SUM(A1)")
    (row,) = csv.DictReader(io.StringIO(export("csv", samples.report([check])).decode()))
    assert row["title"] == "'=1+1"
    assert row["message"] == "'@SUM(A1)"


def test_junit_counts_what_it_holds():
    root = Xml.fromstring(export("junit", samples.every_status()))
    for tag, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert len(list(root.iter(tag))) == int(root.get(attribute))
    assert len(list(root.iter("testcase"))) == int(root.get("tests")) == len(Status)


def test_prairielearn_output_keeps_below_its_limit():
    long = 3_500 * f"{60 * 'x'}\n"
    report = samples.report([samples.check("one", Status.FAILED, message="a")], message=long)
    assert len(json.loads(export("prairielearn", report))["output"]) == 200_000


def test_a_summary_that_is_too_long_for_github_is_cut():
    checks = [
        samples.check(str(i), Status.FAILED, message=f"{i} " + "y" * 2000) for i in range(800)
    ]
    content = export("github-summary", samples.report(checks))
    assert 500_000 < len(content) <= 1024 * 1024
    assert content.startswith(b"# Scaled")


def test_classroom50_says_whose_submission_its_runner_says_it_is(monkeypatch):
    monkeypatch.setenv("CLASSROOM", "attention-2026")
    monkeypatch.setenv("ASSIGNMENT", "week-1")
    monkeypatch.setenv("SUBMISSION_TAG", "submit/2026-11-29T10-00-00Z-abcdef0")
    monkeypatch.setenv("COMMIT_URL", "https://example.org/commit/1")
    read = json.loads(export("classroom50", samples.full_marks()))
    assert read["classroom"] == "attention-2026"
    assert read["assignment"] == "week-1"
    assert read["submission"] == "submit/2026-11-29T10-00-00Z-abcdef0"
    assert read["review"] == read["commit"] == "https://example.org/commit/1"
    assert read["datetime"] == "2026-01-02T03:04:05Z"


@pytest.fixture
def other_package(tmp_path, monkeypatch):
    """Installs a package of somebody else's that registers formats."""

    def install(points: dict[str, str], source: str) -> None:
        (tmp_path / "other_formats.py").write_text(source)
        info = tmp_path / "other_formats-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-formats\nVersion: 1.0\n")
        lines = "".join(f"{name} = {value}\n" for name, value in points.items())
        (info / "entry_points.txt").write_text(f"[{formats.GROUP}]\n{lines}")
        monkeypatch.syspath_prepend(tmp_path)

    return install


THIRD_PARTY = """
from grader.report.formats import Format

LINES = Format(name="lines", help="One line.", export=lambda report: b"%d" % report.score.earned)
RAISES = Format(name="raises", help="Raises.", export=lambda report: 1 / 0)
TEXT = Format(name="text", help="Gives text.", export=lambda report: "text")
NONE = None
"""


def test_another_package_adds_a_format(other_package):
    other_package({"lines": "other_formats:LINES"}, THIRD_PARTY)
    assert "lines" in formats.names()
    assert export("lines", samples.full_marks()) == b"7"


@pytest.mark.parametrize(
    ("name", "place", "said"),
    [
        ("raises", "other_formats:RAISES", "'raises' failed: ZeroDivisionError"),
        ("text", "other_formats:TEXT", "'text' failed: its export gave str, not bytes"),
        ("none", "other_formats:NONE", "other_formats:NONE is not a"),
        ("renamed", "other_formats:LINES", "of that name"),
        ("missing", "other_formats:MISSING", "cannot be loaded from other_formats:MISSING"),
        ("nowhere", "no_such_module:X", "cannot be loaded from no_such_module:X"),
        ("junit", "other_formats:LINES", "more than once"),
    ],
)
def test_a_format_that_does_not_work_is_named(other_package, name, place, said):
    other_package({name: place}, THIRD_PARTY)
    with pytest.raises(formats.BrokenFormat, match=re.escape(said)):
        export(name, samples.full_marks())


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(formats.UnknownFormat, match="did you mean 'gradescope'"):
        formats.find("gradscope")
    with pytest.raises(formats.UnknownFormat, match="there are classroom50, csv"):
        formats.find("xyz")


def test_a_format_is_data():
    assert isinstance(formats.find("json"), Format)


@pytest.mark.parametrize("imports", [["scale"], ["scale", "shift"]], ids=len)
@pytest.mark.parametrize("name", [name for name in [*NAMES, "html"] if name != "json"])
def test_open_points_of_imported_files_are_said_with_the_message_and_the_notes(name, imports):
    said = {1: "scale.py, which has", 2: "scale.py and shift.py, which have"}[len(imports)]
    said = f"Uses your {said} open points."
    checks = [samples.check("a", Status.FAILED, message="Wrong."), samples.check("b")]
    data, words = (
        samples.report([msgspec.structs.replace(checks[0], **failed), checks[1]], **whole)
        for failed, whole in (
            ({"open_imports": imports}, {"open_imports": imports}),
            ({"message": f"Wrong. {said}"}, {"notes": [f"{said} Fix that first."]}),
        )
    )

    assert export(name, data) == export(name, words)
