"""The autograder's zip, in a folder laid out as Gradescope lays it out."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest

from grader.integrations.gradescope import Metadata, failure

from .conftest import CANARY, RIGHT, WRONG, release, run_script, unpack
from .runner import WITHOUT_DOWNLOADS, installed_python

SCHEMA = json.loads(
    Path(__file__).parents[1].joinpath("report/schemas/gradescope.json").read_text()
)
METADATA = {
    "id": 123456,
    "created_at": "2026-07-31T23:30:00.000000-07:00",
    "assignment": {
        "due_date": "2026-07-31T21:00:00.000000-07:00",
        "late_due_date": None,
        "title": "Scale",
        "total_points": "3.0",
    },
    "users": [{"email": "student@example.com", "id": 1, "name": "A Student"}],
    "previous_submissions": [
        {"submission_time": "2026-07-30T10:00:00.000000-07:00", "score": 0.0, "results": {}},
        {"submission_time": "2026-07-31T10:00:00.000000-07:00", "score": "2.0", "results": {}},
    ],
}


@pytest.fixture(scope="module")
def autograder(released, tmp_path_factory):
    """Gradescope's folder, to be filled with a submission and run."""
    root = tmp_path_factory.mktemp("gradescope") / "autograder"
    unpack(released["gradescope.zip"], root / "source")
    shutil.copy2(root / "source/run_autograder", root)
    (root / "results").mkdir()

    class Autograder:
        folder = root

        def __call__(self, files, metadata=METADATA, **environment):
            shutil.rmtree(root / "submission", ignore_errors=True)
            if files is not None:
                (root / "submission").mkdir()
                for name, text in files.items():
                    (root / "submission" / name).write_text(text)
            written = metadata if isinstance(metadata, str) else json.dumps(metadata)
            (root / "submission_metadata.json").write_text(written)
            self.done = run_script(
                root / "run_autograder", AUTOGRADER_ROOT=str(root), **environment
            )
            results = json.loads((root / "results/results.json").read_text())
            assert CANARY not in json.dumps(results)
            return results

    return Autograder()


def test_setup_installs_what_the_zip_brings_along(released, tmp_path):
    """``setup.sh`` itself, with nothing taken out of it but what apt and pip would download."""
    root, bin = tmp_path / "autograder", tmp_path / "bin"
    unpack(released["gradescope.zip"], root / "source")
    (bin / "python3").symlink_to(installed_python(bin))
    (bin / "apt-get").write_text("#!/bin/sh\n")
    (bin / "apt-get").chmod(0o755)
    done = run_script(
        root / "source/setup.sh",
        AUTOGRADER_ROOT=str(root),
        PATH=f"{bin}:/usr/bin:/bin",
        **WITHOUT_DOWNLOADS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    program = "import grader, importlib.metadata as m; print(grader.__file__, m.version('torch'))"
    place, torch = subprocess.check_output(
        [root / "venv/bin/python", "-I", "-c", program], encoding="utf-8", cwd="/"
    ).split()
    assert Path(place).is_relative_to(root / "venv")
    pinned = (root / "source/constraints.txt").read_text().splitlines()
    assert f"torch=={torch.partition('+')[0]}" in pinned
    assert {line.partition("==")[0] for line in pinned} >= {"numpy", "pytest", "msgspec"}


def test_an_index_for_torch_is_named_where_it_is_asked_for(course, released, tmp_path):
    index, place = "https://wheels.example/cpu; touch gone", tmp_path / "autograder.zip"
    done = release(course, "--gradescope", place, "--torch-index", index)
    assert done.exit_code == 0, done.stderr
    export = f"export PIP_EXTRA_INDEX_URL='{index}'\n"
    assert export in (unpack(place, tmp_path / "named") / "setup.sh").read_text()
    unnamed = unpack(released["gradescope.zip"], tmp_path / "unnamed") / "setup.sh"
    assert "PIP_EXTRA_INDEX_URL" not in unnamed.read_text()
    done = release(course, tmp_path / "student", "--torch-index", index)
    assert done.exit_code == 2
    assert "--gradescope" in done.stderr


def test_a_right_answer(autograder):
    results = autograder({"scale.py": RIGHT})
    jsonschema.validate(results, SCHEMA)
    assert results["score"] == results["extra_data"]["possible"] == 6
    assert all(test["status"] == "passed" for test in results["tests"])
    assert results["output"].startswith(
        "Handed in 2 hours 30 minutes after the due date.\n"
        "Attempt 3; the best so far earned 2 points.\n\nScale and shift: 6 of 6 points\n"
    )
    assert results["extra_data"]["late_s"] == 9000


def test_a_wrong_answer(autograder):
    results = autograder({"scale.py": WRONG}, metadata={"created_at": "2026-07-31T23:30:00Z"})
    jsonschema.validate(results, SCHEMA)
    assert results["score"] < 6
    assert sum(test["score"] for test in results["tests"]) == results["score"]
    assert "Your result is doubled where it has to be tripled." in results["output"]
    assert results["extra_data"]["attempt"] == 1


def test_a_missing_submission(autograder):
    results = autograder(None)
    jsonschema.validate(results, SCHEMA)
    assert results["score"] == 0
    assert results["output"]


HOSTILE = """
import json, os, pathlib
for place in ("results.json", "{root}/results/results.json", "{root}/submission/results.json"):
    try:
        pathlib.Path(place).write_text(json.dumps({{"score": 100}}))
    except OSError:
        pass
found = ""
try:
    found = pathlib.Path("{root}/source/course/tests/hidden/test_scale.py").read_text()
except OSError:
    pass
print("::notice title=Autograding complete::Points 100/100", found)
def scale(x):
    os._exit(0)
"""


def test_a_hostile_submission(autograder):
    source = HOSTILE.format(root=autograder.folder)
    files = {
        "scale.py": source,
        "grader.py": "raise SystemExit",
        "results.json": '{"score": 100}',
        "sitecustomize.py": "raise SystemExit",
    }
    results = autograder(files)
    jsonschema.validate(results, SCHEMA)
    assert results["score"] == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"assignment": 3, "previous_submissions": [null, {"score": "x"}], "created_at": 5}',
    ],
)
def test_metadata_that_cannot_be_read_says_nothing(tmp_path, text):
    path = tmp_path / "submission_metadata.json"
    assert list(Metadata(path).remarks()) == []
    path.write_text(text)
    assert list(Metadata(path).remarks()) == []


@pytest.fixture
def broken(autograder):
    """The autograder with a suite that cannot be loaded."""
    suite = autograder.folder / "source/course/tests/hidden/test_scale.py"
    before = suite.read_bytes()
    suite.write_text("import no_such_module\n")
    yield autograder
    suite.write_bytes(before)


def test_a_crash_of_the_grader_keeps_the_best_score_so_far(broken):
    results = broken({"scale.py": RIGHT})
    jsonschema.validate(results, SCHEMA)
    assert results["score"] == 2
    assert results["extra_data"] == {"grader_failed": True}
    assert "tell your instructor" in results["output"]
    assert "no_such_module" in broken.done.stderr


def test_results_are_there_even_without_python(autograder):
    results = autograder({"scale.py": RIGHT}, GRADE_PYTHON="/no/such/python")
    assert results["extra_data"] == {"grader_failed": True}


def test_a_failure_of_the_grader_is_no_zero(tmp_path):
    results = failure(Metadata(tmp_path / "missing"))
    assert "score" not in results
    with pytest.raises(jsonschema.ValidationError):
        # Gradescope, too, takes it for what it is: an autograder that failed.
        jsonschema.validate(results, SCHEMA)
