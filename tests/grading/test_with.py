"""What a single file may import of the folder around it: ``grade run FILE --with FOLDER``."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from grader.cli.main import grade as command

from ..toy import make_course

HELPED = "from helper import three\n\n\ndef scale(x):\n    return three() * x + 1\n"
HELPER = "def three():\n    return 3\n"
FILES = {"scale.py": HELPED, "helper.py": HELPER}


@pytest.fixture
def run(warm, tmp_path):
    """Runs ``grade run`` in a folder of files: exit code, points and what it said."""
    course = make_course(tmp_path / "course")

    def run_on(target: str, *options: str, to: str = "class") -> tuple[int, int, str]:
        folder = tmp_path / to
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in FILES.items():
            (folder / name).write_text(text, "utf-8")
        saved = tmp_path / "report.json"
        named = [option.format(folder=folder) for option in options]
        where = ["--course", str(course), "--assignment", "scale", "--output", str(saved)]
        result = CliRunner().invoke(command, ["run", str(folder / target), *where, *named])
        earned = json.loads(saved.read_bytes())["score"]["earned"] if saved.exists() else 0
        return result.exit_code, earned, result.output

    return run_on


def test_a_file_is_graded_alone(run):
    code, earned, said = run("scale.py")
    assert (code, earned) == (0, 0)
    words = " ".join(said.split())
    assert "No module named 'helper'" in words
    assert "helper.py lies beside your file but was not used" in words
    assert "add --with FOLDER" in words


def test_with_its_folder_it_may_import_from_there(run):
    assert run("scale.py", "--with", "{folder}")[:2] == (0, 6)


def test_a_folder_that_is_handed_in_is_one_students(run):
    assert run("")[:2] == (0, 6)


def test_the_assignments_own_folder_is_the_students(run):
    assert run("scale.py", to="course/assignments/scale")[:2] == (0, 6)


@pytest.mark.parametrize(
    ("target", "words"), [("scale.py", "no such folder"), ("", "--with is for a single file")]
)
def test_wrong_use_is_explained(run, target, words):
    folder = "{folder}/nowhere" if target else "{folder}"
    code, _, said = run(target, "--with", folder)
    assert code == 2
    assert words in " ".join(said.split())


@pytest.mark.parametrize("name", ["run", "watch", "explain"])
def test_the_option_is_in_the_help(name):
    said = CliRunner().invoke(command, [name, "--help"]).output
    assert "--with FOLDER" in said
