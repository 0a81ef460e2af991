"""`grade export` and `grade run --format`: reports where other systems read them."""

from __future__ import annotations

import csv
import io
import json
from xml.etree import ElementTree as Xml

import pytest
from click.testing import CliRunner

from grader.cli.main import run
from grader.report import files

from ..report import samples


@pytest.fixture
def saved(tmp_path):
    def save(report, name="report.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        files.write_atomically(path, files.encode(report))
        return str(path)

    return save


@pytest.fixture
def grade(capfdbinary):
    """Runs a command: exit code, stdout, stderr."""

    def invoke(*words):
        code = run([str(word) for word in words])
        shown = capfdbinary.readouterr()
        return code, shown.out.decode(), shown.err.decode()

    return invoke


def test_a_format_goes_to_stdout(grade, saved):
    code, out, _ = grade("export", saved(samples.full_marks()), "--format", "markdown")
    assert (code, out.startswith("# Scaled dot&#45;product attention: 7 of 7 points")) == (0, True)


def test_several_formats_go_where_they_are_told(grade, saved, tmp_path):
    places = [tmp_path / "results.json", tmp_path / "tests.xml"]
    words = ["--format", f"gradescope={places[0]}", "--format", f"junit={places[1]}"]
    assert grade("export", saved(samples.full_marks()), *words)[0] == 0
    assert json.loads(places[0].read_bytes())["score"] == 7
    assert Xml.parse(places[1]).getroot().get("tests") == "3"


def test_what_is_written_is_said_and_what_was_there(grade, saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["export", saved(samples.full_marks()), "--format", "junit"]
    assert grade(*words)[1:] == ("", "Wrote junit.xml\n")
    assert grade(*words)[1:] == ("", "Wrote junit.xml, replacing what was there\n")


def test_a_format_has_a_place_of_its_own(grade, saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert grade("export", saved(samples.full_marks()), "--format", "junit")[0] == 0
    assert (tmp_path / "junit.xml").exists()


def test_several_reports_become_one_document(grade, saved):
    paths = [saved(samples.full_marks(), "a.json"), saved(samples.course(), "b.json")]
    code, out, _ = grade("export", *paths, "--format", "csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert sum(int(row["points"]) for row in rows) == 7 + 69


def test_or_a_document_each(grade, saved, tmp_path):
    paths = [saved(samples.full_marks(), "a.json"), saved(samples.not_started(), "b.json")]
    assert grade("export", *paths, "--format", f"csv={tmp_path}/{{report}}.csv")[0] == 0
    assert (tmp_path / "a.csv").read_bytes() != (tmp_path / "b.csv").read_bytes()


def test_two_reports_of_one_name_are_not_written_over_each_other(grade, saved, tmp_path):
    paths = [saved(samples.full_marks(), "x/a.json"), saved(samples.not_started(), "y/a.json")]
    code, _, err = grade("export", *paths, "--format", f"csv={tmp_path}/{{report}}.csv")
    assert (code, "another REPORT has the same name, a" in err) == (2, True)
    assert not (tmp_path / "a.csv").exists()


def test_github_gets_all_three(grade, saved, tmp_path, monkeypatch):
    output, summary = tmp_path / "output", tmp_path / "summary"
    output.write_text("before=1\n")
    monkeypatch.setenv("GITHUB_OUTPUT", str(output))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    code, out, _ = grade("export", saved(samples.softmax_over_queries()), "--format", "github")
    assert code == 0
    names = [line.partition("=")[0] for line in output.read_text().splitlines()]
    assert names == ["before", "earned", "possible", "result", "result_attention"]
    assert summary.read_text().startswith("# Scaled")
    assert out.startswith("::error ")


def test_annotations_do_not_get_into_what_is_on_stdout(grade, saved):
    words = ["--format", "json", "--format", "github-annotations"]
    code, out, err = grade("export", saved(samples.softmax_over_queries()), *words)
    assert code == 0
    assert files.decode(out.encode())
    assert "::error " in err


def test_github_elsewhere_is_explained(grade, saved, monkeypatch):
    monkeypatch.delenv("GITHUB_OUTPUT", raising=False)
    path = saved(samples.full_marks())
    code, _, err = grade("export", path, "--format", "github")
    assert code == 2
    assert "$GITHUB_OUTPUT names, which is not set here" in err
    assert "--format github=FILE" in err
    code, out, _ = grade("export", path, "--format", "github=-")
    assert (code, "result=" in out) == (0, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--format", "junitt"], "no format 'junitt'; did you mean 'junit'?"),
        (["--format", "junit="], "expected a file after the ="),
        (["--format", "junit=missing/x.xml"], "missing does not exist"),
        (["--format", "csv", "--format", "markdown"], "csv and markdown would both be written to"),
        (["--format", "csv=a", "--format", "junit=./a"], "csv and junit would both be written to"),
        ([], "--format"),
    ],
)
def test_wrong_usage_is_explained_and_nothing_is_written(grade, saved, tmp_path, words, said):
    path = saved(samples.full_marks())
    before = sorted(tmp_path.iterdir())
    code, out, err = grade("export", path, *words)
    assert (code, out) == (2, "")
    assert said in err
    assert sorted(tmp_path.iterdir()) == before


def test_a_report_that_cannot_be_read_keeps_all_from_being_written(grade, saved, tmp_path):
    place = tmp_path / "all.csv"
    code, _, err = grade(
        "export", saved(samples.full_marks()), tmp_path / "no.json", "--format", f"csv={place}"
    )
    assert (code, "no.json" in err, place.exists()) == (2, True, False)


def test_a_format_that_breaks_does_not_keep_the_others(grade, saved, tmp_path, monkeypatch):
    (tmp_path / "other.py").write_text(
        "from grader.report.formats import Format\n"
        "BAD = Format(name='bad', help='Bad.', export=lambda report: 1 / 0)\n"
    )
    info = tmp_path / "other-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[attention_grader.formats]\nbad = other:BAD\n")
    monkeypatch.syspath_prepend(tmp_path)
    place = tmp_path / "all.csv"
    words = ["--format", f"bad={tmp_path / 'bad'}", "--format", f"csv={place}"]
    code, _, err = grade("export", saved(samples.full_marks()), *words)
    assert code == 3
    assert "the format 'bad' failed: ZeroDivisionError" in err
    assert place.exists()
    assert not (tmp_path / "bad").exists()


def test_whom_it_is_for(grade, saved):
    path = saved(samples.softmax_over_queries())
    assert "secret" in grade("export", path, "--format", "json")[1]
    assert "secret" not in grade("export", path, "--format", "json", "--show", "student")[1]


def test_the_formats_are_listed(grade):
    code, out, _ = grade("export", "--list")
    assert code == 0
    assert "junit (to junit.xml): JUnit XML" in out
    assert "github (to $GITHUB_OUTPUT)" in out


def test_run_writes_formats_beside_what_it_prints(grade, tmp_path, monkeypatch):
    from ..toy import make_course

    course = make_course(tmp_path / "course")
    (course / "assignments/scale/scale.py").write_text("def scale(x):\n    return x * 2 + 1\n")
    output, summary = tmp_path / "output", tmp_path / "summary"
    monkeypatch.setenv("GITHUB_OUTPUT", str(output))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("CI", "")
    report, table = tmp_path / "report.json", tmp_path / "table.csv"
    words = ["--output", report, "--format", f"csv={table}", "--format", "github"]
    code, out, err = grade("run", "scale", "--course", course, *words)
    assert code == 0, err
    score = files.decode(report.read_bytes()).score
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert sum(int(row["earned"]) for row in rows) == score.earned
    assert f"possible={score.possible}\n" in output.read_text()
    assert f"{score.earned} of {score.possible} points" in summary.read_text()
    assert out.startswith("Scale and shift: ")
    assert "\n::error " in out


def test_run_refuses_a_format_before_it_grades(grade):
    code, out, err = grade("run", "attention", "--format", "nothing")
    assert (code, out) == (2, "")
    assert "no format 'nothing'" in err


def test_help_says_where_to_look():
    from grader.cli.main import grade as command

    assert "grade export --list" in CliRunner().invoke(command, ["run", "--help"]).output
