"""What each live process has imported, held to its contract in ``pyproject.toml``."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from grader.jobs.client import GradingProcess
from grader.jobs.protocol import Job
from grader.processes import launching

ROOT = Path(__file__).parents[1]
FOLDERS = {
    f"grader.{path.stem}"
    for path in (ROOT / "grader").iterdir()
    if (path.is_dir() or path.suffix == ".py") and not path.stem.startswith("__")
}
INHERITED = {
    "grader.forkserver",
    "grader.forkserver.serving",
    "grader.gradingprocess",
    "grader.gradingprocess.forked",
    "grader.processes",
    "grader.processes.huge_pages",
}
"""What forks a worker, and forks what forks it: only this of theirs may be found in one."""
PLACEHOLDER = "grader.notebook"
"""Made in the worker itself for notebooks that import it, and of no code of the grader's."""

NOTE = """
import atexit, contextlib, os, sys

def note(role):
    names = [name for name in list(sys.modules) if name.split(".")[0] in ("grader", "torch")]
    # A worker is closed in, and can write nowhere.
    with contextlib.suppress(OSError), open(f"{FOLDER}/{role}-{os.getpid()}", "a") as file:
        file.write("\\n".join([*names, ""]))

def caller():
    frame = sys._getframe(2)
    return f"{frame.f_globals['__name__']}.{frame.f_code.co_name}"

def leave(status, really=os._exit):
    note(f"leaves {caller()}")
    really(status)

os._exit = leave
os.register_at_fork(before=lambda: note(f"forks {caller()}"))
atexit.register(note, "ends")
import runpy
runpy.run_module(MODULE, run_name="__main__", alter_sys=True)
"""
TELLS = """
import sys

def tell():
    print(*(f"HAS {name}" for name in sys.modules if name.split(".")[0] == "grader"), sep="\\n")

tell()
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked elsewhere")


def program(module: str, folder: Path) -> str:
    return f"FOLDER, MODULE = {str(folder)!r}, {module!r}\n{NOTE}"


def notes(folder: Path) -> dict[str, set[str]]:
    """What was imported, by what a process did when it noted that."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in folder.iterdir():
        found[path.name.rpartition("-")[0]] |= set(path.read_text().split())
    return found


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The modules of each process while two submissions are graded, by its name."""
    folder = tmp_path_factory.mktemp("modules")
    file = tmp_path_factory.mktemp("handed-in") / "attention.py"
    answer = (ROOT / "solutions/attention/attention.py").read_text("utf-8")
    in_a_call = "    scores = query @"
    assert in_a_call in answer
    file.write_text(TELLS + answer.replace(in_a_call, f"    tell()\n{in_a_call}"), "utf-8")
    output = tmp_path_factory.mktemp("reports") / "report.json"
    found = _of_a_warm_process(folder, file)
    found["command line"] = _of_the_command_line(tmp_path_factory.mktemp("cli"), file, output)
    return found


def _of_a_warm_process(folder: Path, file: Path) -> dict[str, set[str]]:
    with pytest.MonkeyPatch.context() as patch:
        start = [sys.executable, "-I", "-X", "utf8", "-c"]
        patch.setattr(launching, "interpreter", lambda module: [*start, program(module, folder)])
        process = GradingProcess()
    job = Job(submission=str(file), course=str(ROOT), assignment="attention", seed=1)
    with process:
        reports = [process.grade(job) for _ in range(3)]
        process._socket.close()  # it ends of its own then, and notes what it has imported
        process._process.wait(60)
    noted = notes(folder)
    said = [report.output.text + c.output.text for report in reports for c in report.checks]
    return {
        "worker": {line[4:] for text in said for line in text.split("\n") if line[:4] == "HAS "}
        | noted["forks grader.forkserver.serving._fork_worker"],
        "fork server": noted["leaves grader.forkserver.serving.start"],
        "grading process": noted["ends"],
        "template": noted["forks grader.gradingprocess.templates._serve"],
        "session": noted["leaves grader.gradingprocess.forks._grade_in_fork"]
        | noted["leaves grader.gradingprocess.templates.make"],
    }


def _of_the_command_line(folder: Path, file: Path, output: Path) -> set[str]:
    command = [sys.executable, "-c", program("grader.cli", folder)]
    options = ["run", str(file), "--output", str(output), "--course", str(ROOT), "--seed", "1"]
    subprocess.run([*command, *options], check=True, capture_output=True, cwd=ROOT)
    return notes(folder)["ends"]


CONTRACTS = {
    "worker": "worker",
    "fork server": "forkserver",
    "grading process": "grading",
    "template": "grading",
    "session": "grading",
    "command line": "frontend",
}
MAY_HAVE = {
    "worker": {"worker", "execution", "confinement", "wire"},
    "forkserver": {"forkserver", "worker", "execution", "confinement", "wire", "processes"},
}


def contract(name: str) -> set[str]:
    """What a process may not have imported, as import-linter is told."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (found,) = [one for one in told["tool"]["importlinter"]["contracts"] if one.get("id") == name]
    return set(found["forbidden_modules"])


@pytest.mark.parametrize("process", CONTRACTS)
def test_a_process_has_imported_what_its_contract_allows(modules, process):
    imported = modules[process]
    assert "grader" in imported
    if process == "worker":
        imported = imported - INHERITED - {PLACEHOLDER}
    if process == "fork server":
        imported = imported - INHERITED
    forbidden = contract(CONTRACTS[process])
    assert {name for name in imported if ".".join(name.split(".")[:2]) in forbidden} == set()
    assert ("torch" in imported) <= ("torch" not in forbidden)


@pytest.mark.parametrize("name", ["worker", "forkserver"])
def test_beside_hostile_code_every_folder_is_allowed_or_forbidden(name):
    allowed = {f"grader.{folder}" for folder in MAY_HAVE[name]}
    assert allowed | contract(name) == FOLDERS
    assert not allowed & contract(name)


def test_every_process_was_looked_at(modules):
    assert set(modules) == set(CONTRACTS)
    assert {"grader.session.grading", "grader.diagnosis.catalogue"} <= modules["session"]
    assert "grader.worker.serving" in modules["worker"]
