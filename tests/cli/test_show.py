"""`grade show` and `grade schema`, on files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.main import grade
from grader.report import files
from grader.report.schema import json_schema

from ..report import samples

ROOT = Path(__file__).parents[2]


@pytest.fixture
def saved(tmp_path):
    """Saves a report and gives its path."""

    def save(report, name="report.json"):
        path = tmp_path / name
        files.write_atomically(path, files.encode(report))
        return str(path)

    return save


def invoke(*arguments, **options):
    return CliRunner().invoke(grade, ["show", *arguments], **options)


def test_a_report_is_shown(saved):
    result = invoke(saved(samples.softmax_over_queries()))
    assert result.exit_code == 0
    assert result.stdout.startswith("Scaled dot-product attention: 5 of 18 points\n")
    assert "Also explained by this:" in result.stdout


def test_a_course_is_shown(saved):
    assert "Attention: 12 of 69 points" in invoke(saved(samples.course())).stdout


def test_several_are_shown_one_after_another(saved):
    paths = [saved(samples.full_marks(), "a.json"), saved(samples.not_started(), "b.json")]
    result = invoke(*paths)
    assert result.stdout.index("7 of 7 points") < result.stdout.index("not started")


def test_standard_input():
    result = invoke("-", input=files.encode(samples.full_marks()))
    assert "7 of 7 points" in result.stdout


@pytest.mark.parametrize(
    ("options", "secret"),
    [([], True), (["--show", "student"], False), (["--show", "instructor"], True)],
)
def test_whom_it_is_shown_to(saved, options, secret):
    path = saved(samples.softmax_over_queries())
    for extra in ([], ["--json"]):
        assert ("secret of a hidden input" in invoke(path, *options, *extra).stdout) == secret


def test_what_a_students_report_lacks_cannot_be_shown(saved):
    path = saved(samples.softmax_over_queries().for_student())
    result = invoke(path, "--show", "instructor")
    assert result.exit_code == 0
    assert "secret" not in result.stdout


def test_json_is_the_file(saved):
    path = saved(samples.softmax_over_queries())
    assert invoke(path, "--json").stdout_bytes == Path(path).read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("missing.json", None, "missing.json: No such file or directory"),
        ("empty.json", b"", "empty.json: not JSON: the file is empty"),
        ("text.json", b"hello", "text.json: not JSON"),
        ("other.json", b'{"score": 3}', "other.json: not a report"),
        ("new.json", b'{"type": "report", "schema_version": 9}', "schema version 9"),
        (".", None, "Is a directory"),
    ],
)
def test_a_bad_file_is_explained_and_the_others_are_shown(saved, tmp_path, name, content, said):
    bad = tmp_path / name
    if content is not None:
        bad.write_bytes(content)
    result = invoke(str(bad), saved(samples.full_marks()))
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert "7 of 7 points" in result.stdout


def test_no_file_is_wrong_usage():
    result = invoke()
    assert result.exit_code == 2
    assert "REPORT" in result.stderr


def shown_by_a_process(*arguments: str, **environment: str) -> bytes:
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    done = subprocess.run(
        [sys.executable, "-m", "grader.cli", "show", *arguments],
        capture_output=True,
        env={**kept, "PYTHONPATH": str(ROOT), **environment},
    )
    assert done.stderr == b""
    assert done.returncode == 0
    return done.stdout


def test_a_pipe_gets_plain_text_of_80_columns(saved):
    shown = shown_by_a_process(saved(samples.softmax_over_queries()), COLUMNS="300").decode()
    assert "\x1b" not in shown
    assert 60 < max(map(len, shown.splitlines())) <= 80


def test_colour_can_be_asked_for_and_refused(saved):
    path = saved(samples.softmax_over_queries())
    assert b"\x1b[" in shown_by_a_process(path, FORCE_COLOR="1", TERM="xterm-256color")
    refused = shown_by_a_process(path, FORCE_COLOR="1", NO_COLOR="1", TERM="xterm-256color")
    assert b"31m" not in refused


def test_hostile_text_is_harmless_in_a_log(saved):
    shown = shown_by_a_process(saved(samples.hostile()), CI="true")
    assert not set(shown) & (set(range(32)) - {10})
    for line in shown.decode().split("\n"):
        assert not line.strip().startswith("::")
        assert "##[" not in line


def test_hostile_names_of_files_are_harmless_too(tmp_path):
    result = invoke(str(tmp_path / "\x1b[2J\n::error::x"))
    assert "\x1b" not in result.stderr
    assert not any(line.startswith("::") for line in result.stderr.splitlines())


def test_schema_prints_the_schema():
    result = CliRunner().invoke(grade, ["schema"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json_schema()
