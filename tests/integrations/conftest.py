"""The toy course, with a canary in every private file, and what is released of it."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.main import grade

from ..toy import FILES, make_course

CANARY = "canary-5e1f30aa"
RIGHT = "def scale(x):\n    return x * 3 + 1\n"
WRONG = "def scale(x):\n    return x * 2 + 1\n"


def release(course: Path, *arguments: object):
    """``grade release`` on a course."""
    return CliRunner().invoke(grade, ["release", *map(str, arguments), "--course", str(course)])


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_course(tmp_path_factory.mktemp("course"))
    (root / "assignments/scale/README.md").write_text(
        "# Scale and shift\n\nThree times x, plus 1.\n"
    )
    for name in FILES:
        if not name.startswith("assignments/"):
            with (root / name).open("a") as file:
                file.write(f"\n# {CANARY}\n")
    return root


@pytest.fixture(scope="session")
def released(course: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The student repository and both zips, from one run."""
    folder = tmp_path_factory.mktemp("released")
    places = {name: folder / name for name in ("student", "gradescope.zip", "prairielearn.zip")}
    done = release(
        course,
        places["student"],
        "--gradescope",
        places["gradescope.zip"],
        "--prairielearn",
        places["prairielearn.zip"],
    )
    assert done.exit_code == 0, done.stderr
    return places


def contents(path: Path) -> dict[str, bytes]:
    """Every file of a folder or zip, those inside of zips and wheels too."""
    if path.is_dir():
        files = {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()}
    else:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
    for name, data in list(files.items()):
        if name.endswith((".whl", ".zip")):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                files |= {f"{name}!{inner}": archive.read(inner) for inner in archive.namelist()}
    return files


def unpack(path: Path, to: Path) -> Path:
    """Unpacks as ``unzip`` does: with the modes that the zip says."""
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            archive.extract(entry, to)
            (to / entry.filename).chmod(entry.external_attr >> 16)
    return to


def run_script(script: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a script of a release, with this Python and nothing else of this environment."""
    return subprocess.run(
        [script],
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "GRADE_PYTHON": sys.executable, **environment},
        capture_output=True,
        encoding="utf-8",
    )
