"""``grade new``: what it makes works, and nothing that exists is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from grader.cli.main import grade
from grader.course.loading import load_course

PLACES = {
    "assignments/running_mean/README.md",
    "assignments/running_mean/assignment.toml",
    "assignments/running_mean/running_mean.py",
    "assignments/running_mean/test_public.py",
    "solutions/running_mean/accepted/loop.py",
    "solutions/running_mean/equivalent.toml",
    "solutions/running_mean/faults.toml",
    "solutions/running_mean/running_mean.py",
    "tests/hidden/test_running_mean.py",
}


def invoke(*words: str) -> Result:
    return CliRunner().invoke(grade, words)


def files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def existing_course(root: Path) -> Path:
    (root / "assignments").mkdir(parents=True)
    (root / "assignments" / "course.toml").write_text('title = "Mine"\n')
    return root


def test_a_new_assignment_audits_clean(tmp_path: Path) -> None:
    course = tmp_path / "Ein Kurs für zwei"
    made = invoke("new", "running-mean", "--course", str(course))
    assert made.exit_code == 0, made.output

    audited = invoke("audit", "running-mean", "--course", str(course), "--seeds", "2")

    assert audited.exit_code == 0, audited.output
    assert "nothing falls short" in audited.output
    assert "stub       0 points" in audited.output


def test_the_stub_counts_as_not_started_and_the_reference_as_right(tmp_path: Path) -> None:
    invoke("new", "running_mean", "--course", str(tmp_path))
    options = ("--course", str(tmp_path), "--fail-under", "100")

    stub = invoke("run", "running_mean", *options)
    reference = tmp_path / "solutions/running_mean/running_mean.py"
    right = invoke("run", str(reference), "--assignment", "running_mean", *options)

    assert stub.exit_code == 1
    assert "not started" in stub.output
    assert right.exit_code == 0, right.output


def test_it_makes_the_course_where_there_is_none_and_says_what_to_do(tmp_path: Path) -> None:
    course = tmp_path / "two words"
    result = invoke("new", "running_mean", "--course", str(course))

    assert set(files(course)) == PLACES | {"assignments/course.toml"}
    assert list(load_course(course).assignments) == ["running_mean"]
    assert f"grade audit running_mean --course '{course}'" in result.output
    assert all(str(course / place) in result.output for place in PLACES)


def test_an_existing_course_is_found_and_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = existing_course(tmp_path) / "assignments" / "course.toml"
    monkeypatch.chdir(tmp_path / "assignments")

    result = invoke("new", "running_mean")

    assert result.exit_code == 0, result.output
    assert described.read_text() == 'title = "Mine"\n'
    assert set(files(tmp_path)) == PLACES | {"assignments/course.toml"}
    assert "--course" not in result.output


def test_without_a_course_it_says_how_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("new", "running_mean")
    assert result.exit_code == 2
    assert "--course . creates one here" in result.output
    assert files(tmp_path) == {}


@pytest.mark.parametrize(
    "taken",
    [
        "assignments/running_mean/notes.txt",
        "solutions/running_mean/running_mean.py",
        "tests/hidden/test_running_mean.py",
        "assignments/Running_Mean/README.md",
    ],
)
def test_what_exists_is_never_written_over(tmp_path: Path, taken: str) -> None:
    place = existing_course(tmp_path) / taken
    place.parent.mkdir(parents=True)
    place.write_text("mine")
    before = files(tmp_path)

    result = invoke("new", "running_mean", "--course", str(tmp_path))

    assert result.exit_code == 2
    assert "already exists" in result.output
    assert files(tmp_path) == before


def test_a_link_that_leads_nowhere_is_something_that_exists(tmp_path: Path) -> None:
    (existing_course(tmp_path) / "solutions").mkdir()
    (tmp_path / "solutions" / "running_mean").symlink_to(tmp_path / "elsewhere")
    result = invoke("new", "running_mean", "--course", str(tmp_path))
    assert result.exit_code == 2
    assert "already exists" in result.output
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    "id",
    [
        "",
        ".",
        "..",
        "a/b",
        "../a",
        "a b",
        "2d",
        "-x-",
        "class",
        "fenêtre",
        "a.py",
        "a\n",
        "\x1b[1m",
    ],
)
def test_what_cannot_be_an_id_is_refused(tmp_path: Path, id: str) -> None:
    result = invoke("new", "--course", str(tmp_path), "--", id)
    assert result.exit_code == 2
    assert "such as sliding_window" in result.output
    assert "\x1b" not in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("id", ["torch", "math", "shared", "pytest"])
def test_a_name_that_is_needed_elsewhere_is_refused(tmp_path: Path, id: str) -> None:
    result = invoke("new", id, "--course", str(tmp_path))
    assert result.exit_code == 2
    assert "choose another" in result.output
    assert list(tmp_path.iterdir()) == []


def test_if_a_file_cannot_be_made_nothing_is_left_behind(tmp_path: Path) -> None:
    (existing_course(tmp_path) / "tests").write_text("a file where a folder has to be")
    before = files(tmp_path)

    result = invoke("new", "running_mean", "--course", str(tmp_path))

    assert result.exit_code == 2
    assert "nothing was written" in result.output
    assert files(tmp_path) == before
    assert sorted(os.listdir(tmp_path)) == ["assignments", "tests"]
